"""Does a job fit on an offer, and with which micro-batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calc.calibration import HEADROOM_GIB
from calc.card import Card, Offer
from calc.estimate import Range
from calc.job import Job
from calc.memory import MemoryEstimate, MemoryModel, accumulating, model
from calc.profile import ModelProfile

Move = Callable[[MemoryModel], MemoryModel]
"""A memory model as measurements move it."""

CONTEXT_GIB = Range(0.3, 0.5, 0.63)
"""CUDA context and libraries of one process: 20 out-of-memory messages of one-GPU jobs on Ampere
and Ada cards say 0.25 to 0.63 GiB are in use outside PyTorch, median 0.48
(e.g. github.com/TianheWu/CoSeR/issues/10, github.com/3DTopia/Phidias-Diffusion/issues/8)."""

CONTEXT_BLACKWELL_GIB = Range(0.58, 0.6, 0.62)
"""Four messages from RTX 5090 cards: 0.578 to 0.604 GiB
(e.g. github.com/Wan-Video/Wan2.1/issues/465)."""

NCCL_GIB = Range(0.5, 1.5, 1.5)
"""NCCL's buffers with several GPUs: messages of multi-GPU jobs on A100 and H100 cards say 1.0 to
1.9 GiB outside PyTorch with the context; jobs with several process groups took more."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether the share of one GPU fits in one go, and what trains it.

    state: fits | tight | no, for the whole share (or the pinned micro-batch) in one go.
    max_batch: largest micro-batch such that all smaller ones fit too, 0 where none does.
    micro_batch, accumulation: what trains the job; None where not even one clip fits.
    memory: at the share (or the pinned micro-batch).
    least_gib: what has to be there to train it at all: cap of one clip, or of the pinned.
    """

    state: str
    max_batch: int
    micro_batch: int | None
    accumulation: int | None
    memory: MemoryEstimate
    usable_gib: Range
    least_gib: float


def usable_gib(offer: Offer, job: Job) -> Range:
    """GiB of one GPU that PyTorch's tensors can use; the low end leaves `HEADROOM_GIB` free."""
    total, taken = total_gib(offer.card), context_gib(offer.card)
    if offer.count > 1:
        taken = taken + NCCL_GIB
    mid = total.mid - taken.mid
    low = min(total.low - taken.high, mid - HEADROOM_GIB)
    ends = (low, mid, total.high - taken.low)
    return Range(*(max(0.0, end - job.other_gib) for end in ends))


def total_gib(card: Card) -> Range:
    """The card's memory as PyTorch reports it; 1 % either way where nobody published it."""
    low, typical = card.total_gib
    if card.total_is_published:
        return Range(min(low, typical), typical, typical)
    return Range(min(low, typical * 0.99), typical, typical * 1.01)


def context_gib(card: Card) -> Range:
    """What a CUDA process takes on the card before its first tensor."""
    return CONTEXT_BLACKWELL_GIB if card.architecture == "Blackwell" else CONTEXT_GIB


def state(usable: Range, memory: MemoryEstimate) -> str:
    """fits | tight | no.

    no: usable memory is below the cap; fits: even its low end is above the upper end of calm.
    """
    if usable.mid < memory.cap.mid:
        return "no"
    return "fits" if usable.low >= memory.calm.high else "tight"


def largest_batch(memory: MemoryModel, usable: Range) -> int:
    """Largest micro-batch that fits; 1 where one clip is tight; 0 where not even one goes in."""
    sure = memory.largest(usable.low, memory.calm.high)
    return sure or min(1, memory.largest(usable.mid, memory.cap.mid))


def share(job: Job, count: int) -> int:
    """Clips of one optimizer step on each GPU.

    >>> share(Job(batch=9), 2)
    5
    """
    return -(-job.batch // count)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job asks of one GPU of `count`, before any card is looked at.

    clips: share of one GPU; micro: what is judged, the share or the pinned micro-batch;
    once: memory of that; split: memory in smaller micro-batches; memory: at `micro`.
    """

    job: Job
    profile: ModelProfile
    count: int
    clips: int
    micro: int
    once: MemoryModel
    split: MemoryModel
    memory: MemoryEstimate


def _unmoved(memory: MemoryModel) -> MemoryModel:
    return memory


def plan(job: Job, profile: ModelProfile, count: int = 1, move: Move = _unmoved) -> Plan:
    """Memory of a job's share on one GPU of `count`; the same for every card."""
    clips = share(job, count)
    micro = min(job.micro_batch or clips, clips)
    once = model(job, profile, accumulation=-(-clips // micro), count=count)
    split = move(accumulating(once, job, profile, count))
    once = move(once)
    return Plan(job, profile, count, clips, micro, once, split, once.estimate(micro))


def fit(job: Job, profile: ModelProfile, offer: Offer) -> Fit:
    """How a job fits on an offer."""
    return judge(plan(job, profile, offer.count), offer)


def judge(asked: Plan, offer: Offer) -> Fit:
    """How a planned job fits on an offer of as many cards."""
    usable = usable_gib(offer, asked.job)
    found = state(usable, asked.memory)
    max_batch = largest_batch(asked.once, usable)
    micro, parts = _micro_batches(asked, usable, max_batch, found)
    return Fit(found, max_batch, micro, parts, asked.memory, usable, _least_gib(asked))


def _least_gib(asked: Plan) -> float:
    """Cap of the smallest micro-batch that trains the share, accumulated where it is a part."""
    if asked.job.micro_batch or asked.clips == 1:
        return asked.memory.cap.mid
    return asked.split.peak_gib(1) * asked.split.cap.mid


def _micro_batches(
    asked: Plan, usable: Range, max_batch: int, found: str
) -> tuple[int | None, int | None]:
    """Micro-batch and accumulation that train the share of one GPU; None where nothing does."""
    if asked.job.micro_batch:
        return (None, None) if found == "no" else (asked.micro, -(-asked.clips // asked.micro))
    if asked.clips <= max_batch:
        return asked.clips, 1
    at_once = min(max_batch, largest_batch(asked.split, usable))
    if not at_once:
        return (asked.clips, 1) if found == "tight" else (None, None)
    parts = -(-asked.clips // at_once)
    return -(-asked.clips // parts), parts
