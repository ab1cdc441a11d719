"""Fit the constants of the model of speed to the published rows, and write them down.

    python -m tools.fit_speed            # print what would be written
    python -m tools.fit_speed --write    # rewrite calc/speed_constants.py

A test runs this and compares with the file, so that constants and data cannot drift apart.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from calc.accuracy_speed import held_out_ranges
from calc.card import Card
from calc.measurements import load_cards
from calc.speed_fit import REFERENCE, fit_cards, fit_classes, fit_specs, specs
from calc.speed_rows import cells, observed

TARGET = Path("calc/speed_constants.py")
PRECISIONS = ("half", "tf32")


def constants() -> dict[str, object]:
    """Every fitted constant by name, rounded to three digits."""
    cards = load_cards()
    return {
        "CLASS_MULTIPLE": _rounded(fit_classes(observed())),
        "CARD_FACTOR": {kind: _rounded(fit_cards(cells(kind))) for kind in PRECISIONS},
        "CARD_WEIGHT": {kind: _rounded(_weights(kind)) for kind in PRECISIONS},
        "SPEC_EXPONENTS": {kind: _exponents(kind, cards) for kind in PRECISIONS},
        "RANGE_FACTOR": _rounded(held_out_ranges()),
    }


def _weights(kind: str) -> dict[str, float]:
    """How many workloads in full a card's factor rests on."""
    total: dict[str, float] = {}
    for cell in cells(kind):
        total[cell.card] = total.get(cell.card, 0.0) + cell.weight
    return total


def _exponents(kind: str, cards: Mapping[str, Card]) -> tuple[float, float]:
    factors = fit_cards(cells(kind))
    rows = [
        (*found, math.log(factor))
        for name, factor in factors.items()
        if name != REFERENCE and (found := specs(cards[name], kind)) is not None
    ]
    matrix, memory = fit_specs(rows)
    return round(matrix, 3), round(memory, 3)


def _rounded(table: Mapping[str, float]) -> dict[str, float]:
    return {key: float(f"{value:.3g}") for key, value in sorted(table.items())}


def render(found: Mapping[str, object]) -> str:
    """The text of `calc/speed_constants.py`."""
    lines = [
        '"""Constants of the model of speed, written by `python -m tools.fit_speed --write`.',
        "",
        "Fitted to `measurements/published/throughput.yaml`; what each means and how it is graded",
        "stands in `calc/speed_fit.py`, `calc/accuracy_speed.py` and `docs/speed.md`.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
    ]
    for name, value in found.items():
        kind = "Mapping[str, float]"
        if name in ("CARD_FACTOR", "CARD_WEIGHT"):
            kind = "Mapping[str, Mapping[str, float]]"
        if name == "SPEC_EXPONENTS":
            kind = "Mapping[str, tuple[float, float]]"
        lines.append(f"{name}: {kind} = {_literal(value)}")
    return "\n".join(lines) + "\n"


def _literal(value: object, indent: str = "") -> str:
    if not isinstance(value, dict):
        return repr(value)
    deeper = indent + "    "
    inner = [f'{deeper}"{key}": {_literal(item, deeper)},' for key, item in value.items()]
    return "\n".join(["{", *inner, indent + "}"])


def main(argv: Sequence[str] | None = None) -> int:
    """Print or write the constants."""
    parser = argparse.ArgumentParser(description="Fit the constants of the model of speed.")
    parser.add_argument("--write", action="store_true", help=f"rewrite {TARGET}")
    text = render(constants())
    if parser.parse_args(argv).write:
        TARGET.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
