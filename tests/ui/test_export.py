"""What people take away says the same as the page, and can be read back."""

from __future__ import annotations

import csv
import io
import shlex
from typing import Any

import pytest
import yaml

from calc.__main__ import main as calc_main
from calc.compare import Comparison, compare
from calc.job import FIELDS, Job
from ui import export
from ui.data import data

JOB = Job(frames=16, batch=4, prices=(("RTX 4090 24GB", 0.4),), ema=True, micro_batch=2)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(JOB, data())


def test_the_csv_has_one_row_per_offer_with_its_figures(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(export.table_csv(comparison.offers))))
    assert [row["offer"] for row in rows] == list(JOB.cards)
    for row, result in zip(rows, comparison.offers, strict=True):
        assert float(row["allocated_gib"]) == pytest.approx(result.memory.allocated.mid, rel=1e-3)
        assert row["fits"] == result.fit.state
        assert row["speed_basis"] == result.basis["speed"]


def test_an_unknown_figure_is_empty_and_not_zero() -> None:
    found = compare(Job(price_kind="buy", cards=("A100 40GB SXM4",)), data())
    row = next(csv.DictReader(io.StringIO(export.table_csv(found.offers))))
    assert found.offers[0].price is None
    assert row["usd"] == "" and row["price_usd"] == ""


def test_the_yaml_gives_the_job_back(comparison: Comparison) -> None:
    tree = yaml.safe_load(export.job_yaml(comparison))
    assert tree["data_version"] == data().version
    values = {
        field.key: tuple(value.items()) if field.kind == "prices" and value else value
        for field in FIELDS
        for value in [tree["job"][field.key]]
    }
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    assert Job(**values) == JOB


def test_the_command_gives_the_same_answer(
    comparison: Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(export.compare_command(JOB))
    assert words[:3] == ["python", "-m", "calc"]
    assert calc_main([*words[3:], "--json"]) == 0
    answer = yaml.safe_load(capsys.readouterr().out)
    mids = [offer["memory_gib"]["allocated"]["mid"] for offer in answer["offers"]]
    assert mids == pytest.approx(
        [result.memory.allocated.mid for result in comparison.offers], rel=1e-3
    )
    assert [offer["micro_batch"] for offer in answer["offers"]] == [2, 2]


def _asked_of_bench(job: Job) -> tuple[str, dict[str, Any]]:
    """How bench is started for the job's first offer, and what it understands."""
    from bench.__main__ import parser

    command = export.bench_command(job, compare(job, data()).offers[0])
    assert command is not None
    words = shlex.split(command)
    start = words.index("run")
    return " ".join(words[:start]), vars(parser("run").parse_args(words[start:]))


def test_the_bench_command_measures_the_micro_batches_of_the_page() -> None:
    start, asked = _asked_of_bench(Job(batch=8, cards=("RTX 4090 24GB",), clip_grad=True))
    assert start == "python -m bench"
    assert (asked["batch"], asked["accumulation"]) == ([4], 2)
    assert (asked["model"], asked["frames"], asked["size"]) == (["video-swin-t"], [32], [224])
    assert asked["clip_grad"] and not asked["channels_last"]


def test_the_bench_command_of_several_gpus_is_one_for_torchrun() -> None:
    start, asked = _asked_of_bench(Job(batch=8, cards=("4x RTX 4090 24GB",), sharding="fsdp"))
    assert start == "torchrun --nproc-per-node=4 -m bench"
    assert (asked["batch"], asked["accumulation"], asked["parallel"]) == ([2], 1, "fsdp")


@pytest.mark.parametrize(
    "job", [Job(model="custom", frames=16), Job(cards=("2x RTX 4090 24GB",), sharding="zero2")]
)
def test_there_is_no_command_for_what_bench_cannot_run(job: Job) -> None:
    assert export.bench_command(job, compare(job, data()).offers[0]) is None


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_markdown_is_a_table_with_verdict_link_and_command(
    comparison: Comparison, lang: str
) -> None:
    text = export.markdown(comparison, "http://localhost/?batch=4", lang)  # type: ignore[arg-type]
    lines = text.splitlines()
    assert lines[0].startswith("**")
    assert sum(line.startswith("|") for line in lines) == 2 + len(JOB.cards)
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert "http://localhost/?batch=4" in text and "python -m calc compare" in text
