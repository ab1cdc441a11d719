from __future__ import annotations

import pytest

from calc.job import Job
from calc.rules import pair, rules
from calc.words import render
from tests.calc.results import a100, result


def test_the_pair_is_the_largest_card_and_the_first_smaller_one() -> None:
    large, small, other = a100(), result(), result("RTX 3090 24GB", usable=23.1)
    assert pair((small, other, large)) == (large, small)
    assert pair((large,)) is None
    assert pair((small, other)) is None  # the same memory
    assert rules(Job(), (small, other)) == ()


@pytest.mark.parametrize(("mine", "holds"), [(2, True), (3, False), (8, False), (None, True)])
def test_rule_1_a_batch_below_a_third(mine: int | None, holds: bool) -> None:
    rule = rules(Job(), (a100(micro=8), result(micro=mine)))[0]
    assert (rule.number, rule.holds) == (1, holds)
    assert rule.points_to == ("A100 40GB SXM4" if holds else None)
    assert f"takes {mine or 0} clips at once" in render(rule.text)


def test_rule_1_counts_the_clips_of_all_gpus_of_an_offer() -> None:
    """A quarter of the batch on each of four cards is the whole batch."""
    rule = rules(Job(), (a100(micro=8), result(micro=2, count=4)))[0]
    assert (rule.holds, rule.points_to) == (False, None)
    assert "takes 8 clips at once" in render(rule.text)


@pytest.mark.parametrize(
    ("fast", "slow", "holds"),
    [(20.0, 30.0, True), (21.0, 30.0, True), (22.0, 30.0, False), (10.0, 23.0, False),
     (40.0, 30.0, False)],
)  # fmt: skip
def test_rule_2_over_24_hours_and_30_percent(fast: float, slow: float, holds: bool) -> None:
    rule = rules(Job(), (a100(hours=fast), result(hours=slow)))[1]
    assert (rule.number, rule.holds) == (2, holds)


def test_rule_2_is_not_known_without_hours() -> None:
    rule = rules(Job(), (a100(hours=None), result()))[1]
    assert (rule.holds, rule.points_to, rule.money, rule.agrees) == (None, None, None, None)


@pytest.mark.parametrize(
    ("count", "waits", "holds"), [(1, 0.5, False), (2, 0.05, False), (2, 0.2, True)]
)
def test_rule_3_cards_that_wait_for_each_other(count: int, waits: float, holds: bool) -> None:
    rule = rules(Job(), (a100(), result(count=count, waits=waits)))[2]
    assert (rule.number, rule.holds) == (3, holds)


def test_rule_and_money_can_disagree() -> None:
    """30 % sooner at 4 times the price: the rule takes the A100, the money the 4090."""
    rule = rules(Job(), (a100(hours=28.0), result(hours=40.0)))[1]
    assert (rule.holds, rule.agrees) == (True, False)
    assert rule.money is not None
    assert "at 4.00 x the hourly price" in render(rule.money)
    assert "must finish in 25% of the time to cost less, and takes 70%" in render(rule.money)


def test_rule_and_money_can_agree() -> None:
    cheap = a100(hours=28.0, usd_per_h=0.6)
    assert rules(Job(), (cheap, result(hours=40.0)))[1].agrees is True
    assert rules(Job(), (a100(), result()))[0].agrees is True  # does not hold, costs more


def test_amounts_are_in_the_jobs_currency() -> None:
    rule = rules(Job(currency="CNY", cny_per_usd=7.0), (a100(), result()))[0]
    assert rule.money is not None
    assert "RTX 4090 24GB ¥140" in render(rule.money)
