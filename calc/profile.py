"""What a trace says about a model: candidates for the memory peak, and work; affine in batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

from calc.job import Job
from calc.words import Message, Refused, inputs

PRECISION_KEY = {
    "fp32": "fp32", "tf32": "fp32", "fp16": "amp", "bf16": "amp", "bf16-pure": "bf16-pure",
}  # fmt: skip
"""Traced precision of a job's precision: fp16 and bf16 take the same bytes under AMP, but see:"""

BF16_KEY = "amp-bf16"
"""Traced apart where a model takes a softmax of half-precision scores: CUDA copies bf16 scores to
fp32 first, and fp16 scores not.
"""


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """What a trace is made for; everything else is arithmetic in calc."""

    frames: int
    size: int
    precision: str  # fp32 | amp | amp-bf16 | bf16-pure
    checkpointing: str  # none | block | wrapper
    attention: str  # sdpa | eager
    trainable: str  # full | head


@dataclass(frozen=True, slots=True)
class Line:
    """One candidate for the peak: MiB live at one moment, without weights, at batch b
    `gradients + activations + temporaries + (activations_per_clip + temporaries_per_clip) * b`.
    """

    phase: str  # forward | backward | optimizer
    gradients_mib: float
    activations_mib: float
    activations_mib_per_clip: float
    temporaries_mib: float
    temporaries_mib_per_clip: float

    @property
    def fixed_mib(self) -> float:
        """What does not grow with the batch."""
        return self.gradients_mib + self.activations_mib + self.temporaries_mib

    @property
    def mib_per_clip(self) -> float:
        """What each clip of the micro-batch adds."""
        return self.activations_mib_per_clip + self.temporaries_mib_per_clip

    def mib(self, batch: float) -> float:
        """MiB live at this moment.

        >>> Line("backward", 100.0, 10.0, 50.0, 5.0, 2.0).mib(4)
        323.0
        """
        return self.fixed_mib + self.mib_per_clip * batch


@dataclass(frozen=True, slots=True)
class Work:
    """Work of one class in one forward and backward at batch b: `fixed + per_clip * b`."""

    gflop: float
    gflop_per_clip: float
    gib: float
    gib_per_clip: float
    kernels: float


@dataclass(frozen=True, slots=True)
class Point:
    """One traced setting. `step`: gradients appear in backward; `accumulate`: they are kept."""

    step: tuple[Line, ...]
    accumulate: tuple[Line, ...]
    work: Mapping[str, Work]  # gemm_half, conv_fp32, attention_half, dwconv_half, memory ...


@dataclass(frozen=True, slots=True)
class AllocatorRatio:
    """What PyTorch's allocator makes of live tensors, each (low, mid, high) over batches.

    rounding_mib: remainders of blocks that count as allocated; reserved, cap and calm: multiples
    of allocated, those remainders included.
    """

    precision: str
    checkpointing: str
    attention: str
    segments: str  # default | expandable
    reserved: tuple[float, float, float]
    cap: tuple[float, float, float]
    calm: tuple[float, float, float]
    rounding_mib: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Memory through one step: MiB without weights, fixed and per clip, at up to 200 moments."""

    at: Setting
    phase_ends: tuple[float, float, float]
    fixed_mib: tuple[float, ...]
    per_clip_mib: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Trainable:
    """Parameters that get gradients, and in how many tensors."""

    params: int
    tensors: int


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """A model as traced; file `measurements/models/<model>.yaml`.

    attention: kinds the library can run, first is its default.
    weights_mib: parameters and buffers by traced precision; gradients_mib: by trainable, precision.
    """

    model: str
    title: str
    family: str
    source: str
    attention: tuple[str, ...]
    params: int
    trainable: Mapping[str, Trainable]
    weights_mib: Mapping[str, float]
    gradients_mib: Mapping[str, Mapping[str, float]]
    traced: Mapping[str, str]
    points: Mapping[Setting, Point]
    allocator: tuple[AllocatorRatio, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    input: Mapping[str, object] | None = None

    def frames(self) -> tuple[int, ...]:
        """Traced frame counts, rising."""
        return tuple(sorted({setting.frames for setting in self.points}))

    def sizes(self) -> tuple[int, ...]:
        """Traced edge lengths in pixels, rising."""
        return tuple(sorted({setting.size for setting in self.points}))


class NotTraced(Refused):
    """The job asks for a setting that was not traced. What to say is worked out when asked for."""

    def __init__(self, job: Job, profile: ModelProfile) -> None:
        ValueError.__init__(self, job, profile)

    @property
    def message(self) -> Message:
        """What is missing, and what was traced."""
        return _not_traced(*self.args)

    @property
    def nearest(self) -> tuple[Mapping[str, object], ...]:
        """At most three changes of inputs that lead to what was traced, the smallest first."""
        return nearest(*self.args)


def attention(job: Job, profile: ModelProfile) -> str:
    """The kind of attention that runs: the job's, or the only one the library has."""
    return job.attention if job.attention in profile.attention else profile.attention[0]


