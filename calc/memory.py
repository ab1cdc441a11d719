"""Memory of one GPU at the peak of a training step, in named parts, with its range.

The trace gives the candidates for the peak, each a straight line in the micro-batch. What a trace
need not be repeated for is added here: optimizer state and step, DDP buckets, sharding, EMA.
Inside this module memory is counted in MiB (2^20 bytes); results are in GiB (2^30).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from calc import calibration
from calc.estimate import Range
from calc.job import Job
from calc.profile import (
    PRECISION_KEY,
    AllocatorRatio,
    Line,
    ModelProfile,
    Setting,
    attention,
    point,
    setting,
)

MIB = 2**20

PHASES = ("forward", "backward", "optimizer")
"""The phases of a step, in their order."""

PARTS = (
    "weights", "gradients", "optimizer", "activations", "temporaries",
    "ddp_buckets", "ema", "extra", "calibration",
)  # fmt: skip
"""The parts of the allocated peak, in the order in which they are stacked."""

STATE_BYTES: Mapping[str, float] = {
    "adamw": 8,  # two fp32 averages, torch.optim.AdamW
    "adamw-fused": 8,
    "adamw8bit": 2 + 2 * 4 / 256,  # two bytes, and an fp32 scale per block of 256 for each
    "lion": 4,  # one average, timm.optim.Lion
    "sgd": 4,  # momentum, torch.optim.SGD
    "sgd-plain": 0,
}
"""Optimizer state in bytes per trainable fp32 parameter, as the optimizers' sources allocate it;
half of it where weights are bf16, but for 8-bit. Adafactor is below."""

ADAFACTOR_BYTES = 0.03
ADAFACTOR_CONV_BYTES: Mapping[str, float] = {
    "resnet3d": 4.1, "resnet2d": 5.2, "slowfast": 6.0, "s3d": 5.9, "x3d": 6.0, "csn": 7.6,
}  # fmt: skip
"""torch.optim.Adafactor keeps a row and a column over the last two dimensions of each tensor: next
to nothing for a matrix (0.016 to 0.039 bytes a parameter over Video Swin, TimeSformer, VideoMAE,
ViViT, MViT), much for convolutions, whose last two dimensions are the kernel (counted from the
shapes of one model per family)."""

STEP_COPIES: Mapping[str, float] = {
    "adamw": 1,  # foreach: square roots of the second average
    "adamw-fused": 0,
    "adamw8bit": 0,
    "adafactor": 1,  # foreach: the update
    "lion": 1,  # foreach: the update
    "sgd": 1,  # foreach with weight decay: gradient plus decay
    "sgd-plain": 1,
}
"""Copies of the trainable weights that the optimizer makes while it steps, read off the sources of
torch 2.14, timm 1 and bitsandbytes 0.50. Clipping (foreach) works in place: only norms are new."""

NORM_BYTES_PER_TENSOR = 512
"""Gradient clipping keeps one norm per tensor, each in the smallest block of the allocator."""

UNSHARDED_SHARE = 0.25
"""FSDP holds the block it computes and the next one whole: taken as a quarter of the weights."""

RATIO_UNKNOWN = AllocatorRatio(
    "", "", "", "", reserved=(1.02, 1.10, 1.20), cap=(1.0, 1.06, 1.12), calm=(1.02, 1.08, 1.18),
    rounding_mib=(20.0, 40.0, 80.0),
)  # fmt: skip
"""Where no replay of the allocator was made: the span of replays of Video Swin-T, and of block
remainders over 70 published rows."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Memory of one GPU, all in GiB.

    allocated: peak of live tensors; reserved: what the allocator holds then (nvidia-smi shows this
    and the context); cap: smallest limit that works; calm: smallest limit without retries.
    parts_gib: parts of allocated.mid, keys PARTS; phase: where the peak is; basis: formula |
    corrected | measured.
    """

    allocated: Range
    reserved: Range
    cap: Range
    calm: Range
    parts_gib: Mapping[str, float]
    phase: str
    basis: str


@dataclass(frozen=True, slots=True)
class Factors:
    """low, mid and high of a figure as multiples of allocated.mid."""

    low: float
    mid: float
    high: float

    def of(self, mid_gib: float) -> Range:
        """The range around a peak in GiB."""
        return Range(self.low * mid_gib, self.mid * mid_gib, self.high * mid_gib)


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """Memory of one job on one GPU of `count`, for any micro-batch.

    lines: candidates for the peak with everything that is not resident; resident_mib: parts that
    are there all the time; add_mib, scale: block remainders and calibration of the traced sum.
    """

    lines: tuple[Line, ...]
    resident_mib: Mapping[str, float]
    base_mib: float
    add_mib: float
    scale: float
    allocated: Factors
    reserved: Factors
    cap: Factors
    calm: Factors
    ratio: AllocatorRatio
    basis: str

    def moved(self, by: float, low: float, high: float, basis: str) -> MemoryModel:
        """The model moved by measurements: mid times `by`, with a new range around it."""
        allocated, reserved, cap, calm = _factors(low, high, self.ratio)
        return replace(
            self, add_mib=by * self.add_mib, scale=by * self.scale, allocated=allocated,
            reserved=reserved, cap=cap, calm=calm, basis=basis,
        )  # fmt: skip

    def with_lines(self, lines: tuple[Line, ...]) -> MemoryModel:
        """The model with other candidates for the peak."""
        return MemoryModel(
            lines, self.resident_mib, self.base_mib, self.add_mib, self.scale, self.allocated,
            self.reserved, self.cap, self.calm, self.ratio, self.basis,
        )  # fmt: skip

    def peak_gib(self, micro_batch: float) -> float:
        """allocated.mid in GiB."""
        top = max(line.mib(micro_batch) for line in self.lines)
        return (self.add_mib + self.scale * (self.base_mib + top)) / 1024

    def largest(self, limit_gib: float, factor: float) -> int:
        """Largest micro-batch for which factor * allocated.mid stays within limit_gib."""
        room = (limit_gib * 1024 / factor - self.add_mib) / self.scale - self.base_mib
        return max(0, min(_clips(line, room) for line in self.lines))

    def estimate(self, micro_batch: int) -> MemoryEstimate:
        """The estimate in full."""
        line = max(self.lines, key=lambda candidate: candidate.mib(micro_batch))
        parts = _parts_gib(self, line, micro_batch)
        mid = sum(parts.values())
        return MemoryEstimate(
            self.allocated.of(mid), self.reserved.of(mid), self.cap.of(mid), self.calm.of(mid),
            parts, line.phase, self.basis,
        )  # fmt: skip


def estimate(
    job: Job, profile: ModelProfile, micro_batch: int, accumulation: int = 1, count: int = 1
) -> MemoryEstimate:
    """Memory at `micro_batch` clips per GPU, `accumulation` micro-batches a step, `count` GPUs."""
    return model(job, profile, accumulation, count).estimate(micro_batch)


def model(job: Job, profile: ModelProfile, accumulation: int = 1, count: int = 1) -> MemoryModel:
    """Everything about a job's memory but the micro-batch."""
    traced = point(job, profile)
    view = job.bucket_view and count > 1 and job.sharding == "ddp"
    lines = traced.accumulate if accumulation > 1 or view else traced.step
    resident = _resident_mib(job, profile, count)
    known = calibration.memory(profile.family, PRECISION_KEY[job.precision])
    ratio = _allocator_ratio(job, profile)
    allocated, reserved, cap, calm = _factors(known.low, known.high, ratio)
    return MemoryModel(
        lines=_on_gpu(job, profile, lines, count),
        resident_mib=resident,
        base_mib=sum(resident.values()),
        add_mib=known.add_mib + ratio.rounding_mib[1],
        scale=known.scale,
        allocated=allocated,
        reserved=reserved,
        cap=cap,
        calm=calm,
        ratio=ratio,
        basis="formula",
    )


