"""Refresh `measurements/prices.yaml` from gpuhunt's catalogues of cloud offers.

    python -m tools.refresh_prices            # rewrite measurements/prices.yaml
    python -m tools.refresh_prices --dry-run  # print it instead
    python -m tools.refresh_prices --age 90   # only say which prices are older than 90 days

gpuhunt (https://github.com/dstackai/gpuhunt) is an optional dependency, see tools/requirements.txt.
Only derived figures are kept: per card the cheapest and the median provider, how many there are,
and when. What gpuhunt does not list, and purchase prices, stay as they are.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calc import measurements
from calc.card import Price, Purchase, Rate
from calc.measurements import ROOT, PriceFile, Source

SOURCE = "gpuhunt"
SOURCES = {
    SOURCE: Source("gpuhunt's catalogues of cloud offers", "https://github.com/dstackai/gpuhunt")
}
HEADER = """\
# Prices in USD. Rent is per hour and GPU: of each provider its cheapest newest offer, then the
# minimum and the median over providers. Offers of an A100 or H100 whose form factor is not stated
# count for both of its cards. Left out: offers without a date, offers marked as mislabelled, cards
# of another memory size, parts of a card, prices typed in by hand. Purchase is per card; empty
# where no dated source exists, and then the app asks.
# Reduced by tools/refresh_prices.py; of sources without an open licence only these derived figures
# are kept.
"""

# gpuhunt's name and memory in GB: cards here. The name alone is not enough: both sizes of the A100
# have one name, and rebuilt 48 GB cards are listed as RTX 4090.
CARDS: Mapping[tuple[str, int], str] = {
    ("RTX3090", 24): "RTX 3090 24GB",
    ("RTX4090", 24): "RTX 4090 24GB",
    ("RTX4090D", 24): "RTX 4090 D 24GB",
    ("RTX4090", 48): "RTX 4090 48GB (modified)",
    ("RTX5090", 32): "RTX 5090 32GB",
    ("A6000", 48): "RTX A6000 48GB",
    ("RTX6000Ada", 48): "RTX 6000 Ada 48GB",
    ("RTXPRO6000", 96): "RTX PRO 6000 96GB",
    ("L40S", 48): "L40S 48GB",
    ("L4", 24): "L4 24GB",
    ("A10", 24): "A10 24GB",
    ("T4", 16): "T4 16GB",
    ("V100", 16): "V100 16GB SXM2",
    ("V100", 32): "V100 32GB SXM2",
    ("H200", 141): "H200 141GB",
    ("H20", 96): "H20 96GB",
}
FORMS: Mapping[tuple[str, int], tuple[str, str]] = {  # PCIe, SXM
    ("A100", 40): ("A100 40GB PCIe", "A100 40GB SXM4"),
    ("A100", 80): ("A100 80GB PCIe", "A100 80GB SXM4"),
    ("H100", 80): ("H100 80GB PCIe", "H100 80GB SXM5"),
}
PCIE = re.compile(r"pcie|NC\d+ads", re.IGNORECASE)
SXM = re.compile(r"sxm|hgx|^p4d|^p4de|^p5|^a2-|^a3-|^ND\d+|BM\.GPU|_ND\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quote:
    """One offer: USD per hour for one GPU; kind on_demand or spot; date yyyy-mm-dd."""

    card: str
    kind: str
    provider: str
    usd_per_h: float
    date: str
    source: str


# --- From offers to two figures -------------------------------------------------------------------


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


def cards_of(gpu_name: str, memory_gb: float, instance: str) -> tuple[str, ...]:
    """The cards an offer is for; () if it is none of ours.

    >>> cards_of("A100", 40.0, "p4d.24xlarge"), cards_of("RTX4090", 48.0, "x")
    (('A100 40GB SXM4',), ('RTX 4090 48GB (modified)',))
    >>> cards_of("A100", 80.0, "gpu_1x_a100"), cards_of("A10", 4.0, "Standard_NV6ads_A10_v5")
    (('A100 80GB PCIe', 'A100 80GB SXM4'), ())
    """
    key = (gpu_name, round(memory_gb))
    if key in CARDS:
        return (CARDS[key],)
    if key not in FORMS:
        return ()
    pcie, sxm = FORMS[key]
    if PCIE.search(instance):
        return (pcie,)
    return (sxm,) if SXM.search(instance) else (pcie, sxm)


def quotes_of(items: Iterable[Any], date: str) -> list[Quote]:
    """gpuhunt's offers as quotes; per GPU, whole cards only."""
    quotes = []
    for item in items:
        if not (item.gpu_count and item.gpu_name and item.gpu_memory and item.price > 0):
            continue
        kind = "spot" if item.spot else "on_demand"
        for card in cards_of(item.gpu_name, item.gpu_memory, item.instance_name):
            price = item.price / item.gpu_count
            quotes.append(Quote(card, kind, item.provider, price, date, SOURCE))
    return quotes


