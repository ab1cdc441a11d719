from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calc.__main__ import job_of, main, parser
from calc.job import FIELDS, Field, Job
from calc.measurements import model_ids

ROOT = Path(__file__).resolve().parents[2]
CUSTOM = ["compare", "--model", "custom", "--frames", "16"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command line."""
    try:
        code = main(arguments)
    except SystemExit as left:
        code = int(left.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def parsed(*arguments: str) -> Job:
    return job_of(parser().parse_args(arguments))


def test_without_flags_the_job_is_the_default() -> None:
    assert parsed() == Job()


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.key)
def test_every_input_has_a_flag(field: Field) -> None:
    flag = field.flag
    if field.kind == "flag":
        assert getattr(parsed(flag), field.key) is True
        return
    values = {
        "offers": ("2x L4 24GB", ("2x L4 24GB",)),
        "prices": ("RTX 4090 24GB=0.35", (("RTX 4090 24GB", 0.35),)),
    }
    option = field.options[-1] if field.options else (field.maximum or "videomae-b")
    text, value = values.get(field.kind, (str(option), option))
    assert getattr(parsed(flag, text), field.key) == value


def test_cards_and_prices_may_be_repeated() -> None:
    job = parsed("--card", "L4 24GB", "--card", "2x T4 16GB", "--price", "L4 24GB=0.5",
                 "--price", "T4 16GB=0.2")  # fmt: skip
    assert job.cards == ("L4 24GB", "2x T4 16GB")
    assert job.prices == (("L4 24GB", 0.5), ("T4 16GB", 0.2))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "--batch", "x"], "batch is 'x'; allowed are whole numbers from 1 to 4096"),
        (["compare", "--batch", "0"], "batch is 0; allowed are whole numbers from 1 to 4096"),
        (["compare", "--frames", "7"], "frames is 7; allowed are 3, 8, 13, 16, 32, 64, 96"),
        (["compare", "--precision", "fp8"], "precision is 'fp8'; allowed are fp32, tf32, fp16"),
        (["compare", "--model", "nope"], "model is 'nope'; allowed are "),
        ([*CUSTOM, "--card", "RTX 9999"], "card is 'RTX 9999'; allowed are A100 40GB PCIe"),
        (["compare", "--card", "9x L4 24GB"], "asks for 9 cards; allowed are 1 to 8"),
        (["compare", "--price", "L4 24GB"], "write card=USD, as in --price 'RTX 4090 24GB=0.35'"),
        (["compare", "--price", "L4 24GB=x"], "write card=USD"),
        (["compare", "--nonsense", "1"], "--nonsense"),
        (["compare", "--bat", "4"], "--bat"),
        ([*CUSTOM, "--tubelet", "4", "--size", "112", "--patch", "32"], "must be a multiple"),
        (["cmpare"], "'cmpare' is not a command"),
        ([], "name a command"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_a_table_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *CUSTOM)
    assert (code, err) == (0, "")
    assert "A100 40GB SXM4" in out
    assert "peak GiB" in out


def test_json_on_request_and_only_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *CUSTOM, "--json", "--card", "L4 24GB")
    shown = json.loads(out)
    assert code == 0
    assert [offer["card"] for offer in shown["offers"]] == ["L4 24GB"]
    assert shown["job"]["model"] == "custom"


def test_chinese_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert "峰值" in run(capsys, *CUSTOM, "--lang", "zh")[1]


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"]])
def test_help(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "compare" in out


def test_it_runs_as_a_module_from_the_folder() -> None:
    command = [sys.executable, "-m", "calc", *CUSTOM, "--json"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(found.stdout)["verdict"].endswith(".")


@pytest.mark.skipif("video-swin-t" not in model_ids(), reason="video-swin-t is not traced yet")
def test_the_question_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--model video-swin-t --frames 32 --size 224 --batch 8 --precision fp16 --json"
    code, out, _ = run(capsys, "compare", *flags.split())
    assert code == 0
    assert {offer["fit"] for offer in json.loads(out)["offers"]} <= {"fits", "tight", "no"}