def accumulating(memory: MemoryModel, job: Job, profile: ModelProfile, count: int) -> MemoryModel:
    """The same with gradients that are kept from one micro-batch to the next."""
    return memory.with_lines(_on_gpu(job, profile, point(job, profile).accumulate, count))


@dataclass(frozen=True, slots=True)
class StepMemory:
    """Memory of one GPU through one step, GiB, everything included, at evenly spaced events.

    phase_ends: share of the events where forward, backward and the optimizer (PHASES) end.
    """

    phase_ends: tuple[float, float, float]
    gib: tuple[float, ...]

    @property
    def progress(self) -> tuple[float, ...]:
        """The moments as shares of the step, 0 to 1.

        >>> StepMemory((0.3, 0.9, 1.0), (1.0, 4.0, 2.0)).progress
        (0.0, 0.5, 1.0)
        """
        last = max(1, len(self.gib) - 1)
        return tuple(moment / last for moment in range(len(self.gib)))

    @property
    def peak_phase(self) -> str:
        """The one of PHASES that the largest moment lies in.

        >>> StepMemory((0.3, 0.9, 1.0), (1.0, 4.0, 2.0)).peak_phase
        'backward'
        """
        peak = self.progress[max(range(len(self.gib)), key=lambda moment: self.gib[moment])]
        phases = zip(PHASES, self.phase_ends, strict=True)
        return next((phase for phase, end in phases if peak <= end), PHASES[-1])


