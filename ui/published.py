"""Published figures as rows of tables and points of plots; no Streamlit in here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from calc import accuracy_memory
from calc.accuracy_memory import Graded, Summary
from calc.measurements import DataError, load_published

_SOURCE = re.compile(
    r"(?P<repo>[\w.-]+/[\w.-]+?)"
    r"(?:@(?P<commit>[0-9a-f]{7,40})(?: (?P<path>\S+))?|, branch (?P<branch>[\w.-]+))?",
    re.ASCII,
)


def link(source: str) -> str | None:
    """The page of a source: "owner/name@commit path/in/it", less of it, or an https:// address.

    >>> link("open-mmlab/mmaction2@0123456789 configs/tsn/README.md")
    'https://github.com/open-mmlab/mmaction2/blob/0123456789/configs/tsn/README.md'
    >>> link("open-mmlab/mmaction2"), link("open-mmlab/mmaction2, branch 0.x")
    ('https://github.com/open-mmlab/mmaction2', 'https://github.com/open-mmlab/mmaction2/tree/0.x')
    >>> link("a talk") is None
    True
    """
    if source.startswith("https://"):
        return source
    found = _SOURCE.fullmatch(source)
    if found is None:
        return None
    home = f"https://github.com/{found['repo']}"
    if found["branch"]:
        return f"{home}/tree/{found['branch']}"
    return f"{home}/blob/{found['commit']}/{found['path']}" if found["path"] else home


@cache
def entries() -> tuple[Mapping[str, Any], ...]:
    """Every published row of memory, those of low confidence too; () where there is no file."""
    try:
        return tuple(load_published("video_memory")["rows"])
    except DataError:
        return ()


@cache
def graded() -> tuple[Graded, ...]:
    """The rows of high and medium confidence, each predicted without its own group."""
    return accuracy_memory.grade(accuracy_memory.rows()) if entries() else ()


@cache
def overall() -> Summary | None:
    """Errors over all graded rows."""
    return accuracy_memory.summary(graded())


@cache
def by_group() -> Mapping[str, Summary | None]:
    """Errors by backbone group, then by precision ("amp", "fp32")."""
    items = graded()
    groups = accuracy_memory.grouped(items, lambda row: row.group)
    return groups | accuracy_memory.grouped(items, lambda row: row.precision)


def points() -> list[dict[str, Any]]:
    """A point of the plot for each graded row, MiB."""
    return [
        {
            "predicted": item.mid_mib, "low": item.low_mib, "high": item.high_mib,
            "measured": item.row.measured_mib, "group": item.row.group,
            "name": f"{item.row.id}: {item.row.arch}", "ratio": f"{item.ratio:.3f}",
        }
        for item in graded()
    ]  # fmt: skip


def table() -> dict[str, Sequence[Any]]:
    """Columns of all published rows, graded or not."""
    found = {item.row.id: item for item in graded()}
    known = [(entry, found.get(entry["id"])) for entry in entries()]
    return {
        "id": [entry["id"] for entry, _ in known],
        "group": [entry["group"] for entry, _ in known],
        "arch": [entry["arch"] for entry, _ in known],
        "point": [_point(entry) for entry, _ in known],
        "precision": [entry["precision"] for entry, _ in known],
        "mib": [entry["measured_mib"] for entry, _ in known],
        "formula_mib": [item and item.mid_mib for _, item in known],
        "ratio": [item and item.ratio for _, item in known],
        "confidence": [entry["confidence"] for entry, _ in known],
        "software": [_software(entry) for entry, _ in known],
        "source": [link(entry["source"]) for entry, _ in known],
    }


@cache
def speed_table() -> dict[str, Sequence[Any]]:
    """Columns of all published throughput rows; empty columns where there is no file."""
    keys = ("card", "gpus", "workload", "mode", "precision", "batch", "throughput", "unit",
            "software", "source")  # fmt: skip
    try:
        stacks = load_published("throughput")["stacks"]
    except DataError:
        stacks = []
    rows = [row for stack in stacks for work in stack["workloads"] for row in _runs(stack, work)]
    return {key: [row[index] for row in rows] for index, key in enumerate(keys)}


def _runs(stack: Mapping[str, Any], work: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    home = link(stack["source"])
    return [
        (card, gpus, work["name"], work["mode"], precision, batch, throughput, work["unit"],
         stack["note"], home)
        for card, gpus, precision, batch, throughput in work["rows"]
    ]  # fmt: skip


def _point(entry: Mapping[str, Any]) -> str:
    batch = "" if entry["batch"] is None else f" batch {entry['batch']}"
    return f"{entry['frames']}x{entry['size']}{batch} {entry['optimizer']}"


def _software(entry: Mapping[str, Any]) -> str:
    torch = entry["torch"]
    return f"{entry['framework']}, torch {torch}" if torch else str(entry["framework"])
