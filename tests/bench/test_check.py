"""`bench check`: what a pull request with measurements must pass."""

from __future__ import annotations

import copy
import datetime
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import check
from bench.check import Checked, Context
from calc.measurements import ROOT
from tests import run_files
from tests.fuzz import examples

REPOSITORY = ROOT.parent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return run_files.folder(tmp_path)


def checked(root: Path, tree: dict[str, Any], name: str | None = None) -> Checked:
    path = run_files.store(root, tree, name)
    return check.check_file(path, Context.load(root))


def test_the_example_of_the_readme_passes(root: Path) -> None:
    result = checked(root, run_files.example())
    assert result.findings.problems == []
    assert result.findings.warnings == []
    assert not result.is_outside
    assert result.rows[0].memory_ratio == pytest.approx(1.0, abs=0.25)


Change = Callable[[dict[str, Any]], object]

PROBLEMS: dict[str, tuple[Change, str]] = {
    "unknown key": (lambda t: t.update(gpu="x"), "gpu: is an unknown key"),
    "missing key": (lambda t: t.pop("licence"), "licence: is missing; allowed is CC0-1.0"),
    "wrong licence": (lambda t: t.update(licence="MIT"), "licence: is 'MIT'; allowed is CC0-1.0"),
    "schema of tomorrow": (lambda t: t.update(schema=2), "schema: is 2; allowed is 1"),
    "no rows": (lambda t: t.update(rows=[]), "rows: has 0 entries; allowed are 1 to 2000"),
    "unknown model": (lambda t: t.update(model="video-swin-x"), "model: is 'video-swin-x';"),
    "unknown card": (
        lambda t: t.update(card="RTX 9090"),
        "card: is 'RTX 9090'; add it to measurements/cards.yaml in the same change",
    ),
    "future": (lambda t: t.update(date="2099-01-01"), "date: is 2099-01-01; allowed is from"),
    "no such day": (lambda t: t.update(date="2026-02-31"), "date: is '2026-02-31';"),
    "CPU": (
        lambda t: t["environment"].update(device="cpu"),
        "environment.device: is 'cpu'; runs on a CPU are for trying out, allowed is cuda",
    ),
    "no driver": (
        lambda t: t["environment"].update(driver=None),
        "environment.driver: is not given; a run on a GPU states it",
    ),
    "another card": (
        lambda t: t["environment"].update(gpu="NVIDIA GeForce RTX 4090 D"),
        "which is RTX 4090 D 24GB, not RTX 4090 24GB",
    ),
    "too much memory for the card": (
        lambda t: t["environment"].update(memory_total_gib=47.5),
        "environment.memory_total_gib: is 47.5; allowed are 20.4 to 24.48 for RTX 4090 24GB",
    ),
    "faster than its cores": (
        lambda t: t["calibration"].update(matmul_fp16_tflops=330.0),
        "calibration.matmul_fp16_tflops: is 330; allowed is at most 198.2",
    ),
    "more allocated than reserved": (
        lambda t: t["rows"][0]["memory"].update(reserved_mib=20000.0),
        "rows[0].memory.reserved_mib: is 20000; allowed is at least what is allocated, 20560",
    ),
    "more reserved than the card has": (
        lambda t: t["rows"][0]["memory"].update(first_reserved_mib=25000.0),
        "rows[0].memory.first_reserved_mib: is 25000; allowed is at most the card's 24207",
    ),
    "clips per second of another batch": (
        lambda t: t["rows"][0]["time"].update(clips_per_s=50.0),
        "rows[0].time.clips_per_s: is 50; allowed is batch x accumulation x gpus / median = 25",
    ),
    "falling percentiles": (
        lambda t: t["rows"][0]["time"].update(p10_ms=400.0),
        "rows[0].time.median_ms: p10 / median / p90 are 400 / 320 / 328; allowed is 0 < rising",
    ),
    "faster than the peak": (
        lambda t: t["rows"][0]["time"].update(
            median_ms=10.0, p10_ms=9.0, p90_ms=11.0, clips_per_s=800.0,
            forward_ms=3.0, backward_ms=6.0, optimizer_ms=1.0,
        ),
        "rows[0].time.median_ms: is 10; allowed is at least 20.18",
    ),
    "more power than the limit": (
        lambda t: t["rows"][0]["load"].update(power_w=600.0),
        "rows[0].load.power_w: is 600; the card's limit is 450",
    ),
    "ok without time": (
        lambda t: t["rows"][0].pop("time"),
        "rows[0].time: is missing; a row with status ok has it",
    ),
    "failed without a word": (
        lambda t: t["rows"][1].update(status="failed", oom=None),
        "rows[1].note: is missing; a failed row says why",
    ),
    "the same point twice": (
        lambda t: t["rows"].append(copy.deepcopy(t["rows"][0])),
        "rows[2]: measures the same point as rows[0]; keep one of them",
    ),
    "infinite": (
        lambda t: t["rows"][0]["time"].update(median_ms=float("inf")),
        "rows[0].time.median_ms: is '.inf'; allowed is a number from 0 to 8.64e+07",
    ),
    "not a number": (
        lambda t: t["rows"][0]["learning"].update(loss=[float("nan")]),
        "rows[0].learning.loss[0]: is '.nan'; allowed is a number",
    ),
    "HTML": (
        lambda t: t.update(notes="<img src=x onerror=alert(1)>"),
        "notes: has HTML (<i); allowed is plain text",
    ),
    "other link": (
        lambda t: t.update(notes="see http://example.org"),
        "notes: has a link that begins with http://; allowed are links with https://",
    ),
    "script link": (
        lambda t: t.update(notes="[x](javascript:alert)"),
        "notes: has a link that begins with javascript:; allowed are links with https://",
    ),
    "invisible": (
        lambda t: t.update(notes="a\u202eb"),
        "notes: has the invisible character U+202E; take it out",
    ),
    "path of the host": (
        lambda t: t.update(command="python -m bench run --out /home/anna/runs"),
        "command: names a path of your machine ('/home/anna/runs'); shorten it to a name",
    ),
    "mail": (lambda t: t.update(notes="anna@example.org"), "notes: has an e-mail address"),
    "outside the band": (
        lambda t: t["rows"][0]["memory"].update(allocated_mib=12000.0, first_allocated_mib=12000.0),
        "review: is none, but 1 rows lie outside the band, such as 32x224 batch 8 adamw",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_refuses(root: Path, name: str) -> None:
    change, words = PROBLEMS[name]
    found = checked(root, run_files.changed(change)).findings.problems
    assert any(words in line for line in found), found
    assert len(found) <= 3, found


def test_https_links_are_allowed(root: Path) -> None:
    tree = run_files.changed(lambda t: t.update(notes="log: https://example.org/a?b=c#d"))
    assert checked(root, tree).findings.problems == []


def test_a_file_must_be_called_by_its_content(root: Path) -> None:
    tree = run_files.example()
    wanted = run_files.file_name(tree)
    found = checked(root, tree, "rtx-4090-24gb/mine.yaml").findings.problems
    assert len(found) == 1
    assert f"it belongs at measurements/runs/{wanted}" in found[0]


def test_an_edited_figure_shows_in_the_name(root: Path) -> None:
    name = run_files.file_name(run_files.example())
    tree = run_files.changed(lambda t: t["rows"][0]["load"].update(power_w=430.0))
    found = checked(root, tree, name).findings.problems
    assert len(found) == 1
    assert "is not called by its content" in found[0]


def test_a_review_renames_nothing(root: Path) -> None:
    tree = run_files.changed(lambda t: None, review="pending")
    assert run_files.file_name(tree) == run_files.file_name(run_files.example())
    result = checked(root, tree)
    assert result.findings.problems == []
    assert any("is pending, but every row lies inside" in line for line in result.findings.warnings)


def test_outside_the_band_is_accepted_as_pending(root: Path) -> None:
    change = PROBLEMS["outside the band"][0]
    result = checked(root, run_files.changed(change, review="pending"))
    assert result.findings.problems == []
    assert result.is_outside
    assert "not yet (review: pending)" in check.summary([result])


def test_falling_memory_is_a_warning(root: Path) -> None:
    def change(tree: dict[str, Any]) -> None:
        larger = copy.deepcopy(tree["rows"][0])
        larger["batch"] = 9
        larger["time"]["clips_per_s"] = 28.125
        larger["memory"]["allocated_mib"] = 19900.0
        tree["rows"].append(larger)

    result = checked(root, run_files.changed(change))
    assert result.findings.problems == []
    assert any(
        "falls from 20560 MiB at batch 8 to 19900 at batch 9" in w for w in result.findings.warnings
    )


def test_the_same_measurement_again_is_refused(root: Path) -> None:
    run_files.store(root, run_files.example())
    again = run_files.changed(lambda t: t["rows"][0]["load"].update(power_w=400.0))
    found = checked(root, again).findings.problems
    assert any(
        "rows[0]: is the same measurement as one in rtx-4090-24gb/" in line for line in found
    )


def test_copied_figures_under_another_name_are_refused(root: Path) -> None:
    run_files.store(root, run_files.example())
    copied = run_files.changed(
        lambda t: t["environment"].update(driver="570.1"), who="someone-else"
    )
    found = checked(root, copied).findings.problems
    assert found and all("is the same measurement" in line for line in found)


def test_another_persons_run_of_the_same_point_is_welcome(root: Path) -> None:
    run_files.store(root, run_files.example())

    def change(tree: dict[str, Any]) -> None:
        tree["rows"][0]["time"].update(
            median_ms=326.0, clips_per_s=24.54, p10_ms=321.0, p90_ms=333.0
        )
        tree["rows"][0]["memory"].update(allocated_mib=20561.0)

    assert checked(root, run_files.changed(change, who="someone-else")).findings.problems == []


def test_files_over_the_limit_are_not_even_read(root: Path) -> None:
    path = root / "runs" / "big.yaml"
    path.write_text("# " + "x" * check.MAX_RUN_BYTES)
    found = check.check_file(path, Context.load(root)).findings.problems
    assert found == ["measurements/runs/big.yaml: has 400002 bytes; allowed are 400000; "
                     "split the run by model or precision"]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &a [1]\nb: *a\n", "anchors and aliases"),
        ("a: !!python/object/apply:os.system [id]\n", "tags (!) are not allowed"),
        ("a: " + "[" * 500, "nest"),
        ("a: 1\na: 2\n", "key 'a' stands twice"),
        ("a: {<<: {b: 1}}\n", "merge keys"),
        ("---\na: 1\n---\nb: 1\n", "a second document"),
        ("", "is null; allowed is a mapping"),
        ("just words", "is 'just words'; allowed is a mapping"),
    ],
)
def test_tricks_of_yaml_are_refused_in_one_line(root: Path, text: str, words: str) -> None:
    path = root / "runs" / "x.yaml"
    path.write_text(text)
    found = check.check_file(path, Context.load(root)).findings.problems
    assert len(found) == 1
    assert words in found[0]


