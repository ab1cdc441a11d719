"""`python -m calc accuracy`: predicted against measured, memory and speed, as a table or as JSON.

Every run grades afresh from `measurements/published/`; nothing is quoted. A figure stands only
where there are rows: `not validated` means that no published row of that kind was found.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calc import (
    accuracy_ladder,
    accuracy_memory,
    accuracy_reports,
    accuracy_speed,
    calibration,
)
from calc.accuracy_memory import Boundary, Graded, Summary
from calc.measurements import DataError

UNVALIDATED = (
    "mvit", "timesformer", "x3d", "s3d", "csn",
)  # fmt: skip
"""Families of the product without a published row of their own backbone group."""


def report() -> dict[str, Any]:
    """Everything the command shows: {"memory": ..., "speed": ...}."""
    return {"memory": memory_report(), "speed": accuracy_speed.report()}


def memory_report() -> dict[str, Any]:
    """Errors of memory by group and precision, decisions, ladder, user reports, worst rows."""
    items = accuracy_memory.grade(accuracy_memory.rows())
    headroom_mib = calibration.HEADROOM_GIB * 1024
    sets = {
        "high": [i for i in items if i.row.confidence == "high"],
        "high + medium": items,
        "traces from 2 GiB": [
            i for i in items if i.row.trace_mib >= accuracy_memory.CALIBRATED_FROM_MIB
        ],
    }
    return {
        "calibration": accuracy_memory.constants(),
        "line_instead": accuracy_memory.line_instead(accuracy_memory.rows()),
        "groups": accuracy_memory.grouped(items, lambda row: row.group),
        "precisions": accuracy_memory.grouped(items, lambda row: row.precision),
        "confidence": {name: accuracy_memory.summary(some) for name, some in sets.items()},
        "targets": {name: votes(some) for name, some in sets.items()},
        "boundary": {name: accuracy_memory.boundary(some) for name, some in sets.items()}
        | {"high + medium, with the app's headroom": accuracy_memory.boundary(items, headroom_mib)},
        "ladder": accuracy_ladder.report(),
        "reports": accuracy_reports.report(),
        "furthest": accuracy_memory.furthest(items),
        "not_validated": UNVALIDATED,
    }


@dataclasses.dataclass(frozen=True, slots=True)
class Votes:
    """Errors with every backbone group having one vote."""

    groups: int
    n: int
    median_of_groups: float
    p90_voted: float


def votes(items: Sequence[Graded]) -> Votes | None:
    """Median of the groups' medians, and 90th percentile with one vote a group."""
    groups: dict[str, list[float]] = {}
    for item in items:
        groups.setdefault(item.row.group, []).append(abs(item.error))
    if not groups:
        return None
    medians = [accuracy_memory.median(errors) for errors in groups.values()]
    p90 = accuracy_memory.voted_percentile(groups.values(), 0.9)
    return Votes(len(groups), len(items), accuracy_memory.median(medians), p90)


# --- As text --------------------------------------------------------------------------------------


def text(found: Mapping[str, Any]) -> str:
    """The report for a terminal."""
    return "\n".join([*_memory_lines(found["memory"]), "", *_speed_lines(found["speed"])])


def _memory_lines(memory: Mapping[str, Any]) -> Iterator[str]:
    yield "MEMORY: peak allocated, published figures; nothing fitted, ranges from the other groups"
    heads = {"n": 5, "median": 9, "p90": 8, "worst": 8, "under": 7, "in range": 16, "width": 7}
    yield " " * 24 + "".join(f"{name:>{width}}" for name, width in heads.items())
    for title in ("groups", "precisions", "confidence"):
        for name, summary in memory[title].items():
            yield _summary_line(name, summary)
        yield ""
    yield f"not validated (n = 0): {', '.join(memory['not_validated'])}"
    yield from _vote_lines(memory["targets"])
    plain_error, line_error = memory["line_instead"]
    yield (
        f"a line fitted on the other groups would be off by {line_error:.2%} (median of groups) "
        f"instead of {plain_error:.2%}"
    )
    yield from _boundary_lines(memory["boundary"])
    yield from accuracy_ladder.lines(memory["ladder"])
    yield from accuracy_reports.lines(memory["reports"])
    yield "rows furthest off:"
    yield from (_row_line(item) for item in memory["furthest"])


def _summary_line(name: str, summary: Summary | None) -> str:
    if summary is None:
        return f"  {name:22}    0   not validated"
    low, high = summary.coverage
    return (
        f"  {name:22}{summary.n:5}{summary.median:9.2%}{summary.p90:8.2%}{summary.worst:8.1%}"
        f"{summary.under:7.0%}{summary.covered:5}/{summary.n:<3}{low:4.0%}-{high:.0%}"
        f"{summary.width:8.3f}"
    )


def _vote_lines(targets: Mapping[str, Votes | None]) -> Iterator[str]:
    for name, found in targets.items():
        if found is not None:
            yield (
                f"one vote a group, {name}: median {found.median_of_groups:.2%}, "
                f"90th percentile {found.p90_voted:.2%} ({found.groups} groups, {found.n} rows)"
            )


def _boundary_lines(found: Mapping[str, Boundary]) -> Iterator[str]:
    for name, b in found.items():
        yield (
            f"near the boundary, {name}: wrong fits {_rate(b, b.wrong_fits)} in "
            f"{b.rows_with_wrong_fit} of {b.rows} rows, wrong no {_rate(b, b.wrong_no)}, "
            f"tight {b.tight / b.n:.1%} (n = {b.n})"
        )


def _rate(found: Boundary, wrong: int) -> str:
    return f"{wrong / found.n:.2%} (95 %: up to {found.bound(wrong):.2%})"


def _row_line(item: Graded) -> str:
    row = item.row
    return (
        f"  {row.id:22}{item.error:+8.1%}  {item.mid_mib:7.0f} against {row.measured_mib:7.0f} MiB"
        f"  {row.confidence:7}{row.source}"
    )


def _speed_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield "SPEED: every claim on rows that were left out"
    heads = {"n": 5, "groups": 8, "median": 9, "mean": 8, "p90": 8, "worst": 9, "in range": 12}
    yield " " * 62 + "".join(f"{name:>{width}}" for name, width in heads.items())
    for name, one in found["scores"].items():
        yield f"  {name:60}    0   not validated" if one is None else _score_line(name, one)
    yield "wrong side of the break-even, price ratios 0.5 to 3: " + ", ".join(
        f"{name} {share:.1%}" for name, share in found["break_even"].items()
    )


def _score_line(name: str, one: Any) -> str:
    inside = "" if one.covered is None else f"{one.covered}/{one.n}"
    return (
        f"  {name:60}{one.n:5}{one.groups:8}{one.median:9.1%}{one.mean:8.1%}{one.p90:8.1%}"
        f"{one.worst:9.1%}{inside:>12}"
    )


def plain(value: Any) -> Any:
    """Dataclasses, mappings and tuples as JSON has them.

    >>> plain((1, {"a": None}))
    [1, {'a': None}]
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


# --- Command --------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report; returns the exit code."""
    parser = argparse.ArgumentParser("python -m calc accuracy", description=__doc__)
    add_arguments(parser)
    args = parser.parse_args(argv)
    try:
        found = report()
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(plain(found), indent=2, ensure_ascii=False) if args.json else text(found))
    return 0


__all__ = ["add_arguments", "calibration", "main", "plain", "report", "text"]
