from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.card import Offer, Price, Purchase, Rate, Sourced
from calc.cost import (
    break_even_ratio,
    break_even_usd,
    cost,
    electricity_usd_per_h,
    hours,
    price_used,
    rent_or_buy_h,
    usd_per_h,
)
from calc.estimate import Range
from calc.job import Job
from tests.calc.speed_samples import card

CARD = card("Round 24GB")  # 400 W
OFFER = Offer(CARD)
PRICES = {
    "Round 24GB": Price(
        "Round 24GB",
        on_demand=Rate(0.5, 1.0, 3, "2026-05-24", "2026-08-21", ("https://a.example",)),
        spot=Rate(0.2, 0.4, 2, "2026-05-24", "2026-05-24", ("https://a.example",)),
        purchase=(Purchase(1600, "list", "2022-10-12", "https://b.example"),
                  Purchase(2200, "street", "2024-01-09", "https://c.example")),
    )
}  # fmt: skip
SPEED = Range(0.5, 1.0, 2.0)  # seconds a step
amounts = st.floats(0.01, 1e4)
ranges = st.lists(amounts, min_size=3, max_size=3).map(lambda found: Range(*sorted(found)))


def test_a_rented_run_by_hand() -> None:
    """240,000 clips x 30 at 8 clips a second are 250 h, at 1 USD/h 250 USD; 0.34 kW 85 kWh."""
    found = cost(Job(), OFFER, SPEED, PRICES)
    assert found.hours == Range(125, 250, 500)
    assert found.usd == Range(125, 250, 500)
    assert found.kwh is not None and found.kwh.mid == pytest.approx(85)
    used = price_used(Job(), CARD, PRICES)
    assert used is not None and used.date == "2026-08-21"


def test_several_cards_cost_each() -> None:
    found = cost(Job(), Offer(CARD, 4), SPEED, PRICES)
    assert found.usd_per_h == 4
    assert found.kwh is not None and found.kwh.mid == pytest.approx(340)


def test_a_bought_card_by_hand() -> None:
    """2200 + 2000 for the host, 60 % lost over 3 years of 80 h a week; 0.34 kW at 0.15 USD."""
    job = Job(price_kind="buy")
    used = price_used(job, CARD, PRICES)
    assert used is not None and (used.usd, used.date) == (2200, "2024-01-09")
    loss_per_h = 4200 * 0.6 / (80 * 365.25 / 7 * 3)
    assert usd_per_h(job, OFFER, used) == pytest.approx(loss_per_h + 0.34 * 0.15)


def test_buying_pays_after_the_hours_that_the_rent_saves() -> None:
    """2520 USD lost in value against 1 USD/h less 0.051 of electricity."""
    assert rent_or_buy_h(Job(), OFFER, PRICES) == pytest.approx(2520 / (1 - 0.051))
    assert rent_or_buy_h(Job(prices=(("Round 24GB", 0.01),)), OFFER, PRICES) == math.inf
    assert rent_or_buy_h(Job(), OFFER, {}) is None


@pytest.mark.parametrize(
    ("kind", "usd"), [("on_demand", 1.0), ("spot", 0.4), ("buy", 2200.0)]
)  # fmt: skip
def test_published_prices_are_the_median_and_the_newest(kind: str, usd: float) -> None:
    used = price_used(Job(price_kind=kind), CARD, PRICES)
    assert used is not None
    assert (used.usd, used.kind, used.typed) == (usd, kind, False)


def test_the_users_own_price_wins() -> None:
    own = (("Round 24GB", 0.35),)
    used = price_used(Job(prices=own), CARD, PRICES)
    assert used is not None and (used.usd, used.typed) == (0.35, True)
    bought = price_used(Job(price_kind="buy", prices=own), CARD, PRICES)
    assert bought is not None and bought.usd == 2200
    typed = price_used(Job(price_kind="buy", buy_prices=own), CARD, PRICES)
    assert typed is not None and typed.usd == 0.35


def test_unknown_is_none_and_never_zero() -> None:
    found = cost(Job(), OFFER, SPEED, {})
    assert (found.usd, found.usd_per_h) == (None, None)
    assert price_used(Job(), CARD, {}) is None
    dark = Offer(card(tdp_w=Sourced(None)))
    assert cost(Job(), dark, SPEED, PRICES).kwh is None
    assert electricity_usd_per_h(Job(), dark) is None
    empty = {"Round 24GB": Price("Round 24GB")}
    for kind in ("on_demand", "spot", "buy"):
        assert price_used(Job(price_kind=kind), CARD, empty) is None


def test_the_loader_caps_speed_and_the_need_stays_visible() -> None:
    found = cost(Job(loader_clips_per_s=6.0), OFFER, SPEED, PRICES)
    assert found.clips_per_s == Range(4, 6, 6)
    assert found.needs_clips_per_s == 8


def test_interruptions_lengthen_spot_runs_only() -> None:
    """Twice a day half an hour: one hour in 24 more."""
    often = Job(interruptions_per_day=2.0)
    assert hours(often, SPEED) == hours(Job(), SPEED)
    spot = hours(often.replace(price_kind="spot"), SPEED)
    assert spot.mid == pytest.approx(hours(Job(), SPEED).mid * 25 / 24)


def test_break_even_of_two_offers_by_hand() -> None:
    """An A100 that takes 100 h where a 4090 takes 121 may cost 1.21 x as much an hour."""
    slow, fast = Range(110, 121, 132), Range(91, 100, 109)
    ratio = break_even_ratio((OFFER, fast), (OFFER, slow))
    assert ratio.mid == pytest.approx(1.21)
    assert break_even_ratio((OFFER, fast), (Offer(CARD, 2), slow)).mid == pytest.approx(2.42)


@given(ranges, ranges, st.integers(1, 8), st.integers(1, 8))
def test_break_even_is_ordered_and_its_inverse_is_the_other_way(
    first: Range, second: Range, a: int, b: int
) -> None:
    one, two = (Offer(CARD, a), first), (Offer(CARD, b), second)
    ratio = break_even_ratio(one, two)
    assert ratio.low <= ratio.mid <= ratio.high
    assert ratio.mid * break_even_ratio(two, one).mid == pytest.approx(1)


@given(amounts, amounts, st.integers(1, 8), st.sampled_from(("on_demand", "spot", "buy")))
def test_at_the_break_even_price_the_run_costs_just_that(
    hours_h: float, usd: float, count: int, kind: str
) -> None:
    job = Job(price_kind=kind)
    offer = Offer(CARD, count)
    price = break_even_usd(job, offer, hours_h, usd)
    assert price is not None
    if not 0 <= price <= 1e6:
        return
    typed = ((CARD.name, price),)
    used = price_used(job.replace(prices=typed, buy_prices=typed), CARD, {})
    assert used is not None
    per_h = usd_per_h(job, offer, used)
    assert per_h is not None and per_h * hours_h == pytest.approx(usd)


def test_no_price_helps_where_resale_gives_all_back() -> None:
    assert break_even_usd(Job(price_kind="buy", resale_pct=100.0), OFFER, 10, 100) is None


@given(ranges, st.floats(0.01, 1e6), st.sampled_from(("on_demand", "spot", "buy")))
def test_faster_is_never_dearer(step_s: Range, loader: float, kind: str) -> None:
    job = Job(price_kind=kind, loader_clips_per_s=loader)
    found = cost(job, OFFER, step_s, PRICES)
    half = cost(job, OFFER, step_s * 0.5, PRICES)
    assert found.usd is not None and half.usd is not None
    assert half.usd.mid <= found.usd.mid
    assert found.usd.low <= found.usd.mid <= found.usd.high
