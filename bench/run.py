"""`bench run`: many points, each in its own process, into one file per model and precision."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import isolate, plan, record
from bench.environment import card_of, pick_device
from bench.isolate import Outcome
from bench.point import Measured, Point
from bench.progress import Progress
from calc.runs import Calibration, Environment, Row, StepTime

STOPPED = 3  # exit code: a GPU or driver error ended the run early; what was measured is saved
INTERRUPTED = 130  # exit code of a shell after Ctrl-C
POINT_LIMIT_S = 900.0

# A process that ends so took the driver with it, or the driver took it.
BROKEN_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGBUS)

Tell = Callable[[Any], None]
Measure = Callable[[Point, Tell], Outcome]


class GpuBroken(RuntimeError):
    """The card or its driver failed: nothing measured from here on would be worth anything."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What goes into the head of every file of a run."""

    environment: Environment
    calibration: Calibration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `run`."""
    parser.add_argument("--preset", choices=plan.PRESETS, default="quick")
    plan.add_point_arguments(parser, many=True)
    parser.add_argument("--mode", choices=("train", "infer"), default="train")
    parser.add_argument("--parallel", choices=("ddp", "fsdp"), default="ddp", help="under torchrun")
    parser.add_argument(
        "--video-dir", help="folder of clips to decode, instead of synthetic tensors"
    )
    parser.add_argument("--workers", type=int, default=4, help="decoding processes for --video-dir")
    add_file_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")
    plan.add_limit_arguments(parser)


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags that say where results go."""
    parser.add_argument(
        "--contributor",
        type=record.who,
        default=record.ANONYMOUS,
        help="your GitHub handle, if you like",
    )
    parser.add_argument("--out", type=Path, help="default: measurements/runs, for a CPU runs-cpu")
    parser.add_argument(
        "--resume", action="store_true", help="go on with the files of the last run"
    )
    parser.add_argument("--retry", action="store_true", help="with --resume: failed points again")


def main(args: argparse.Namespace) -> int:
    """Measure all points of the plan on one GPU, or on all of a torchrun."""
    from bench import distributed

    device = pick_device(args.device)
    if distributed.launched():
        return distributed.main(args, device)
    return run(args, plan.points(args, device), measure_alone)


def measure_alone(point: Point, tell: Tell) -> Outcome:
    """One point in its own process."""
    return isolate.call("bench.measure:measure", point, POINT_LIMIT_S, tell)


def run(args: argparse.Namespace, points: Sequence[Point], measure: Measure, index: int = 0) -> int:
    """Measure the points into their files; the exit code."""
    print("\n".join(plan.describe(points)), flush=True)
    if args.dry_run:
        return 0
    machine = describe_machine(points[0].device, index)
    points = able(points, machine.environment)
    try:
        with stop_signals(), Progress(len(points)) as progress:
            for part in plan.files(points):
                with growing_file(args, part[0], machine, progress) as file:
                    measure_missing(file, part, measure, progress, args.retry)
    except KeyboardInterrupt:
        print("Interrupted; the same command with --resume goes on from here.", file=sys.stderr)
        return INTERRUPTED
    except GpuBroken as error:
        print(f"Stopped: {error}. What was measured before is saved.", file=sys.stderr)
        return STOPPED
    return 0


def describe_machine(device: str, index: int = 0) -> Machine:
    """Environment and calibration of the card, from a process of its own."""
    outcome = isolate.call("bench.run:describe_here", (device, index), POINT_LIMIT_S)
    if outcome.error:
        raise OSError(f"the {device} device does not answer: {outcome.error}")
    return Machine(*outcome.result)


def describe_here(where: tuple[str, int], tell: Tell) -> tuple[Environment, Calibration]:
    """The same in this process."""
    from bench import calibrate, environment

    device, index = where
    return environment.collect(device, index), calibrate.calibrate(device)


def able(points: Sequence[Point], environment: Environment) -> list[Point]:
    """The points this card can run; the others are named."""
    capability = environment.compute_capability
    kept = [point for point in points if not plan.left_out(point, capability)]
    if len(kept) < len(points):
        words = ", ".join(plan.NEEDS_AMPERE)
        print(f"{words} need compute capability 8.0, this card has {capability}: left out")
    return kept


