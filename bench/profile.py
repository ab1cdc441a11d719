"""python -m bench profile: trace a model at every setting, write measurements/models/<id>.yaml.

One affine trace per setting holds for every batch (see `bench.trace`). What is arithmetic is left
out: optimizer state, EMA, DDP buckets and accumulation are added in calc. The traced step is
therefore that of plain SGD, which keeps no state and makes no copies.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import importlib.metadata
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml

from bench.envelope import Moment, accumulate_lines, gradients_bytes, mib, step_lines, timeline
from bench.held import allocator_table
from bench.models import MODELS, ModelSpec, find
from bench.step import StepConfig
from bench.trace import Trace, Work, trace_step

FOLDER = Path(__file__).resolve().parent.parent / "measurements" / "models"
TRACED_AS = {"fp32": "fp32", "amp": "fp16", "bf16-pure": "bf16-pure"}  # profile key: precision
GIB = 2**30
DIGITS = 4  # significant, of work


class At(NamedTuple):
    """A setting that is traced, as it stands in the file."""

    frames: int
    size: int
    precision: str  # fp32 | amp | bf16-pure
    checkpointing: str
    attention: str
    trainable: str

    def config(self, model: str) -> StepConfig:
        """The step to trace."""
        return StepConfig(
            model, self.frames, self.size, 1, TRACED_AS[self.precision], self.checkpointing,
            self.attention, "sgd-plain", self.trainable,
        )  # fmt: skip


def settings(spec: ModelSpec) -> Iterator[At]:
    """Every setting of a model: each shape four ways, and at the published size all the others."""
    usual = spec.attention[0]
    for frames, size in spec.shapes():
        for precision in ("amp", "fp32"):
            for checkpointing in ("none", "block"):
                yield At(frames, size, precision, checkpointing, usual, "full")
        if size == spec.reference[1]:
            yield from _others(spec, frames, size)


def _others(spec: ModelSpec, frames: int, size: int) -> Iterator[At]:
    usual = spec.attention[0]
    for checkpointing in ("none", "block"):
        yield At(frames, size, "bf16-pure", checkpointing, usual, "full")
    yield At(frames, size, "amp", "wrapper", usual, "full")
    for precision in ("amp", "fp32"):
        if spec.head:
            yield At(frames, size, precision, "none", usual, "head")
        for attention in spec.attention[1:]:
            for checkpointing in ("none", "block"):
                yield At(frames, size, precision, checkpointing, attention, "full")


def profile_point(at: At, trace: Trace, weights_mib: float | None = None) -> dict[str, Any]:
    """The entry of one setting under `points`.

    weights_mib: what the profile states for the model. Position embeddings that are larger at this
    shape than at the published one are added to the fixed activations.
    """
    extra_mib = 0.0 if weights_mib is None else _weights_mib(trace) - weights_mib

    def row(line: Moment) -> list[str | float]:
        phase, gradients, activations, *rest = line.row()
        return [phase, gradients, round(float(activations) + extra_mib, 2), *rest]

    return {
        "at": list(at),
        "step": [row(line) for line in step_lines(trace)],
        "accumulate": [row(line) for line in accumulate_lines(trace)],
        "work": {kind: _work_row(work) for kind, work in sorted(trace.work.items())},
    }


def _work_row(work: Work) -> list[float]:
    """[GFLOP fixed, GFLOP per clip, GiB fixed, GiB per clip, kernels]."""
    amounts = (
        work.flops / 1e9, work.flops_per_clip / 1e9, work.bytes / GIB, work.bytes_per_clip / GIB
    )  # fmt: skip
    return [*(_short(amount) for amount in amounts), work.kernels]


def _short(value: float) -> float:
    """DIGITS significant digits, whole numbers without a point.

    >>> _short(205.13671), _short(0.0), _short(123456.7)
    (205.1, 0, 123500)
    """
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded


def profile(
    spec: ModelSpec,
    wanted: Sequence[At] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The whole profile of a model as plain data; `wanted` restricts the settings."""
    points, timelines, params = [], [], 0  # the first setting is the published one
    weights, gradients, trainable = {}, {}, {}
    chosen = list(settings(spec)) if wanted is None else list(wanted)
    for number, at in enumerate(chosen, 1):
        trace = trace_step(at.config(spec.id), affine=True)
        base_mib = weights.setdefault(at.precision, _weights_mib(trace))
        points.append(profile_point(at, trace, base_mib))
        if at[:2] == spec.reference and at.precision != "bf16-pure" and _ordinary(at):
            ends, fixed, per_clip = timeline(trace)
            timelines.append(
                {"at": list(at), "phase_ends": ends, "fixed_mib": fixed, "per_clip_mib": per_clip}
            )
        gradients.setdefault(at.trainable, {}).setdefault(at.precision, mib(gradients_bytes(trace)))
        trained = {"params": trace.trained_params, "tensors": trace.trained_tensors}
        trainable.setdefault(at.trainable, trained)
        params = params or trace.params
        tell(f"{spec.id} {number}/{len(chosen)}")
    _derive_gradients(gradients)
    return {
        "schema": 1,
        "model": spec.id,
        "title": spec.title,
        "family": spec.family,
        "source": spec.source,
        "input": {"channels": 3, "layout": spec.layout},
        "attention": list(spec.attention),
        "params": params,
        "trainable": trainable,
        "weights_mib": weights,
        "gradients_mib": gradients,
        "traced": _traced(spec),
        "points": points,
        "allocator": allocator_table(spec) if wanted is None else [],
        "timelines": timelines,
    }