def test_an_alias_bomb_costs_nothing(root: Path) -> None:
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)]
    bomb = "a0: &a0 [x]\n" + "".join(levels)
    path = root / "runs" / "x.yaml"
    path.write_text(bomb)
    start = datetime.datetime.now()
    found = check.check_file(path, Context.load(root)).findings.problems
    assert "anchors and aliases" in found[0]
    assert datetime.datetime.now() - start < datetime.timedelta(seconds=1)


FUZZ = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def _is_one_clear_line(line: str) -> bool:
    shown = check.printable(line)
    return shown.isprintable() and ": " in shown


@FUZZ
@given(content=st.binary(max_size=400))
def test_any_bytes_give_clear_lines(root: Path, content: bytes) -> None:
    path = root / "runs" / "x.yaml"
    path.write_bytes(content)
    found = check.check_file(path, Context.load(root)).findings.problems
    assert found
    assert all(_is_one_clear_line(line) for line in found)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=12) | st.sampled_from(sorted(run_files.example())), inner, max_size=5
        )
    ),
    max_leaves=20,
)


@FUZZ
@given(data=st.data(), value=TREES)
def test_any_value_at_any_place_gives_clear_lines(
    root: Path, data: st.DataObject, value: Any
) -> None:
    tree: Any = run_files.example()
    place = tree
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], (dict, list)) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value
    path = root / "runs" / "x.yaml"
    path.write_text(run_files.dump(tree), encoding="utf-8")
    found = check.check_file(path, Context.load(root)).findings.problems
    assert found  # the name is wrong in any case
    assert all(_is_one_clear_line(line) for line in found)


def run_check(*words: str, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", "check", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_everything_in_the_repository_passes() -> None:
    result = run_check()
    assert result.returncode == 0, result.stdout + result.stderr


def test_command_prints_all_problems_and_fails(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(run_files.dump(run_files.changed(lambda t: t.update(licence="MIT"))))
    second.write_text("x: [\n")
    summary = tmp_path / "summary.md"
    result = run_check(
        str(first), str(second), str(tmp_path / "none.yaml"), "--summary", str(summary)
    )
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert "a.yaml: licence: is 'MIT'; allowed is CC0-1.0" in lines
    assert any(line.startswith("b.yaml: line 2: is not YAML") for line in lines)
    assert "none.yaml: cannot be read: No such file or directory" in lines
    assert "Traceback" not in result.stderr


def test_needs_neither_torch_nor_anything_but_yaml() -> None:
    code = (
        "import sys; from bench import check, submit; from bench.__main__ import main; "
        "main(['check', '--quiet']); "
        "bad = {'torch', 'streamlit', 'pandas', 'numpy', 'huggingface_hub'} & set(sys.modules); "
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, capture_output=True)


def test_log_lines_cannot_carry_commands() -> None:
    assert check.printable("x\n::set-env name=A::b") == "x?::set-env name=A::b"
