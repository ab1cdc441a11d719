"""What the tests of the measuring loop share: short limits, one thread, files in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench import record
from bench.__main__ import main
from bench.point import Limits, Point
from calc.runs import Run

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two threads on a busy machine wait for each other

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).with_name("tiny.py")
SHORT = Limits(warm_up_s=0.0, steps=3, least_s=0.0, seconds=5.0)
SHORT_FLAGS = ("--warm-up-s", "0", "--steps", "3", "--least-s", "0")


def flags(function: str, folder: Path, batches: Sequence[int] = (), *more: str) -> list[str]:
    """Flags for one of the tiny models on the CPU, in fp32 if nothing else is said."""
    words = ["--device", "cpu", "--builder", f"{TINY}:{function}", "--input", "3,4,16,16"]
    words += ["--batch", *map(str, batches)] if batches else []
    words += [] if "--precision" in more else ["--precision", "fp32"]
    return [*words, "--out", str(folder), *SHORT_FLAGS, *more]


def bench_run(function: str, folder: Path, batches: Sequence[int], *more: str) -> int:
    """`python -m bench run` in this process; its points have their own all the same."""
    return main(["run", *flags(function, folder, batches, *more)])


def point(function: str = "net", **changes: object) -> Point:
    """One short point of a tiny model."""
    tiny = Point(
        model=f"tiny-{function}", frames=4, size=16, batch=2, precision="fp32", device="cpu",
        builder=f"{TINY}:{function}", input=(3, 4, 16, 16), limits=SHORT,
    )  # fmt: skip
    return tiny.replace(**changes)


def files(folder: Path) -> list[Path]:
    """Files that a run left, temporary ones too."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def only_run(folder: Path) -> Run:
    """The one file of a folder, read as strictly as `check` reads it."""
    (path,) = files(folder)
    run = record.load(path)
    assert run is not None, path.read_text()
    return run
