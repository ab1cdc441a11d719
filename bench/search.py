"""`bench max-batch`: the largest batch that trains, under the card's memory or a smaller limit.

Bisection with a fresh process per probe. A probe is a dozen steps: a limit that survives two can
fail in the third, when the allocator's blocks no longer fit together. The largest batch and the
step below it are then measured like any other point, and the file keeps both and the smallest
batch that failed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from bench import plan, run
from bench.environment import pick_device
from bench.point import Limits, Point
from bench.progress import Progress
from bench.record import RunFile
from calc.runs import Row

PROBE = Limits(warm_up_s=0.0, steps=12, least_s=0.0, seconds=600.0)
RUNS = ("ok", "unstable")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `max-batch`."""
    plan.add_point_arguments(parser, many=False)
    parser.add_argument("--start", type=int, default=1, help="first batch to try")
    parser.add_argument("--step", type=int, default=1, help="search multiples of this batch")
    parser.add_argument("--limit", type=int, default=4096, help="largest batch to try")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    run.add_file_arguments(parser)
    plan.add_limit_arguments(parser)


def largest(fits: Callable[[int], bool], start: int, step: int, limit: int) -> int:
    """The largest multiple of `step` up to `limit` that fits, 0 if none does.

    Doubles from `start` until a batch fails, then bisects; each batch is asked at most once.

    >>> largest(lambda batch: batch <= 37, start=1, step=1, limit=4096)
    37
    """
    known: dict[int, bool] = {}

    def ask(count: int) -> bool:
        if count not in known:
            known[count] = fits(count * step)
        return known[count]

    most = limit // step
    low, high = 0, max(1, min(start // step, most))
    while high <= most and ask(high):
        low, high = high, min(2 * high, most) if high < most else most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ask(middle) else (low, middle)
    return low * step


def main(args: argparse.Namespace) -> int:
    """Search, measure what was found, print it."""
    device = pick_device(args.device)
    args.mode, args.video_dir, args.workers, args.parallel = "train", None, 0, "ddp"
    setting = {
        "model": plan.builder_name(args.builder) if args.builder else args.model or "video-swin-t",
        "precision": args.precision or "fp16",
        "checkpointing": args.checkpointing or "none",
        "frames": args.frames,
        "size": args.size,
        "batch": 1,
    }
    point = plan.point(args, device, **setting)
    machine = run.describe_machine(device)
    with run.stop_signals(), Progress(0) as progress:
        try:
            with run.growing_file(args, point, machine, progress) as file:
                found = Search(file, point, progress).run(args.start, args.step, args.limit)
        except KeyboardInterrupt:
            return run.INTERRUPTED
        except run.GpuBroken as error:
            progress.say(f"Stopped: {error}")
            return run.STOPPED
    print(json.dumps(found) if args.json else words_of(point, found))
    return 0


class Search:
    """The probes of one search, and the file that keeps what they show."""

    def __init__(self, file: RunFile, point: Point, progress: Progress) -> None:
        self.file = file
        self.point = point
        self.progress = progress

    def run(self, start: int, step: int, limit: int) -> dict[str, Any]:
        """Find the largest batch; batch, memory and speed of it, and of the step below."""
        batch = largest(self.fits, start, step, limit)
        while batch > 0 and self.measured(batch).status not in RUNS:
            batch -= step  # it ran a dozen steps but not the whole measurement
        below = batch - step
        rows = [self.measured(other) for other in (batch, below) if other > 0]
        return {
            "model": self.point.model,
            "memory_limit_gib": self.point.memory_limit_gib,
            "max_batch": batch,
            "rows": [_result(row) for row in rows],
        }

    def fits(self, batch: int) -> bool:
        """Whether a batch trains for a dozen steps; known rows of the file are not probed again."""
        known = self.file.find(self.at(batch).row("ok"))
        if known is not None and known.status != "failed":
            return known.status in RUNS
        self.progress.doing(f"trying batch {batch}")
        probe = self.at(batch).replace(limits=PROBE)
        measured = run.to_measured(probe, run.measure_alone(probe, lambda message: None))
        self.progress.say(
            f"batch {batch}: {'fits' if measured.row.status in RUNS else measured.row.note}"
        )
        if measured.row.status in RUNS:
            return True
        self.file.add(measured.row)
        if measured.broken:
            raise run.GpuBroken(measured.row.note)
        if measured.row.status == "failed":
            raise ValueError(f"batch {batch} does not run: {measured.row.note}")
        return False

    def measured(self, batch: int) -> Row:
        """The row of a batch, measured in full."""
        point = self.at(batch)
        return self.file.find(point.row("ok")) or run.measure_point(
            self.file, point, run.measure_alone, self.progress
        )

    def at(self, batch: int) -> Point:
        """The point at another batch."""
        return self.point.replace(batch=batch)


def _result(row: Row) -> dict[str, Any]:
    """A row's main figures."""
    return {
        "batch": row.batch,
        "status": row.status,
        "clips_per_s": row.time and row.time.clips_per_s,
        "allocated_mib": row.memory
        and max(row.memory.first_allocated_mib, row.memory.allocated_mib),
        "reserved_mib": row.memory and max(row.memory.first_reserved_mib, row.memory.reserved_mib),
    }


def words_of(point: Point, found: dict[str, Any]) -> str:
    """The result in sentences."""
    limit = f" within {point.memory_limit_gib:g} GiB" if point.memory_limit_gib else ""
    setting = point.replace(batch=max(1, found["max_batch"])).text()
    if not found["max_batch"]:
        return f"{setting}: not even batch 1 trains{limit}"
    lines = [f"largest batch {found['max_batch']}{limit}: {setting}"]
    for row in found["rows"]:
        memory = "memory not measured" if row["allocated_mib"] is None else _memory_words(row)
        lines.append(f"  batch {row['batch']}: {row['clips_per_s']:.4g} clips/s, {memory}")
    return "\n".join(lines)


def _memory_words(row: dict[str, Any]) -> str:
    allocated_gib, reserved_gib = row["allocated_mib"] / 1024, row["reserved_mib"] / 1024
    return f"{allocated_gib:.2f} GiB allocated, {reserved_gib:.2f} GiB reserved"
