"""Fit the constants of the model of speed to the published rows, and write them down.

    python -m tools.fit_speed            # print what would be written
    python -m tools.fit_speed --write    # rewrite calc/speed_constants.py

A test runs this and compares with the file, so that constants and data cannot drift apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from calc import accuracy_speed
from calc.accuracy_speed import card_weights, held_out_ranges
from calc.speed_fit import fit_cards, fit_classes, fit_spec_model
from calc.speed_rows import cells, observed

TARGET = Path("calc/speed_constants.py")
PRECISIONS = ("half", "tf32")


def constants() -> dict[str, object]:
    """Every fitted constant by name, rounded to three digits."""
    models = {kind: fit_spec_model(accuracy_speed.spec_rows(kind)) for kind in PRECISIONS}
    return {
        "CLASS_MULTIPLE": _rounded(fit_classes(observed())),
        "CARD_FACTOR": {kind: _rounded(fit_cards(cells(kind))) for kind in PRECISIONS},
        "CARD_WEIGHT": {kind: _rounded(card_weights(kind)) for kind in PRECISIONS},
        "SPEC_EXPONENTS": {
            kind: (round(model.matrix, 3), round(model.memory, 3)) for kind, model in models.items()
        },
        "ARCHITECTURE_FACTOR": {
            kind: _rounded(model.architecture) for kind, model in models.items()
        },
        "RANGE_FACTOR": _rounded(held_out_ranges()),
    }


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
        if name in ("CARD_FACTOR", "CARD_WEIGHT", "ARCHITECTURE_FACTOR"):
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
