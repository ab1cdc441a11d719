"""The file of a measurement: written after every point, so that a kill at any moment loses nothing.

While points are missing it is called `<stem>.yaml.partial`. When they are all there, or the run is
interrupted, one atomic rename gives it its name, with six hex digits of its content. What a file
holds is defined in `calc/runs.py`.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from calc import schema, strict_yaml
from calc.card import slug
from calc.runs import Calibration, Environment, Row, Run, Who, file_name

BENCH_VERSION = "1"
"""Written into every file. Raise it when a change here changes measured figures."""

ANONYMOUS = "anonymous"
SIGNIFICANT_DIGITS = 5

# One file can continue another if these agree, in the file and in its environment.
SAME = ("model", "precision", "card", "who", "bench")
SAME_ENVIRONMENT = (
    "device", "gpu", "driver", "cuda", "cudnn", "torch", "libraries", "power_limit_w", "allocator",
)  # fmt: skip


class FileInTheWay(ValueError):
    """An unfinished file lies where a new one is to begin."""


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step: a kill leaves the old content or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def who(text: str) -> str:
    """A contributor's handle as files have it.

    >>> who("Anna-K")
    'anna-k'
    """
    problems: list[str] = []
    schema.plan(Who).build(text.lower(), "", lambda where, what: problems.append(str(what)))
    if problems:
        raise argparse.ArgumentTypeError(problems[0])
    return text.lower()


def tree(value: Any) -> Any:
    """A record as plain lists and mappings; defaults left out, floats at five significant digits.

    >>> tree(Calibration(160.123456, None, 900.0, 4.5))["matmul_fp16_tflops"]
    160.12
    """
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: tree(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tree(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        kept = ((field.name, getattr(value, field.name), field.default) for field in fields)
        return {name: tree(item) for name, item, default in kept if item != default}
    return value


def dump(run: Run) -> str:
    """YAML as people read it: blocks outside, the innermost lists and maps on one line."""
    return yaml.safe_dump(
        tree(run), sort_keys=False, default_flow_style=None, width=100, allow_unicode=True
    )


def load(path: Path) -> Run | None:
    """A run file, finished or not; None where it is not one."""
    try:
        content = strict_yaml.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return schema.build(Run, content, lambda where, what: None)


def same_point(one: Row, other: Row) -> bool:
    """Whether two rows measure the same thing."""
    return bool(tree(one.point) == tree(other.point))


@dataclass(slots=True)
class RunFile:
    """One growing file in the folder of its card."""

    folder: Path
    run: Run

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is measured so far."""
        return self.run.rows

    @property
    def partial(self) -> Path:
        """Where the unfinished file lies: "video-swin-t__fp16__20261201__anna.yaml.partial"."""
        run = self.run
        return (
            self.folder
            / f"{'__'.join([run.model, run.precision, _day(run), run.who])}.yaml.partial"
        )

    def find(self, wanted: Row) -> Row | None:
        """The row of this point, if there is one."""
        return next((row for row in self.rows if same_point(row, wanted)), None)

    def add(self, row: Row) -> None:
        """Add a row, in place of an older one of the same point, and save."""
        kept = tuple(old for old in self.rows if not same_point(old, row))
        self.run = dataclasses.replace(self.run, rows=(*kept, row))
        write_atomically(self.partial, dump(self.run))

    def finish(self) -> Path | None:
        """Give the file its name and return it; None where there is no row."""
        if not self.partial.exists():
            return None
        content = strict_yaml.parse(self.partial.read_text(encoding="utf-8"))
        final = self.folder / Path(file_name(content)).name
        os.replace(self.partial, final)
        return final


def _day(run: Run) -> str:
    return run.date.replace("-", "")


def new_run(
    model: str,
    precision: str,
    card: str,
    environment: Environment,
    calibration: Calibration | None,
    command: str,
    who: str = ANONYMOUS,
) -> Run:
    """A run without rows, dated today (UTC)."""
    return Run(
        schema=1,
        model=model,
        precision=precision,  # type: ignore[arg-type]
        card=card,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        who=who,
        licence="CC0-1.0",
        bench=BENCH_VERSION,
        command=command,
        environment=environment,
        calibration=calibration,
        rows=(),
    )


def open_file(root: Path, run: Run, resume: bool) -> RunFile:
    """The file to write to: with `resume` the one to go on with, if there is one."""
    folder = root / slug(run.card)
    path = _earlier(folder, run) if resume else None
    earlier = None if path is None else load(path)
    file = RunFile(folder, earlier or run)
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
            f"{partial} was begun on another set-up (card, driver, torch or power limit) and "
            "cannot be continued here; move it away to begin anew"
        )
    return (
        f"{partial} holds an unfinished run; add --resume to go on with it, "
        "or move it away to begin anew"
    )


def _earlier(folder: Path, run: Run) -> Path | None:
    """The newest file that may be continued; unfinished ones before finished ones."""
    first = f"{run.model}__{run.precision}__"
    paths = [*folder.glob(f"{first}*.yaml"), *folder.glob(f"{first}*.yaml.partial")]
    found = [path for path in paths if (other := load(path)) and same_run(run, other)]
    newest_last = sorted(found, key=lambda path: (path.suffix == ".partial", path.stat().st_mtime))
    return newest_last[-1] if newest_last else None


def same_run(one: Run, other: Run) -> bool:
    """Whether two files are of the same model and person on the same set-up."""
    return all(getattr(one, key) == getattr(other, key) for key in SAME) and all(
        tree(getattr(one.environment, key)) == tree(getattr(other.environment, key))
        for key in SAME_ENVIRONMENT
    )