def with_allocator(spec: ModelSpec, path: Path) -> dict[str, Any]:
    """The profile in a file with a new table of the allocator."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    timelines = found.pop("timelines")
    return {**found, "allocator": allocator_table(spec), "timelines": timelines}


def _ordinary(at: At) -> bool:
    return at.trainable == "full" and at.checkpointing != "wrapper"


def _derive_gradients(gradients: dict[str, dict[str, float]]) -> None:
    """bf16 gradients of a head, which has no trace of its own: half of its fp32 gradients."""
    for by_precision in gradients.values():
        if "fp32" in by_precision:
            by_precision.setdefault("bf16-pure", round(by_precision["fp32"] / 2, 2))


def _weights_mib(trace: Trace) -> float:
    return mib(sum(event.bytes_at(1) for event in trace.resident if event.category == "weight"))


def _traced(spec: ModelSpec) -> dict[str, str]:
    """Versions, date and the command that makes the file again."""
    return {
        "torch": torch.__version__.split("+")[0],
        "library": f"{spec.library} {importlib.metadata.version(spec.library)}",
        "date": datetime.date.today().isoformat(),
        "command": f"python -m bench profile --model {spec.id}",
    }


# The file


def render(profile: dict[str, Any]) -> str:
    """The YAML text of a profile: one line per field, points and timelines as lists."""
    lines = ["# Traced on meta tensors; made by the command under `traced`, not by hand. CC0-1.0."]
    for key, value in profile.items():
        if key in ("points", "timelines") and value:
            lines += [f"{key}:", *_items(value)]
        elif key == "allocator" and value:
            lines += [f"{key}:", *(f"- {_flow(row)}" for row in value)]
        else:
            lines.append(f"{key}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _items(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for position, (key, value) in enumerate(entry.items()):
            yield f"{'- ' if position == 0 else '  '}{key}: {_flow(value)}"


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**9)
    return text.removesuffix("...\n").strip()


# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `profile`."""
    parser.add_argument("--model", action="append", choices=sorted(MODELS), metavar="ID",
                        help="model to trace; again for more; default: every model")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, help="models traced at once (default 1)")
    parser.add_argument("--allocator-only", action="store_true",
                        help="replay the allocator again, keep the points of the file")  # fmt: skip
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files go")


def main(args: argparse.Namespace) -> int:
    """Write one file per model."""
    models = args.model or list(MODELS)
    args.folder.mkdir(parents=True, exist_ok=True)
    work = [(model, args.folder, args.allocator_only) for model in models]
    if args.jobs == 1:
        results = map(_write, work)
        done = [print(line, flush=True) for line in results]
    else:
        with multiprocessing.get_context("spawn").Pool(args.jobs, maxtasksperchild=1) as pool:
            done = [print(line, flush=True) for line in pool.imap_unordered(_write, work)]
    return 0 if len(done) == len(models) else 1


def _write(job: tuple[str, Path, bool]) -> str:
    """Trace one model and write its file; the line to print."""
    model, folder, allocator_only = job
    path = folder / f"{model}.yaml"
    torch.set_num_threads(1)
    began = time.monotonic()
    spec = find(model)
    trace_step(next(settings(spec)).config(model), affine=True)
    gc.collect()
    gc.freeze()  # the libraries stay; collections between traces are quick
    found = with_allocator(spec, path) if allocator_only else profile(spec)
    text = render(found)
    path.write_text(text, encoding="utf-8")
    seconds = time.monotonic() - began
    return f"{model}: {len(found['points'])} points, {len(text) // 1024} kB, {seconds:.0f} s"


if __name__ == "__main__":
    sys.exit("run it as: python -m bench profile")
