"""Figures of the guide: the article's formula beside ours, and what one change does to a peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calc.card import Offer
from calc.estimate import Range
from calc.job import Job
from calc.memory import estimate
from calc.profile import PRECISION_KEY, ModelProfile
from calc.speed import step

GIB = 2**30
MIB = 2**20

ARTICLE_BYTES_PER_PARAMETER = 8
"""`params * 4 * 2` of the article: four bytes, twice."""
ARTICLE_BYTES_PER_VALUE = 4
"""`act * batch * frames * 4` of the article: every activation taken as fp32."""
ARTICLE_4090_TFLOPS = 1321
"""What the article calls the FP16 rate of an RTX 4090; cards.yaml says what it is."""
ARTICLE_SWIN_T_16_FRAMES_GIB = 20
"""The article: "Video Swin-T at 16 frames may exceed 20 GB"; it does not give the batch."""


def article_gib(params: int, act: float, batch: int, frames: int) -> float:
    """The article's formula in GiB; act: values per clip and frame, which the reader must know.

    >>> round(article_gib(28_158_070, 0, 8, 32), 2)
    0.21
    """
    values = act * batch * frames
    return (params * ARTICLE_BYTES_PER_PARAMETER + values * ARTICLE_BYTES_PER_VALUE) / GIB


def act_needed(total_gib: float, params: int, batch: int, frames: int) -> float:
    """The `act` with which the article's formula would give `total_gib`, in values.

    >>> act = act_needed(20.0, 28_158_070, 8, 32)
    >>> round(article_gib(28_158_070, act, 8, 32), 6)
    20.0
    """
    rest = total_gib * GIB - params * ARTICLE_BYTES_PER_PARAMETER
    return rest / (ARTICLE_BYTES_PER_VALUE * batch * frames)


@dataclass(frozen=True, slots=True)
class Beside:
    """The article's formula beside ours for one job, GiB.

    article_gib: its term that does not grow; fixed_gib: weights, gradients and optimizer state as
    they are; peak: the whole peak; act_m: millions of values its `act` would have to be.
    """

    title: str
    job: Job
    params_m: float
    article_gib: float
    fixed_gib: float
    peak: Range
    act_m: float


def beside(job: Job, profile: ModelProfile) -> Beside:
    """The article's formula beside ours for a job on one GPU."""
    found = estimate(job, profile, job.batch)
    key = PRECISION_KEY[job.precision]
    weights_mib = profile.weights_mib[key] + profile.gradients_mib[job.trainable][key]
    act = act_needed(found.allocated.mid, profile.params, job.batch, job.frames)
    return Beside(
        title=profile.title,
        job=job,
        params_m=profile.params / 1e6,
        article_gib=article_gib(profile.params, 0, job.batch, job.frames),
        fixed_gib=weights_mib * MIB / GIB + found.parts_gib["optimizer"],
        peak=found.allocated,
        act_m=act / 1e6,
    )


def peaks(job: Job, profile: ModelProfile, batches: Sequence[int]) -> tuple[tuple[int, Range], ...]:
    """(batch, allocated peak in GiB) on one GPU."""
    return tuple((batch, estimate(job, profile, batch).allocated) for batch in batches)


def first_above(limit_gib: float, found: Sequence[tuple[int, Range]]) -> int | None:
    """The smallest batch of `peaks` whose peak is above the limit.

    >>> first_above(20, [(8, Range.exact(11.0)), (16, Range.exact(21.0))])
    16
    """
    return next((batch for batch, peak in found if peak.mid > limit_gib), None)


@dataclass(frozen=True, slots=True)
class Change:
    """A peak before and after one change; saved: share of the peak, negative if it grew.

    time: how many times as long a step takes; None where that is not known.
    """

    before_gib: float
    after_gib: float
    saved: float
    time: float | None


def change(job: Job, after: Job, profile: ModelProfile, offer: Offer | None = None) -> Change:
    """What turning `job` into `after` does on one GPU, at the job's batch."""
    first = estimate(job, profile, job.batch).allocated.mid
    second = estimate(after, profile, after.batch).allocated.mid
    return Change(first, second, 1 - second / first, _time(job, after, profile, offer))


def _time(job: Job, after: Job, profile: ModelProfile, offer: Offer | None) -> float | None:
    """Time of a step after, over before."""
    if offer is None:
        return None
    first = step(job, profile, offer, job.batch, 1)
    second = step(after, profile, offer, after.batch, 1)
    return None if first is None or second is None else second.total_s.mid / first.total_s.mid


def times(first: float, second: float) -> float:
    """How many times the second figure the first one is.

    >>> round(times(312, 165.2), 2)
    1.89
    """
    return first / second