def timeline(
    job: Job, profile: ModelProfile, micro_batch: int, accumulation: int = 1, count: int = 1
) -> StepMemory | None:
    """Memory of one GPU of `count` through one step, scaled to the peak that `estimate` gives.

    None where no timeline was traced.
    """
    at = setting(job, profile)
    found = next((line for line in profile.timelines if _same_way(line.at, at)), None)
    if found is None:
        return None
    memory = model(job, profile, accumulation, count)
    moving = [fixed + clip * micro_batch for fixed, clip in
              zip(found.fixed_mib, found.per_clip_mib, strict=True)]  # fmt: skip
    base_gib = memory.base_mib / 1024
    room_gib = memory.peak_gib(micro_batch) - base_gib
    top = max(moving)
    gib = tuple(base_gib + value / top * room_gib for value in moving)
    return StepMemory(found.phase_ends, gib)


def _same_way(a: Setting, b: Setting) -> bool:
    keys = ("precision", "checkpointing", "attention", "trainable")
    return all(getattr(a, key) == getattr(b, key) for key in keys)


def _resident_mib(job: Job, profile: ModelProfile, count: int) -> dict[str, float]:
    """Parts that are there from the first to the last moment of a step, MiB of one GPU."""
    key = PRECISION_KEY[job.precision]
    weights = profile.weights_mib[key]
    shard = 1 if job.sharding == "ddp" else count
    buckets = count > 1 and shard == 1 and not job.bucket_view
    return {
        "weights": _weights_mib(job, weights, count),
        "optimizer": _state_mib(job, profile) / shard,
        "ddp_buckets": profile.gradients_mib[job.trainable][key] if buckets else 0.0,
        "ema": weights / shard if job.ema else 0.0,
        "extra": job.extra_gib * 1024,
    }


def _weights_mib(job: Job, weights_mib: float, count: int) -> float:
    """Weights on one GPU: whole, or a share and what is gathered at a time."""
    if count == 1 or job.sharding == "ddp":
        return weights_mib
    gathered = 1.0 if job.sharding == "zero2" else UNSHARDED_SHARE
    return weights_mib * min(1.0, 1 / count + gathered)


def _state_mib(job: Job, profile: ModelProfile) -> float:
    """Optimizer state of all trainable parameters."""
    half = 0.5 if job.precision == "bf16-pure" and job.optimizer != "adamw8bit" else 1.0
    state_bytes = _state_bytes(job.optimizer, profile.family)
    return state_bytes * half * profile.trainable[job.trainable].params / MIB


def _state_bytes(optimizer: str, family: str) -> float:
    """Optimizer state in bytes per trainable fp32 parameter."""
    if optimizer == "adafactor":
        return ADAFACTOR_CONV_BYTES.get(family, ADAFACTOR_BYTES)
    return STATE_BYTES[optimizer]


def _on_gpu(
    job: Job, profile: ModelProfile, lines: tuple[Line, ...], count: int
) -> tuple[Line, ...]:
    """Traced candidates on one GPU: gradients sharded, the optimizer's copies added."""
    if job.sharding == "ddp" or count == 1:
        copies = _step_copy_mib(job, profile)
        return tuple(
            _with_more(line, copies) if line.phase == "optimizer" else line for line in lines
        )
    copies = _step_copy_mib(job, profile) / count
    return tuple(_sharded(line, copies, count) for line in lines)


