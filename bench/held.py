"""What the allocator of a card holds for a model: the table `allocator` of a profile.

Traces are replayed through `bench.allocator` at batches that bring the peak to the capacity of real
cards, since that is where the question is asked; the table keeps the lowest, median and highest
ratio to allocated over batches and frame counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench.allocator import Footprint, Settings, footprint, spread
from bench.envelope import peak
from bench.models import ModelSpec
from bench.step import StepConfig
from bench.trace import MIB, Trace, trace_step

TARGETS_GIB = (21, 37, 74)  # filled by the peak on cards of 24, 40 and 80 GB
NEIGHBOUR_GIB = TARGETS_GIB[:1]  # for the traced frame count next to the published one
MANY = 1000  # a batch far enough from 1 to measure the slope with
SEGMENTS = {"default": Settings(), "expandable": Settings(expandable=True)}
TRACED_AS = {"fp32": "fp32", "amp": "fp16", "bf16-pure": "bf16-pure"}


def allocator_table(spec: ModelSpec) -> list[dict[str, Any]]:
    """Rows of the table, one for each precision, checkpointing, attention and kind of segments."""
    rows = []
    for precision, checkpointing, attention in _ways(spec):
        way = {"precision": precision, "checkpointing": checkpointing, "attention": attention}
        cases = list(_cases(spec, TRACED_AS[precision], checkpointing, attention))
        for segments, settings in SEGMENTS.items():
            found = [footprint(trace, batch, settings) for trace, batch in cases]
            rows.append({**way, "segments": segments, **_ratios(found)})
    return rows


def _cases(
    spec: ModelSpec, precision: str, checkpointing: str, attention: str
) -> Iterator[tuple[Trace, int]]:
    """Traces and the batches to replay them at: the published clip, and its neighbour in time."""
    published, size = spec.reference
    nearest = sorted({published, *spec.frames}, key=lambda frames: abs(frames - published))
    for frames, targets in zip(nearest, (TARGETS_GIB, NEIGHBOUR_GIB), strict=False):
        config = StepConfig(spec.id, frames, size, 1, precision, checkpointing, attention)
        trace = trace_step(config, affine=True)
        yield from ((trace, batch) for batch in batches(trace, targets))


def _ways(spec: ModelSpec) -> Iterator[tuple[str, str, str]]:
    for attention in spec.attention:
        for precision in ("amp", "fp32"):
            for checkpointing in ("none", "block"):
                yield precision, checkpointing, attention
    for checkpointing in ("none", "block"):
        yield "bf16-pure", checkpointing, spec.attention[0]


def batches(trace: Trace, targets_gib: Sequence[int] = TARGETS_GIB) -> list[int]:
    """Batches whose peak comes just under each target; 1 where even one clip exceeds them all."""
    one = peak(trace, 1).mib
    per_clip = (peak(trace, MANY).mib - one) / (MANY - 1)
    room = [target * 1024 - one for target in targets_gib]
    return sorted({1 + int(mib / per_clip) for mib in room if mib >= 0}) or [1]


def _ratios(found: list[Footprint]) -> dict[str, list[float]]:
    """[low, mid, high] of the remainders of blocks (MiB) that PyTorch counts as allocated, and of
    reserved, cap and calm as multiples of allocated with those remainders.
    """
    values = {"rounding_mib": [(f.counted - f.allocated) / MIB for f in found]}
    for name in ("reserved", "cap", "calm"):
        values[name] = [max(1.0, getattr(f, name) / f.counted) for f in found]
    return {name: [round(v, 3) for v in spread(numbers)] for name, numbers in values.items()}
