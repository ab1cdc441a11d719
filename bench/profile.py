"""python -m bench profile: trace a model at every setting, write measurements/models/<id>.yaml.

One affine trace per setting holds for every batch (see `bench.trace`). What is arithmetic is left
out: optimizer state, EMA, DDP buckets and accumulation are added in calc, and so are the copies
that an optimizer makes: the traced step is that of one that makes none.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import importlib.metadata
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
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
TRACED_AS = {"fp32": "fp32", "amp": "fp16", "amp-bf16": "bf16", "bf16-pure": "bf16-pure"}
"""Precision that is traced for a profile's key. fp16 and bf16 AMP take the same memory, but for one
thing: softmax reads fp16 scores and writes fp32 in one kernel, and copies bf16 scores to fp32
first. Where a library computes attention that way, bf16 has its own points, "amp-bf16".
"""
HALF_SOFTMAX = ("mvit", "vit")  # families whose explicit attention takes a softmax of half scores
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
            self.attention, "adamw-fused", self.trainable,
        )  # fmt: skip


def settings(spec: ModelSpec) -> Iterator[At]:
    """Every setting of a model: each shape four ways, and at the published size all the others."""
    usual = spec.attention[0]
    for frames, size in spec.shapes():
        for precision in _precisions(spec, usual):
            for checkpointing in ("none", "block"):
                yield At(frames, size, precision, checkpointing, usual, "full")
        if size == spec.reference[1]:
            yield from _others(spec, frames, size)


def _precisions(spec: ModelSpec, attention: str) -> tuple[str, ...]:
    own = attention == "eager" and spec.family in HALF_SOFTMAX
    return ("amp", "amp-bf16", "fp32") if own else ("amp", "fp32")


def _others(spec: ModelSpec, frames: int, size: int) -> Iterator[At]:
    usual = spec.attention[0]
    for checkpointing in ("none", "block"):
        yield At(frames, size, "bf16-pure", checkpointing, usual, "full")
    yield At(frames, size, "amp", "wrapper", usual, "full")
    if spec.head:
        for precision in ("amp", "fp32"):
            yield At(frames, size, precision, "none", usual, "head")
    for attention in spec.attention[1:]:
        for precision in _precisions(spec, attention):
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


@dataclass(slots=True)
class Draft:
    """What is known of a model so far; the first setting of each precision is the published one."""

    params: int = 0
    trainable: dict[str, dict[str, int]] = field(default_factory=dict)
    weights_mib: dict[str, float] = field(default_factory=dict)
    gradients_mib: dict[str, dict[str, float]] = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)
    timelines: list[dict[str, Any]] = field(default_factory=list)

    def add(self, spec: ModelSpec, at: At) -> None:
        """Trace one setting."""
        trace = trace_step(at.config(spec.id), affine=True)
        key = at.precision.removesuffix("-bf16")
        base_mib = self.weights_mib.setdefault(key, _weights_mib(trace))
        self.points.append(profile_point(at, trace, base_mib))
        if at[:2] == spec.reference and _has_timeline(at):
            self.timelines.append(_timeline_entry(at, trace))
        gradients = self.gradients_mib.setdefault(at.trainable, {})
        gradients.setdefault(key, mib(gradients_bytes(trace)))
        trained = {"params": trace.trained_params, "tensors": trace.trained_tensors}
        self.trainable.setdefault(at.trainable, trained)
        self.params = self.params or trace.params


def profile(
    spec: ModelSpec,
    wanted: Sequence[At] | None = None,
    known: dict[str, Any] | None = None,
    replay: bool = False,
) -> dict[str, Any]:
    """The profile of a model as plain data; `wanted` restricts the settings.

    known: an earlier profile; only what it lacks is traced. replay: add the allocator's table.
    """
    draft = Draft(**{f.name: known[f.name] for f in fields(Draft)}) if known else Draft()
    chosen = list(settings(spec)) if wanted is None else list(wanted)
    there = {At(*point["at"]) for point in draft.points}
    for at in chosen:
        if at not in there:
            draft.add(spec, at)
    _derive_gradients(draft.gradients_mib)
    order = {at: position for position, at in enumerate(chosen)}
    for entries in (draft.points, draft.timelines):
        entries[:] = [entry for entry in entries if At(*entry["at"]) in order]
        entries.sort(key=lambda entry: order[At(*entry["at"])])
    table = (known or {}).get("allocator") or []
    return {
        "schema": 1,
        "model": spec.id,
        "title": spec.title,
        "family": spec.family,
        "source": spec.source,
        "input": {"channels": 3, "layout": spec.layout},
        "attention": list(spec.attention),
        "params": draft.params,
        "trainable": draft.trainable,
        "weights_mib": draft.weights_mib,
        "gradients_mib": draft.gradients_mib,
        "traced": _traced(spec),
        "points": draft.points,
        "allocator": table or (allocator_table(spec) if replay else []),
        "timelines": draft.timelines,
    }


def _has_timeline(at: At) -> bool:
    usual = at.trainable == "full" and at.checkpointing != "wrapper"
    return usual and at.precision != "bf16-pure"


def _timeline_entry(at: At, trace: Trace) -> dict[str, Any]:
    ends, fixed, per_clip = timeline(trace)
    return {"at": list(at), "phase_ends": ends, "fixed_mib": fixed, "per_clip_mib": per_clip}


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
    parser.add_argument("--resume", action="store_true",
                        help="keep what the files hold, trace only what they lack")  # fmt: skip
    parser.add_argument("--no-allocator", action="store_true",
                        help="leave the allocator's table out: most of the time")  # fmt: skip
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files go")


def main(args: argparse.Namespace) -> int:
    """Write one file per model."""
    args.folder.mkdir(parents=True, exist_ok=True)
    chosen = args.model or list(MODELS)
    work = [(model, args.folder, args.resume, not args.no_allocator) for model in chosen]
    failed = False
    with multiprocessing.get_context("spawn").Pool(args.jobs, maxtasksperchild=1) as pool:
        for line, done in pool.imap_unordered(_write, work):
            print(line, flush=True)
            failed = failed or not done
    return 1 if failed else 0


def _write(job: tuple[str, Path, bool, bool]) -> tuple[str, bool]:
    """Trace one model and write its file; the line to print, and whether it went well."""
    model, folder, resume, replay = job
    path = folder / f"{model}.yaml"
    torch.set_num_threads(1)
    began = time.monotonic()
    spec = find(model)
    known = yaml.safe_load(path.read_text("utf-8")) if resume and path.exists() else None
    try:
        trace_step(next(settings(spec)).config(model), affine=True)  # loads the libraries
        gc.collect()
        gc.freeze()  # they stay; collections between traces are quick
        found = profile(spec, known=known, replay=replay)
    except Exception as error:  # the other models go on
        return f"{model}: failed: {type(error).__name__}: {error}", False
    text = render(found)
    path.write_text(text, encoding="utf-8")
    seconds = time.monotonic() - began
    return f"{model}: {len(found['points'])} points, {len(text) // 1024} kB, {seconds:.0f} s", True
