"""`bench validate` as far as a CPU goes: cases, resume, limits of time, and real comparisons."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from bench import validate
from bench.__main__ import main
from bench.validate import Case

TINY = str(Path(__file__).with_name("tiny.py")) + ":net"


def tiny(**changes: object) -> Case:
    fields = {"model": "tiny", "precision": "fp32", "device": "cpu", "builder": TINY}
    return Case(**{**fields, "input": (3, 4, 16, 16), **changes})  # type: ignore[arg-type]


def test_a_short_run_sees_every_model_before_the_second_batch() -> None:
    found = validate.cases(["a", "b"], ["fp32"], ["none"], [1, 4], "cuda")
    assert [(c.model, c.batch) for c in found] == [("a", 1), ("b", 1), ("a", 4), ("b", 4)]


def test_attention_is_a_case_of_its_own_where_the_library_has_both() -> None:
    found = validate.cases(["videomae-b", "r3d-18"], ["fp16"], ["none"], [1], "cuda")
    assert [(c.model, c.attention) for c in found] == [
        ("videomae-b", "sdpa"), ("videomae-b", "eager"), ("r3d-18", "sdpa"),
    ]  # fmt: skip
    assert len({c.key for c in found}) == 3


def test_real_tensors_and_meta_tensors_take_the_same_memory() -> None:
    live = validate.live_on_cpu(tiny(batch=3))
    assert live["cpu"] == pytest.approx(live["meta"], rel=0.01)
    assert live["cpu"] > 0.1


def test_the_cpus_autocast_saves_what_the_emulation_saves() -> None:
    found = validate.saved_on_cpu(tiny(precision="bf16"))
    assert found["real"] == found["traced"]
    assert any("bfloat16" in name for name in [*found["only_real"], "bfloat16"])


def test_a_difference_names_the_tensors_of_either_side() -> None:
    real, traced = Counter({"float16 x 8": 2, "float32 x 4": 1}), Counter({"float16 x 8": 1})
    assert validate.difference(real, traced) == {
        "real": 3,
        "traced": 1,
        "only_real": {"float16 x 8": 1, "float32 x 4": 1},
        "only_traced": {},
    }


def test_results_are_kept_and_a_second_run_does_only_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "validate.yaml"
    wanted = [tiny(batch=1), tiny(batch=2)]
    tree = validate.load(path)
    assert validate.run_missing(wanted[:1], tree, path, time.monotonic() + 120) == 0
    first = validate.load(path)["cases"]
    assert list(first) == [wanted[0].key]
    assert validate.run_missing(wanted, tree, path, time.monotonic() + 120) == 0
    again = validate.load(path)["cases"]
    assert list(again) == [case.key for case in wanted]
    assert again[wanted[0].key] == first[wanted[0].key]
    assert all("live" in line for line in validate.summary(tree))


def test_no_case_starts_when_the_time_is_up(tmp_path: Path) -> None:
    path = tmp_path / "validate.yaml"
    assert validate.run_missing([tiny()], validate.load(path), path, time.monotonic() - 1) == 1
    assert not path.exists()


def test_a_case_that_fails_is_kept_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "validate.yaml"
    broken = tiny(builder=TINY.replace(":net", ":nothing_there"))
    tree = validate.load(path)
    validate.run_missing([broken], tree, path, time.monotonic() + 120)
    (line,) = validate.summary(tree)
    assert "nothing_there" in line and "\n" not in line


def test_without_a_gpu_it_says_so_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert main(["validate"]) == 2
    assert "No CUDA GPU was found" in capsys.readouterr().err


@pytest.mark.parametrize("minutes", ["0", "11", "-3"])
def test_more_than_ten_minutes_are_refused(minutes: str, capsys, tmp_path: Path) -> None:
    out = str(tmp_path / "v.yaml")
    assert main(["validate", "--device", "cpu", "--minutes", minutes, "--out", out]) == 2
    assert "allowed is more than 0 up to 10" in capsys.readouterr().err


def test_a_file_that_is_something_else_is_not_overwritten(tmp_path: Path, capsys) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("schema: 1\nprices: []\n")
    assert main(["validate", "--device", "cpu", "--out", str(path)]) == 2
    assert "prices.yaml" in capsys.readouterr().err
    assert path.read_text() == "schema: 1\nprices: []\n"


@pytest.mark.gpu
def test_on_a_gpu_the_trace_is_within_ten_percent(tmp_path: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA GPU")
    path = tmp_path / "validate.yaml"
    tree = validate.load(path)
    case = Case("video-swin-t", "fp16", batch=2)
    assert validate.run_missing([case], tree, path, time.monotonic() + 240) == 0
    assert abs(validate.errors(tree["cases"][case.key])["allocated"]) < 0.1
