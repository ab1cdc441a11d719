"""The data of `measurements/`, read once for all visitors, and what the inputs need of it."""

from __future__ import annotations

from functools import cache

from calc import measurements, words
from calc.cost import price_used
from calc.job import Job
from calc.measurements import Data


@cache
def data() -> Data:
    """Cards, prices, runs and, one by one when asked for, model profiles.

    Not in Streamlit's own cache: asking that takes 25 microseconds, ten times in each rerun.
    """
    return measurements.load()


def data_version() -> str:
    """DATA_VERSION: a hash of everything in `measurements/`."""
    return data().version


def card_names() -> tuple[str, ...]:
    """All cards, in the order of the table."""
    return tuple(data().cards)


def model_names() -> tuple[str, ...]:
    """Traced models by name, then "custom"."""
    return (*data().models, "custom")


@cache
def price_hint(card: str, field_key: str, kind: str) -> str:
    """The published price that counts while the visitor enters none; "" where there is none."""
    paid = "buy" if field_key == "buy_prices" else "on_demand" if kind == "buy" else kind
    used = price_used(Job(price_kind=paid), data().cards[card], data().prices)
    return "" if used is None else words.money(used.usd)