@contextmanager
def growing_file(
    args: argparse.Namespace, point: Point, machine: Machine, progress: Progress
) -> Iterator[record.RunFile]:
    """The file for points like this one; it gets its name at the end, however the end comes."""
    new = record.new_run(
        model=point.model,
        precision=point.precision,
        card=card_of(machine.environment),
        environment=machine.environment,
        calibration=machine.calibration,
        command=public_command(args.words),
        who=args.contributor,
    )
    usual = Path("runs-cpu") if point.device == "cpu" else Path("measurements/runs")
    file = record.open_file(args.out or usual, new, args.resume)
    try:
        yield file
    finally:
        path = file.finish()
        if path is not None:
            progress.say(f"{path}: {len(file.rows)} rows")


def public_command(words: Sequence[str]) -> str:
    """The command as it can be published: of every path only the last part.

    >>> public_command(["run", "--builder", "/home/anna/net.py:build", "--batch", "4"])
    'python -m bench run --builder net.py:build --batch 4'
    """
    from bench import distributed

    start = ["python", "-m", "bench"]
    if distributed.launched():
        start = ["torchrun", f"--nproc-per-node={distributed.world_size()}", "-m", "bench"]
    return shlex.join([*start, *map(isolate.scrub, words)])


@contextmanager
def stop_signals() -> Iterator[None]:
    """Take a polite kill (job schedulers, spot machines) like Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def measure_missing(
    file: record.RunFile,
    points: Sequence[Point],
    measure: Measure,
    progress: Progress,
    retry: bool = False,
) -> None:
    """Measure what the file lacks."""
    for point in points:
        known = file.find(point.row("ok"))
        if known is None or (retry and known.status == "failed"):
            if smaller_ran_out(file, point):
                progress.say(f"{point.text()}: left out, a smaller batch ran out of memory")
            else:
                measure_point(file, point, measure, progress)
        progress.done()


def smaller_ran_out(file: record.RunFile, point: Point) -> bool:
    """Whether a smaller batch of the same setting ran out of memory."""
    wanted = point.row("ok")
    return any(
        row.status == "oom"
        and row.batch < point.batch
        and record.same_point(dataclasses.replace(row, batch=point.batch), wanted)
        for row in file.rows
    )


def measure_point(file: record.RunFile, point: Point, measure: Measure, progress: Progress) -> Row:
    """One point into the file; a broken GPU ends the run after the row is saved."""
    progress.doing(point.text())
    outcome = measure(point, lambda words: progress.doing(f"{point.text()}: {words}"))
    measured = to_measured(point, outcome)
    row = with_communication(file, point, measured.row)
    file.add(row)
    progress.say(f"{point.text()}: {words_of(row)}")
    if measured.broken:
        raise GpuBroken(row.note)
    return row


def to_measured(point: Point, outcome: Outcome) -> Measured:
    """The row of an outcome, also of one without a result."""
    if isinstance(outcome.result, Measured):
        return outcome.result
    row = point.row("failed", note=outcome.error or "no result")
    return Measured(row, broken=outcome.signal_number in BROKEN_SIGNALS)


def with_communication(file: record.RunFile, point: Point, row: Row) -> Row:
    """With the time that several GPUs add to the step of one with the same batch."""
    alone = file.find(point.replace(gpus=1, parallel="none").row("ok"))
    if point.gpus == 1 or row.time is None or alone is None or alone.time is None:
        return row
    added_ms = max(0.0, row.time.median_ms - alone.time.median_ms)
    return dataclasses.replace(row, time=dataclasses.replace(row.time, communication_ms=added_ms))


def words_of(row: Row) -> str:
    """A row in a few words, for the terminal."""
    if row.status == "failed" or row.time is None:
        return f"{row.status}{', ' + row.note if row.note else ''}"
    words = [row.status, _time_words(row.time)]
    if row.memory is not None:
        peak_gib = max(row.memory.first_allocated_mib, row.memory.allocated_mib) / 1024
        words.append(f"{peak_gib:.2f} GiB allocated")
    return ", ".join(words)


def _time_words(time: StepTime) -> str:
    spread = f"{time.p10_ms:.1f} to {time.p90_ms:.1f}"
    return f"{time.median_ms:.1f} ms a step ({spread}), {time.clips_per_s:.4g} clips/s"