def _with_more(line: Line, more_mib: float) -> Line:
    """The same moment with more temporaries."""
    return Line(
        line.phase, line.gradients_mib, line.activations_mib, line.activations_mib_per_clip,
        line.temporaries_mib + more_mib, line.temporaries_mib_per_clip,
    )  # fmt: skip


def _sharded(line: Line, copies_mib: float, count: int) -> Line:
    """The same moment with a share of the gradients, and those of a block whole."""
    gathered = UNSHARDED_SHARE * line.gradients_mib
    more = gathered + (copies_mib if line.phase == "optimizer" else 0.0)
    return Line(
        line.phase, line.gradients_mib / count, line.activations_mib,
        line.activations_mib_per_clip, line.temporaries_mib + more, line.temporaries_mib_per_clip,
    )  # fmt: skip


def _step_copy_mib(job: Job, profile: ModelProfile) -> float:
    """What the optimizer holds besides weights, gradients and state while it steps."""
    gradients = profile.gradients_mib[job.trainable][PRECISION_KEY[job.precision]]
    norms = NORM_BYTES_PER_TENSOR * profile.trainable[job.trainable].tensors / MIB
    return STEP_COPIES[job.optimizer] * gradients + (norms if job.clip_grad else 0.0)


def _allocator_ratio(job: Job, profile: ModelProfile) -> AllocatorRatio:
    segments = "expandable" if job.expandable_segments else "default"
    wanted = (PRECISION_KEY[job.precision], job.checkpointing, attention(job, profile), segments)
    for ratio in profile.allocator:
        if (ratio.precision, ratio.checkpointing, ratio.attention, ratio.segments) == wanted:
            return ratio
    return RATIO_UNKNOWN


@cache
def _factors(
    low: float, high: float, ratio: AllocatorRatio
) -> tuple[Factors, Factors, Factors, Factors]:
    """allocated, reserved, cap, calm as multiples of allocated.mid."""
    allocated = Factors(low, 1.0, high)
    cap = _at_least(allocated, _combined(allocated, ratio.cap))
    reserved = _at_least(allocated, _combined(allocated, ratio.reserved))
    return allocated, reserved, cap, _at_least(cap, _combined(allocated, ratio.calm))


def _combined(allocated: Factors, ratio: tuple[float, float, float]) -> Factors:
    """Factors of a ratio on top of allocated: two independent errors, added as squares of logs."""
    low, mid, high = ratio
    down = math.hypot(math.log(allocated.low), math.log(low / mid))
    up = math.hypot(math.log(allocated.high), math.log(high / mid))
    return Factors(mid * math.exp(-down), mid, mid * math.exp(up))


def _at_least(floor: Factors, wanted: Factors) -> Factors:
    """`wanted`, raised where it lies below `floor`."""
    pairs = ((floor.low, wanted.low), (floor.mid, wanted.mid), (floor.high, wanted.high))
    return Factors(*(max(pair) for pair in pairs))


def _clips(line: Line, room_mib: float) -> int:
    """Largest batch at which a candidate stays within room_mib; 0 where not even one clip does."""
    if line.mib_per_clip <= 0:
        return 0 if line.fixed_mib > room_mib else 10**6
    return math.floor((room_mib - line.fixed_mib) / line.mib_per_clip)


def _parts_gib(memory: MemoryModel, line: Line, micro_batch: int) -> dict[str, float]:
    mib = {
        **memory.resident_mib,
        "gradients": line.gradients_mib,
        "activations": line.activations_mib + line.activations_mib_per_clip * micro_batch,
        "temporaries": line.temporaries_mib + line.temporaries_mib_per_clip * micro_batch,
    }
    if mib["activations"] < 0:  # weights of this shape are fewer than those of the published one
        mib["weights"] += mib["activations"]
        mib["activations"] = 0.0
    total = sum(mib.values())
    mib["calibration"] = memory.add_mib + (memory.scale - 1) * total
    return {part: mib[part] / 1024 for part in PARTS}
