"""The file of a measurement: written after every point, so that a kill at any moment loses nothing.

While points are missing the file is called `<stem>__<kind>.yaml.partial`. When it is complete, or
the run is interrupted, one atomic rename gives it its name, with six hex digits of its content.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from calc.card import slug

SCHEMA = 1
LICENCE = "CC0-1.0"
ANONYMOUS = "anonymous"
SIGNIFICANT_DIGITS = 5
HANDLE = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,38}")  # GitHub's rule, lower case

# Two files are about the same thing, and one can continue the other, if these agree.
SAME = ("kind", "model", "precision", "mode", "parallel", "card", "contributor", "settings")
SAME_ENVIRONMENT = ("gpu", "driver", "cuda", "cudnn", "torch", "power_limit_w", "allocator")

NOT_FINAL = frozenset({"error"})
"""Statuses that `--resume` tries again; everything else is a finished point."""


class FileInTheWay(ValueError):
    """A partial file of an earlier run lies where a new one is to begin."""


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step: a kill leaves the old content or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def handle(text: str | None) -> str | None:
    """A contributor's handle as it is written in files, or None for no name.

    >>> handle("Anna-K")
    'anna-k'
    >>> handle("anna k")
    Traceback (most recent call last):
        ...
    ValueError: contributor is 'anna k'; allowed are 1 to 39 letters, digits and single hyphens
    """
    if text is None or text.lower() == ANONYMOUS:
        return None
    if not HANDLE.fullmatch(text.lower()):
        raise ValueError(
            f"contributor is {text!r}; allowed are 1 to 39 letters, digits and single hyphens"
        )
    return text.lower()


def rounded(value: Any) -> Any:
    """The same structure with floats at five significant digits, and lists for tuples.

    >>> rounded({"ms": 123.456789, "loss": (0.1, 1e-9)})
    {'ms': 123.46, 'loss': [0.1, 1e-09]}
    """
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return value


def dump(content: Mapping[str, Any]) -> str:
    """YAML as people read it: blocks outside, the innermost lists and maps on one line."""
    return yaml.safe_dump(
        rounded(content), sort_keys=False, default_flow_style=None, width=100, allow_unicode=True
    )


@dataclass(slots=True)
class RunFile:
    """One growing file: `head` is everything but the rows."""

    folder: Path
    head: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def stem(self) -> str:
        """The name up to the hash, e.g. "video-swin-t__fp16__20261201__anna"."""
        head = self.head
        day = str(head["date"]).replace("-", "")
        return "__".join([slug(head["model"]), head["precision"], day, head["contributor"] or ANONYMOUS])

    @property
    def partial(self) -> Path:
        """Where the unfinished file lies."""
        head = self.head
        kind = "-".join([head["kind"], head["mode"], head["parallel"]])
        return self.folder / f"{self.stem}__{kind}.yaml.partial"

    def find(self, identity: Mapping[str, Any]) -> dict[str, Any] | None:
        """The finished row of this point, if there is one."""
        same = (row for row in self.rows if _is(row, identity))
        return next((row for row in same if row["status"] not in NOT_FINAL), None)

    def add(self, row: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
        """Add a row, in place of an unfinished one of the same point, and save."""
        self.rows = [*(old for old in self.rows if not _is(old, identity)), rounded(row)]
        write_atomically(self.partial, self.text())

    def text(self) -> str:
        """The file's content."""
        return dump({**self.head, "rows": self.rows})

    def finish(self) -> Path | None:
        """Give the file its name and return it; None where there is no row."""
        if not self.partial.exists():
            return None
        digits = content_hash(self.partial.read_bytes())
        final = self.folder / f"{self.stem}__{digits}.yaml"
        os.replace(self.partial, final)
        return final


def _is(row: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    """Whether a row is this point."""
    return all(row.get(key) == value for key, value in rounded(identity).items())


def content_hash(content: bytes) -> str:
    """Six hex digits of a file's content, the end of its name.

    >>> content_hash(b"schema: 1")
    '325d06'
    """
    return hashlib.sha256(content).hexdigest()[:6]


def head(
    kind: str,
    model: str,
    precision: str,
    environment: Mapping[str, Any],
    calibration: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    command: str,
    contributor: str | None = None,
    mode: str = "train",
    parallel: str = "none",
) -> dict[str, Any]:
    """Everything of a file but its rows."""
    facts = dict(environment)
    content = {
        "schema": SCHEMA,
        "kind": kind,
        "licence": LICENCE,
        "model": model,
        "precision": precision,
        "card": facts.pop("card"),
        "mode": mode,
        "parallel": parallel,
        "contributor": contributor,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": command,
        "environment": facts,
        "calibration": calibration,
        "settings": dict(settings),
    }
    return dict(rounded(content))


def open_file(root: Path, new_head: dict[str, Any], resume: bool) -> RunFile:
    """The file to write to: with `resume` the one to go on with, if there is one, else a new one."""
    folder = root / slug(new_head["card"])
    fresh = RunFile(folder, new_head)
    path = _earlier(folder, new_head) if resume else None
    file = fresh if path is None else _read(path) or fresh
    if file.partial.exists() and file.partial != path:
        raise FileInTheWay(_in_the_way(file.partial, resume))
    if path is not None and path != file.partial:
        os.replace(path, file.partial)  # a finished file becomes the unfinished one, in one step
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)
    return file


def _in_the_way(partial: Path, resume: bool) -> str:
    if resume:
        return (
            f"{partial} was begun on another set-up (card, driver, torch or settings) and cannot "
            "be continued here; move it away to begin anew"
        )
    return (
        f"{partial} holds an unfinished run; add --resume to go on with it, "
        "or move it away to begin anew"
    )


def _earlier(folder: Path, new_head: Mapping[str, Any]) -> Path | None:
    """The newest file that may be continued; unfinished ones before finished ones."""
    first = "__".join([slug(new_head["model"]), new_head["precision"], ""])
    paths = [*folder.glob(f"{first}*.yaml"), *folder.glob(f"{first}*.yaml.partial")]
    found = [path for path in paths if (file := _read(path)) and same_run(file.head, new_head)]
    newest_last = sorted(found, key=lambda path: (path.suffix == ".partial", path.stat().st_mtime))
    return newest_last[-1] if newest_last else None


def same_run(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two files measure the same thing on the same set-up."""
    here, there = one["environment"], other["environment"]
    return all(one.get(key) == other.get(key) for key in SAME) and all(
        here.get(key) == there.get(key) for key in SAME_ENVIRONMENT
    )


def _read(path: Path) -> RunFile | None:
    """A file as it was written, or None where it is none of ours."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        rows = content.pop("rows")
        return RunFile(path.parent, content, rows) if content["environment"] else None
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError):
        return None
