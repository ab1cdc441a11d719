"""Grading of memory: held out by group, statistics, decisions near the boundary."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import accuracy, accuracy_memory, calibration
from calc.accuracy_memory import Graded, Row


def row(group: str, trace: float, measured: float, **changes: object) -> Row:
    fields: dict[str, object] = {
        "id": f"{group}-{trace:.0f}", "group": group, "family": group, "arch": "a",
        "precision": "fp32", "confidence": "high", "measured_mib": measured, "trace_mib": trace,
        "source": "s",
    }  # fmt: skip
    return Row(**{**fields, **changes})  # type: ignore[arg-type]


def groups(slope: float, add: float, names: str = "abcd") -> list[Row]:
    traces = (3000.0, 9000.0, 21000.0)
    return [row(name, t + i, add + slope * (t + i)) for i, name in enumerate(names) for t in traces]


def graded(measured: float, mid: float, low: float, high: float) -> Graded:
    return Graded(row("a", mid, measured), mid, low, high)


def test_a_line_is_found_where_there_is_one() -> None:
    found = accuracy_memory.fit(groups(1.05, 120.0))
    assert found.scale == pytest.approx(1.05, rel=1e-3)
    assert found.add_mib == pytest.approx(120.0, abs=2)


def test_every_group_has_one_vote_in_a_fit() -> None:
    many = [row("a", 5000.0 + i, 5000.0 + i) for i in range(60)]
    others = [row(g, t, 1.1 * t) for g in "bcd" for t in (4000.0, 9000.0)]
    assert accuracy_memory.fit(many + others).mid_mib(5000.0) == pytest.approx(5500.0, rel=0.01)


def test_the_plain_trace_beats_a_line_fitted_on_other_groups() -> None:
    plain, line = accuracy_memory.line_instead(accuracy_memory.rows())
    assert plain < line, "if a fitted line predicts better, ship it"


def test_the_range_of_a_group_has_not_seen_the_group() -> None:
    """A group that is 30 % off stays 30 % off, whatever the others teach."""
    items = groups(1.0, 0.0, "abc") + [row("odd", t, 1.3 * t) for t in (3000.0, 9000.0, 21000.0)]
    found = {g.row.group: g for g in accuracy_memory.grade(items)}
    assert found["odd"].error == pytest.approx(1 / 1.3 - 1, abs=0.01)
    assert not found["odd"].covered


def test_small_rows_are_graded_but_not_calibrated_on() -> None:
    small = [row("tiny", 500.0 + i, 900.0) for i in range(30)]
    items = groups(1.0, 0.0) + small
    assert "tiny" not in accuracy_memory.calibrated_on(items)
    assert len(accuracy_memory.grade(items)) == len(items)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_a_conformal_range_holds_the_middle(values: list[float]) -> None:
    low, high = accuracy_memory.conformal(values)
    assert low <= high
    assert min(values) <= low and high <= max(values)


def test_conformal_needs_nineteen_residuals_to_leave_one_out() -> None:
    assert accuracy_memory.conformal([float(n) for n in range(18)])[1] == 17.0
    assert accuracy_memory.conformal([float(n) for n in range(39)])[1] == 37.0


@given(st.integers(0, 50), st.integers(0, 50))
def test_wilson_holds_the_share(successes: int, failures: int) -> None:
    n = successes + failures
    low, high = accuracy_memory.wilson(successes, n)
    assert 0 <= low <= high <= 1
    if n:
        assert low <= successes / n + 1e-12 and successes / n <= high + 1e-12


def test_decisions_near_the_boundary() -> None:
    exact = graded(10000.0, 10000.0, 9900.0, 10000.0)
    assert accuracy_memory.boundary([exact]).wrong_fits == 0
    too_low = accuracy_memory.boundary([graded(10000.0, 9000.0, 8900.0, 9250.0)])
    assert too_low.wrong_fits == 7, "93 to 99 % of the peak hold the range, not the job"
    assert too_low.rows_with_wrong_fit == 1
    too_high = accuracy_memory.boundary([graded(10000.0, 10450.0, 10000.0, 10450.0)])
    assert (too_high.wrong_no, too_high.tight) == (5, 0)
    wide = accuracy_memory.boundary([graded(10000.0, 10000.0, 9000.0, 11000.0)])
    assert (wide.wrong_fits, wide.wrong_no, wide.tight) == (0, 0, 10)
    assert wide.n == len(accuracy_memory.CAPACITIES)


def test_percentiles_with_one_vote_a_group() -> None:
    many_good, one_bad = [0.01] * 99, [0.5]
    assert accuracy_memory.percentile(many_good + one_bad, 0.9) == 0.01
    assert accuracy_memory.voted_percentile([many_good, one_bad], 0.9) == 0.5


# --- What is shipped ------------------------------------------------------------------------------


def test_the_constants_of_the_calibration_are_those_of_the_rows() -> None:
    for name, value in accuracy_memory.constants().items():
        shipped = getattr(calibration, name)
        assert shipped == (value if name == "GROUP_ROWS" else pytest.approx(value, abs=1e-3)), name


def test_headroom_turns_wrong_fits_into_tight() -> None:
    items = accuracy_memory.grade(accuracy_memory.rows())
    bare = accuracy_memory.boundary(items)
    free = accuracy_memory.boundary(items, calibration.HEADROOM_GIB * 1024)
    assert free.wrong_fits < bare.wrong_fits and free.tight > bare.tight
    assert free.wrong_no == bare.wrong_no


def test_families_without_rows_say_so_and_get_the_wider_range() -> None:
    known, unknown = calibration.memory("resnet2d", "fp32"), calibration.memory("mvit", "amp")
    assert known.rows >= calibration.ENOUGH and unknown.rows == 0
    assert unknown.low <= known.low <= 1 <= known.high <= unknown.high


def test_low_confidence_and_other_metrics_are_neither_fitted_nor_graded() -> None:
    used = {r.id for r in accuracy_memory.rows()}
    assert not used & {"tsn-16", "tsn-28", "slowonly-10", "tsn-01", "tsm-01"}
    assert {r.confidence for r in accuracy_memory.rows()} == {"high", "medium"}


def test_targets_of_the_published_rows() -> None:
    found = accuracy.memory_report()
    high, both = found["targets"]["high"], found["targets"]["high + medium"]
    assert high.median_of_groups <= 0.015 and both.median_of_groups <= 0.02
    decisions = found["boundary"]["high + medium"]
    assert decisions.wrong_no / decisions.n <= 0.05
    assert decisions.tight / decisions.n <= 0.15


def test_the_json_is_json_and_names_every_group(capsys: pytest.CaptureFixture[str]) -> None:
    tree = json.loads(json.dumps(accuracy.plain(accuracy.memory_report())))
    assert set(tree["groups"]) == {r.group for r in accuracy_memory.rows()}
    assert tree["furthest"][0]["row"]["source"]
    assert dataclasses.fields(Graded)


def test_the_text_shows_groups_targets_and_the_worst_rows() -> None:
    shown = "\n".join(accuracy._memory_lines(accuracy.memory_report()))
    for word in ("ResNet-2D", "Swin", "not validated", "near the boundary", "rows furthest off"):
        assert word in shown
