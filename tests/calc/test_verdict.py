from __future__ import annotations

import pytest

from calc.job import Job
from calc.result import OfferResult
from calc.rules import rules
from calc.verdict import cheapest, verdict
from calc.words import LANGUAGES, render
from tests.calc.results import a100, result


def said(*offers: OfferResult, job: Job | None = None, lang: str = "en") -> str:
    job = job or Job()
    return render(verdict(job, offers, rules(job, offers)), lang)


def test_the_cheaper_one_wins_and_its_price_in_time_is_told() -> None:
    assert said(a100(), result()) == (
        "Both fit; RTX 4090 24GB costs less, $20 against $66 on A100 40GB SXM4 (70% less), "
        "but takes 40.0 h instead of 33.0 h."
    )


def test_the_cheaper_one_may_be_the_faster_one() -> None:
    assert said(a100(usd_per_h=0.4), result()) == (
        "Both fit; A100 40GB SXM4 costs less, $13 against $20 on RTX 4090 24GB (34% less), "
        "and is also faster (33.0 h against 40.0 h)."
    )


def test_costs_within_the_range_of_the_times_are_only_probable() -> None:
    near = a100(usd_per_h=0.63, spread=1.3)
    assert "probably costs less" in said(near, result())


def test_a_rule_that_points_elsewhere_is_named() -> None:
    assert said(a100(hours=27.0), result()).endswith(
        "; rule 2 of the article would take A100 40GB SXM4."
    )
    assert "rule" not in said(a100(hours=27.0, usd_per_h=0.4), result())


def test_a_card_that_does_not_fit_is_out_and_the_reason_is_told() -> None:
    found = said(a100(), result(micro=None, usable=5.0, state="no"))
    assert found.startswith("Only A100 40GB SXM4 trains it (RTX 4090 24GB has 5.0 GiB usable")
    assert "; it takes 33.0 h and costs $66" in found


def test_several_that_train_it_are_told_in_the_plural() -> None:
    failing = result("T4 16GB", micro=None, usable=5.0, state="no")
    assert said(a100(), result(), failing).startswith("Only A100 40GB SXM4, RTX 4090 24GB train it")
    hard = said(a100(), result(micro=4, parts=2, state="no"), failing)
    assert "RTX 4090 24GB train it, RTX 4090 24GB in 2 x 4 clips (T4 16GB has" in hard


def test_accumulation_and_tightness_are_told() -> None:
    parts = said(a100(), result(micro=4, parts=2, state="no"))
    assert parts.startswith("Both train it, RTX 4090 24GB in 2 x 4 clips; ")
    tight = said(a100(), result(state="tight"))
    assert tight.startswith("Both train it, RTX 4090 24GB only just; ")


def test_a_missing_price_gives_a_break_even_and_no_winner() -> None:
    """33 h against 40 h: 40 / 33 = 1.21 times the 4090's 0.50."""
    found = said(a100(usd_per_h=None), result())
    assert found == (
        "Both fit; A100 40GB SXM4 is cheaper below $0.61 per GPU-hour, "
        "1.21 x the price of RTX 4090 24GB."
    )


def test_without_any_price_the_ratio_is_told() -> None:
    found = said(a100(usd_per_h=None), result(usd_per_h=None))
    assert "A100 40GB SXM4 is cheaper if its hourly price is below 1.21 x that of RTX 4090" in found


def test_a_bought_card_without_a_price_gets_a_price_to_look_for() -> None:
    job = Job(price_kind="buy", host_usd=0.0)
    found = said(a100(usd_per_h=None), result(), job=job)
    assert "A100 40GB SXM4 is cheaper if it can be bought for less than $" in found
    dear = Job(price_kind="buy", host_usd=1e6)
    assert "even as a gift" in said(a100(usd_per_h=None), result(), job=dear)


def test_unknown_speed_is_said_and_not_guessed() -> None:
    found = said(a100(hours=None), result())
    assert "how fast A100 40GB SXM4 is was not measured" in found
    assert cheapest((a100(hours=None), result())) is None


def test_one_offer_alone() -> None:
    assert said(result()) == "RTX 4090 24GB trains it in one go; it takes 40.0 h and costs $20."
    alone = said(result(micro=4, parts=2, state="no", usd_per_h=None))
    assert alone == (
        "It trains on RTX 4090 24GB in 2 x 4 clips; it takes 40.0 h; its price is not known."
    )


def test_nothing_fits() -> None:
    none = {"micro": None, "state": "no"}
    found = said(a100(usable=9.0, **none), result(usable=5.0, **none))  # type: ignore[arg-type]
    assert found.startswith("None of these cards trains this job: the largest, A100 40GB ")
    assert said(result(**none)).startswith("RTX 4090 24GB cannot train this job: ")  # type: ignore[arg-type]


def test_many_offers() -> None:
    assert said(a100(), result(), result("L4 24GB")).startswith("All 3 fit; ")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_it_is_one_sentence(lang: str) -> None:
    stop = {"en": ".", "zh": "。"}[lang]
    for offers in [(a100(), result()), (a100(hours=27.0), result(micro=4, parts=2, state="no")),
                   (result(micro=None, state="no"),),
                   (a100(usd_per_h=None), result())]:  # fmt: skip
        found = said(*offers, lang=lang)
        assert found.endswith(stop)
        assert (". " if lang == "en" else stop) not in found[:-1]