# --- The file -------------------------------------------------------------------------------------


def merged(
    file: PriceFile, rates: Mapping[str, Mapping[str, Rate]], cards: Sequence[str]
) -> PriceFile:
    """The file with new rates in place of old ones; what is not offered stays."""
    known = {price.card: price for price in file.prices}
    prices = tuple(
        dataclasses.replace(known.get(card, Price(card)), **rates.get(card, {})) for card in cards
    )
    used = {key for price in prices for key in _keys(price)}
    every = {**SOURCES, **file.sources}
    return PriceFile(1, {key: source for key, source in every.items() if key in used}, prices)


def _keys(price: Price) -> list[str]:
    rates = [rate for rate in (price.on_demand, price.spot) if rate]
    return [key for rate in rates for key in rate.sources] + [one.source for one in price.purchase]


def render(file: PriceFile) -> str:
    """The file as it is checked in: one line a rate, so that a diff shows what changed."""
    lines = [HEADER + "schema: 1", "sources:"]
    for key, source in file.sources.items():
        lines.append(f"  {key}: {_flow(dataclasses.asdict(source))}")
    lines.append("prices:")
    for price in file.prices:
        lines += _price_lines(price)
    return "\n".join(lines) + "\n"


def _price_lines(price: Price) -> list[str]:
    lines = [f"- card: {price.card}"]
    for kind, rate in (("on_demand", price.on_demand), ("spot", price.spot)):
        lines.append(f"  {kind}: {_flow(dataclasses.asdict(rate)) if rate else 'null'}")
    if not price.purchase:
        return [*lines, "  purchase: []"]
    return [*lines, "  purchase:", *(f"  - {_flow(_purchase(one))}" for one in price.purchase)]


def _purchase(one: Purchase) -> dict[str, Any]:
    return dataclasses.asdict(one)


def _flow(record: Mapping[str, Any]) -> str:
    """A mapping on one line; empty values are left out."""
    parts = [f"{key}: {_value(value)}" for key, value in record.items() if value not in ("", ())]
    return f"{{{', '.join(parts)}}}"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z][A-Za-z0-9 _-]*", value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def too_old(file: PriceFile, days: int, today: datetime.date) -> list[str]:
    """Rent prices whose newest offer is older than `days`."""
    found = []
    for price in file.prices:
        for kind, rate in (("on_demand", price.on_demand), ("spot", price.spot)):
            if rate is None:
                continue
            age = (today - datetime.date.fromisoformat(rate.newest)).days
            if age > days:
                found.append(f"{price.card} {kind}: {age} days old (newest offer {rate.newest})")
    return found


# --- gpuhunt --------------------------------------------------------------------------------------


def offers(online: bool) -> list[Any]:
    """NVIDIA offers in gpuhunt's catalogues; with `online` those of Vast.ai too, asked live."""
    from gpuhunt import Catalog
    from gpuhunt._internal.catalog import OFFLINE_PROVIDERS

    catalog = Catalog(auto_reload=False)
    catalog.load()
    loaded = [name for name in OFFLINE_PROVIDERS if name in catalog.catalog]
    items = list(catalog.query(provider=loaded, gpu_vendor="nvidia"))
    return items + _vast(catalog) if online else items


def _vast(catalog: Any) -> list[Any]:
    from gpuhunt.providers.vastai import VastAIProvider

    catalog.add_provider(VastAIProvider())
    try:
        return list(catalog.query(provider="vastai", gpu_vendor="nvidia"))
    except Exception as error:  # a market that does not answer must not hold back the others
        print(f"Vast.ai did not answer ({type(error).__name__}); left out", file=sys.stderr)
        return []


def main(argv: Sequence[str] | None = None) -> int:
    """Refresh the file, or say how old it is."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--dry-run", action="store_true", help="print the file, write nothing")
    parser.add_argument("--online", action="store_true", help="ask Vast.ai too")
    parser.add_argument("--age", type=int, metavar="DAYS", help="list older prices; 1 if any")
    parser.add_argument("--file", type=Path, default=ROOT / "prices.yaml", help="another file")
    args = parser.parse_args(argv)
    path: Path = args.file
    file = measurements.read(PriceFile, path)
    today = datetime.datetime.now(datetime.UTC).date()
    if args.age is not None:
        found = too_old(file, args.age, today)
        print("\n".join(found) or f"no price is older than {args.age} days")
        return 1 if found else 0
    try:
        quotes = quotes_of(offers(args.online), today.isoformat())
    except ModuleNotFoundError:
        print(
            "gpuhunt is not installed; run `pip install -r tools/requirements.txt`", file=sys.stderr
        )
        return 2
    if not quotes:
        print("gpuhunt lists no offer of a known card; nothing is changed", file=sys.stderr)
        return 1
    text = render(merged(file, reduce_quotes(quotes), list(measurements.load_cards())))
    print(text if args.dry_run else f"{len(quotes)} offers reduced; wrote {path.name}")
    if not args.dry_run:
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
