"""What people take away says the same as the page, and can be read back."""

from __future__ import annotations

import csv
import io
import shlex

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


def test_the_bench_command_is_one_that_bench_takes() -> None:
    from bench.__main__ import parser

    args = parser("run").parse_args(shlex.split(export.bench_command(JOB))[3:])
    assert args.command == "run"


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
