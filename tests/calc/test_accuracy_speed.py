"""Grading itself: what is left out is left out, and baselines are what they say."""

from __future__ import annotations

import math

import pytest

from calc import accuracy_speed
from calc.accuracy_speed import SWEPT, Item, score
from calc.speed_constants import RANGE_FACTOR
from calc.speed_fit import REFERENCE, Observed, fit_classes, predict_s
from calc.speed_rows import pairs


def item(predicted: float, measured: float, group: str = "a") -> Item:
    return Item("row", group, REFERENCE, "here", predicted, measured)


def test_score_of_known_errors() -> None:
    found = score([item(1.1, 1.0), item(0.8, 1.0, "b"), item(1.0, 1.0, "c"), item(1.3, 1.0, "d")])
    assert found is not None and found.n == 4 and found.groups == 4
    assert found.median == pytest.approx(0.15)
    assert found.mean == pytest.approx(0.15)
    assert found.worst == pytest.approx(0.3)


def test_no_rows_no_score() -> None:
    assert score([]) is None


def test_a_family_is_predicted_without_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One family takes twice the time of all others: held out, it must be predicted at half."""
    rows = [
        Observed(
            f"{family}{i}", family, {"gemm_flop": 1.0 + i}, (1.0 + i) * (2 if family == "x" else 1)
        )
        for family in "abcdefghijx"
        for i in range(4)
    ]
    full = [Observed(r.name, r.family, {**dict.fromkeys(accuracy_speed_keys(), 0.0), **r.seconds},
                     r.measured_s) for r in rows]  # fmt: skip
    monkeypatch.setattr(accuracy_speed, "observed", lambda: full)
    accuracy_speed.model_out.cache_clear()
    try:
        odd = [one for one in accuracy_speed.model_out() if one.group == "x"]
    finally:
        accuracy_speed.model_out.cache_clear()
    assert len(odd) == 4
    assert all(one.error == pytest.approx(-0.5, abs=0.02) for one in odd)


def accuracy_speed_keys() -> tuple[str, ...]:
    from calc.speed_fit import KEYS

    return KEYS


def test_fit_finds_the_constants_that_made_the_rows() -> None:
    keys = accuracy_speed_keys()
    true = {key: 1.0 + 0.1 * i for i, key in enumerate(keys)}
    rows = []
    for i in range(60):
        seconds = {key: 0.1 + math.sin(i * (j + 1)) ** 2 for j, key in enumerate(keys)}
        rows.append(Observed(str(i), "a", seconds, predict_s(seconds, true)))
    found = fit_classes(rows)
    assert all(found[key] == pytest.approx(true[key], abs=0.02) for key in keys)


def test_ratio_of_a_pair_does_not_see_its_own_workload() -> None:
    one = next(pair for pair in pairs() if pair.model == "bert")
    cells = [c for c in accuracy_speed.cells(one.precision) if c.workload != "bert"]
    alone = accuracy_speed.fit_cards(cells)
    expected = alone[one.a100] / alone["RTX 4090 24GB"]
    mine = next(found for found in accuracy_speed.ratio_out() if found.group == "bert")
    assert mine.predicted == pytest.approx(expected)


def test_price_sweep_judges_both_sides() -> None:
    assert SWEPT[0] == 0.5 and SWEPT[-1] == pytest.approx(3.0)
    perfect = [item(1.2, 1.2)]
    assert accuracy_speed.named_wrongly(perfect) == 0
    assert 0 < accuracy_speed.named_wrongly(accuracy_speed.always_4090(perfect)) < 1


def test_ranges_of_the_product_are_those_of_the_grading() -> None:
    found = accuracy_speed.held_out_ranges()
    assert found == pytest.approx(dict(RANGE_FACTOR), rel=0.01)
