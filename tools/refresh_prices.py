"""Refresh `measurements/prices.yaml` from gpuhunt's catalogues of cloud offers.

    python tools/refresh_prices.py            # rewrite measurements/prices.yaml
    python tools/refresh_prices.py --dry-run  # print what would be written

gpuhunt (https://github.com/dstackai/gpuhunt) is an optional dependency. Only derived figures are kept:
per card the cheapest and the median provider, how many there are, and when. Purchase prices are left alone.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from calc.card import Rate


@dataclass(frozen=True, slots=True)
class Quote:
    """One offer of one provider: USD per hour for one GPU; kind on_demand or spot; date yyyy-mm-dd."""

    card: str
    kind: str
    provider: str
    usd_per_h: float
    date: str
    source: str


def reduce_quotes(quotes: Iterable[Quote]) -> dict[str, dict[str, Rate]]:
    """Per card and kind: minimum and median over providers, each at its cheapest newest offer."""
    grouped: dict[tuple[str, str], list[Quote]] = defaultdict(list)
    for quote in quotes:
        grouped[quote.card, quote.kind].append(quote)
    rates: dict[str, dict[str, Rate]] = defaultdict(dict)
    for (card, kind), group in sorted(grouped.items()):
        rates[card][kind] = _rate(list(_one_per_provider(group).values()))
    return dict(rates)


def _one_per_provider(quotes: Iterable[Quote]) -> Mapping[str, Quote]:
    """The newest quote of each provider, the cheapest of its newest day."""
    best: dict[str, Quote] = {}
    for quote in quotes:
        known = best.get(quote.provider)
        if known is None or (quote.date, -quote.usd_per_h) > (known.date, -known.usd_per_h):
            best[quote.provider] = quote
    return best


def _rate(quotes: list[Quote]) -> Rate:
    prices = [quote.usd_per_h for quote in quotes]
    return Rate(
        min_usd_per_h=round(min(prices), 4),
        median_usd_per_h=round(statistics.median(prices), 4),
        providers=len(prices),
        oldest=min(quote.date for quote in quotes),
        newest=max(quote.date for quote in quotes),
        sources=tuple(sorted({quote.source for quote in quotes})),
    )
