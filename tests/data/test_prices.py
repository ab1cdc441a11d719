"""Prices: dated, plausible, and not confused by cards of the same name."""

from __future__ import annotations

import datetime

import pytest

from calc import measurements
from calc.card import Price, Rate

CARDS = measurements.load_cards()
PRICES = measurements.load_prices()
RATES = [
    (price.card, kind, rate)
    for price in PRICES.values()
    for kind, rate in (("on_demand", price.on_demand), ("spot", price.spot))
    if rate
]


def test_every_card_has_an_entry_even_if_empty() -> None:
    assert list(PRICES) == list(CARDS)


@pytest.mark.parametrize(("card", "kind", "rate"), RATES, ids=[f"{c} {k}" for c, k, _ in RATES])
def test_a_rate_is_dated_and_plausible(card: str, kind: str, rate: Rate) -> None:
    assert 0.03 <= rate.min_usd_per_h <= rate.median_usd_per_h <= 15
    assert rate.providers >= 1
    oldest, newest = map(datetime.date.fromisoformat, (rate.oldest, rate.newest))
    assert datetime.date(2025, 1, 1) <= oldest <= newest
    assert newest <= datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
    assert rate.sources
    assert all(source.startswith("https://") for source in rate.sources)
    if rate.providers == 1:
        assert rate.min_usd_per_h == rate.median_usd_per_h


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES)
def test_spot_is_cheaper(price: Price) -> None:
    if price.spot and price.on_demand:
        assert price.spot.median_usd_per_h <= price.on_demand.median_usd_per_h


def test_larger_memory_costs_more() -> None:
    small, large = PRICES["V100 16GB SXM2"].on_demand, PRICES["V100 32GB SXM2"].on_demand
    assert small and large and small.median_usd_per_h < large.median_usd_per_h
    normal, rebuilt = PRICES["RTX 4090 24GB"].on_demand, PRICES["RTX 4090 48GB (modified)"]
    assert normal and normal.providers >= 5
    assert rebuilt.on_demand and rebuilt.on_demand.providers == 1


def test_purchase_prices_are_dated_and_none_is_invented() -> None:
    for price in PRICES.values():
        for one in price.purchase:
            assert datetime.date.fromisoformat(one.date) >= datetime.date(2020, 1, 1)
            assert one.kind in ("list", "street")
            assert 500 < one.usd < 50_000
            assert one.source.startswith("https://")
    assert PRICES["A100 40GB PCIe"].purchase == ()