def _wanted(job: Job, profile: ModelProfile) -> Setting:
    return Setting(
        job.frames, job.size, PRECISION_KEY[job.precision],
        job.checkpointing, attention(job, profile), job.trainable,
    )  # fmt: skip


def setting(job: Job, profile: ModelProfile) -> Setting:
    """The traced setting a job asks for; NotTraced where there is none."""
    wanted = _wanted(job, profile)
    if job.precision == "bf16":
        own = dataclasses.replace(wanted, precision=BF16_KEY)
        wanted = own if own in profile.points else wanted
    if wanted not in profile.points:
        raise NotTraced(job, profile)
    return wanted


def point(job: Job, profile: ModelProfile) -> Point:
    """The traced point of a job; NotTraced where there is none."""
    return profile.points[setting(job, profile)]


INPUT_OF = {"fp32": "fp32", "amp": "fp16", BF16_KEY: "bf16", "bf16-pure": "bf16-pure"}
"""A precision to ask for, so that a traced one is taken."""

NEAREST = 3


def nearest(job: Job, profile: ModelProfile) -> tuple[Mapping[str, object], ...]:
    """At most three changes of a job's inputs that lead to a traced setting.

    None does more than another that does; those of the fewest inputs come first, then those of
    the smallest steps in frames and size.
    """
    wanted = _wanted(job, profile)
    found = {tuple(_changes(job, wanted, at).items()): _steps(wanted, at) for at in profile.points}
    least = [one for one in found if not any(set(other) < set(one) for other in found)]
    ordered = sorted(least, key=lambda changes: (len(changes), found[changes], str(changes)))
    return tuple(dict(changes) for changes in ordered[:NEAREST])


def _changes(job: Job, wanted: Setting, at: Setting) -> dict[str, object]:
    """The inputs that lead from what is wanted to a traced setting."""
    keys = ("frames", "size", "checkpointing", "attention", "trainable")
    asked = {key: getattr(at, key) for key in keys if getattr(at, key) != getattr(wanted, key)}
    if at.precision == wanted.precision or INPUT_OF[at.precision] == job.precision:
        return asked
    return {**asked, "precision": INPUT_OF[at.precision]}


def _steps(wanted: Setting, at: Setting) -> float:
    """How far frames and size are from what is wanted, in doublings."""
    return abs(log2(at.frames / wanted.frames)) + abs(log2(at.size / wanted.size))


def _not_traced(job: Job, profile: ModelProfile) -> Message:
    """What is missing: the shape, named with all that were traced, or a combination of inputs."""
    asked = {"model": profile.title, "frames": job.frames, "size": job.size}
    shapes = sorted({(at.frames, at.size) for at in profile.points})
    if (job.frames, job.size) not in shapes:
        names = tuple(f"{frames} x {size}" for frames, size in shapes)
        return Message("not_traced_shape", {**asked, "shapes": names})
    options = nearest(job, profile)
    keys = dict.fromkeys(key for changes in options for key in changes)
    way = inputs({key: getattr(job, key) for key in keys})
    return Message("not_traced_way", {**asked, "way": way, "ways": tuple(map(inputs, options))})
