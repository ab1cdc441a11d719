"""Write the generated parts of the docs and the JSON Schemas; `--check` only compares.

    python -m tools.generate_docs           # rewrite what is out of date
    python -m tools.generate_docs --check   # say what is out of date; exit code 1 if anything is

In a Markdown file `<!-- begin: NAME -->` ... `<!-- end -->` encloses a generated part. NAME is
`cards`, `prices`, `models`, `accuracy`, or `output: python -m ...`, a command that is run and shown
with what it prints.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from calc import accuracy, accuracy_memory, accuracy_speed, measurements, schema
from calc.card import Card, Price, Rate, Sourced
from calc.measurements import CardFile, PriceFile, ProfileFile, ReviewFile
from calc.runs import Run

ROOT = Path(__file__).resolve().parent.parent
PART = re.compile(r"(<!-- begin: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
RUNNABLE = ("python -m calc", "python -m bench")
HELP_PYTHON = (3, 13)
"""From this version on argparse wraps its help differently: help texts are checked below it."""
DATA_ONLY = "CLIPFIT_DATA_ONLY"
"""Set for a pull request that only adds runs: they change answers, and a workflow (derived.yml)
rebuilds the outputs that show answers once it is merged."""
SCHEMAS: Mapping[str, tuple[type, str]] = {
    "cards": (CardFile, "measurements/cards.yaml"),
    "prices": (PriceFile, "measurements/prices.yaml"),
    "model": (ProfileFile, "measurements/models/<model>.yaml"),
    "run": (Run, "measurements/runs/<card>/<file>.yaml"),
    "reviewed": (ReviewFile, "measurements/reviewed.yaml"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite or check; 1 if `--check` finds something out of date."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args(argv).check
    try:
        stale = [(path, text) for path, text in wanted(ROOT) if _text(path) != text]
    except ValueError as error:
        print(f"generate_docs: {error}", file=sys.stderr)
        return 2
    for path, text in stale:
        name = path.relative_to(ROOT).as_posix()
        if check:
            print(_difference(name, _text(path), text))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    if check and stale:
        print(f"{len(stale)} files are out of date; run `make docs`", file=sys.stderr)
    return 1 if check and stale else 0


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _difference(name: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), name, f"{name} (generated)", lineterm="", n=1
    )
    return "\n".join(list(lines)[:40])


def wanted(root: Path) -> Iterator[tuple[Path, str]]:
    """Every generated file and every Markdown file with generated parts, as it should be."""
    for name, (kind, title) in SCHEMAS.items():
        tree = schema.json_schema(kind, f"ClipFit, {title}")
        text = json.dumps(tree, indent=1, ensure_ascii=False)
        yield root / "measurements" / "schema" / f"{name}.json", text + "\n"
    for path in markdown(root):
        yield path, filled(_text(path))


def markdown(root: Path) -> list[Path]:
    """The Markdown files that may have generated parts."""
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("measurements/*.md")])


def filled(text: str) -> str:
    """A text with its generated parts made anew."""
    return PART.sub(lambda found: found[1] + part(found[2], found[3]) + found[4], text)


def part(name: str, old: str) -> str:
    """A generated part by its name; `old` is kept where it cannot be made here."""
    if name.startswith("output: "):
        return output(name.removeprefix("output: "), old)
    makers: Mapping[str, Callable[[], str]] = {
        "cards": partial(card_table, measurements.load_cards()),
        "prices": partial(price_table, measurements.load_prices()),
        "models": model_table,
        "accuracy": accuracy_table,
    }
    if name not in makers:
        raise ValueError(
            f"generated part is {name!r}; allowed are {', '.join(makers)}, output: ..."
        )
    return makers[name]()


def output(command: str, old: str) -> str:
    """A command of ClipFit and what it prints, as a code block."""
    if not command.startswith(RUNNABLE):
        raise ValueError(f"command is {command!r}; allowed are {' ..., '.join(RUNNABLE)} ...")
    is_help = "--help" in command
    if (is_help and sys.version_info >= HELP_PYTHON) or (not is_help and DATA_ONLY in os.environ):
        return old
    words = [sys.executable, *shlex.split(command)[1:]]
    env = {**os.environ, "COLUMNS": "100"}
    result = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise ValueError(f"{command} failed with code {result.returncode}: {last}")
    return f"```console\n$ {command}\n{result.stdout.rstrip()}\n```\n"


# --- Tables ---------------------------------------------------------------------------------------


def card_table(cards: Mapping[str, Card]) -> str:
    """Every card with the figures the arithmetic uses; each figure links to its source."""
    head = (
        "card", "memory GB", "PyTorch sees GiB", "GB/s", "FP16 TFLOPS", "measured", "TF32", "FP32",
        "NVLink GB/s", "PCIe", "W",
    )  # fmt: skip
    rows = [_card_cells(card) for card in cards.values()]
    return _table(head, rows)


def _card_cells(card: Card) -> tuple[str, ...]:
    name = card.name if card.official else f"{card.name}, unofficial"
    return (
        name,
        f"{card.marketed_gb:g} {card.memory_type}",
        _total(card),
        _linked(card.bandwidth_gb_s),
        _linked(card.dense_fp16_tflops),
        _linked(card.measured_fp16_tflops),
        _linked(card.dense_tf32_tflops),
        _linked(card.fp32_tflops),
        _linked(card.nvlink_gb_s_per_direction, "none"),
        f"{card.pcie_gen}" + ("" if card.peer_access else ", no peer access"),
        _linked(card.tdp_w),
    )


def _total(card: Card) -> str:
    low, typical = card.total_gib
    figures = f"{low:.2f}" if low == typical else f"{low:.2f} to {typical:.2f}"
    if not card.total_is_published:
        return f"about {figures}"
    return f"[{figures}]({card.torch_total_gib_typical.source})"


def _linked(figure: Sourced, unknown: str = "not known") -> str:
    if figure.value is None:
        return figure.note.removesuffix(" in hardware") or unknown
    return f"[{figure.value:g}]({figure.source})"


def price_table(prices: Mapping[str, Price]) -> str:
    """Rent and purchase prices with their dates."""
    head = ("card", "on demand USD/h", "spot USD/h", "providers", "dates", "to buy USD")
    rows = [_price_cells(price) for price in prices.values()]
    return _table(head, rows)


def _price_cells(price: Price) -> tuple[str, ...]:
    rates = [rate for rate in (price.on_demand, price.spot) if rate]
    dates = sorted({date for rate in rates for date in (rate.oldest, rate.newest)})
    return (
        price.card,
        _rate(price.on_demand),
        _rate(price.spot),
        " / ".join(str(rate.providers) for rate in rates) or "none",
        " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "",
        ", ".join(f"[{one.usd:g}]({one.source}) {one.kind} {one.date}" for one in price.purchase),
    )


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "not known"
    return f"{rate.min_usd_per_h:.2f}, median {rate.median_usd_per_h:.2f}"


def model_table() -> str:
    """Every traced model."""
    head = ("model", "name", "parameters M", "frames", "sizes px", "attention", "source")
    profiles = [measurements.load_profile(model) for model in measurements.model_ids()]
    rows = [
        (
            profile.model,
            profile.title,
            f"{profile.params / 1e6:.1f}",
            ", ".join(map(str, profile.frames())),
            ", ".join(map(str, profile.sizes())),
            ", ".join(profile.attention),
            f"`{profile.source}`",
        )
        for profile in profiles
    ]
    return _table(head, rows)


def accuracy_table() -> str:
    """What was predicted without its own rows against what was published, memory and time."""
    head = ("predicted, without its own rows", "rows", "median error", "90th percentile", "worst",
            "in the 90 % range")  # fmt: skip
    graded = accuracy_memory.grade(accuracy_memory.rows())
    groups = accuracy_memory.grouped(graded, lambda row: row.group)
    rows = [_score_cells(f"memory, {name}", one) for name, one in groups.items()]
    missing = ", ".join(accuracy.UNVALIDATED)
    rows.append((f"memory, {missing}", "0", "not validated", "", "", ""))
    scores = accuracy_speed.report()["scores"]
    return _table(head, rows + [_score_cells(name, one) for name, one in scores.items()])


def _score_cells(name: str, one: Any) -> tuple[str, ...]:
    if one is None:
        return (name, "0", "not validated", "", "", "")
    inside = "" if one.covered is None else f"{one.covered} of {one.n}"
    errors = (f"{share:.1%}" for share in (one.median, one.p90, one.worst))
    return (name.replace("- ", "of these: ", 1), str(one.n), *errors, inside)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
