"""Seconds for one optimizer step of the whole effective batch on an offer, low / mid / high.

Time = work by class at attainable rates, or launching the kernels where that takes longer,
+ gradient accumulation + optimizer + what the exchange between GPUs cannot hide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc.attainable import WORK_CLASSES, Rates, rates
from calc.card import Offer
from calc.estimate import Range
from calc.job import Job
from calc.network import exchange, exposed_s, link
from calc.profile import PRECISION_KEY, ModelProfile, Point, Setting

MIB_GB = 2**20 / 1e9

OPTIMIZER_BYTES_PER_PARAM: Mapping[str, float] = {
    "adamw": 64.0,
    "adamw-fused": 28.0,
    "adamw8bit": 16.0,
    "adafactor": 40.0,
    "lion": 44.0,
    "sgd": 32.0,
    "sgd-plain": 12.0,
}
"""Bytes read and written for each trainable fp32 parameter; the foreach optimizers run one pass
over memory for each operation of their update rule, the fused ones a single pass."""

ACCUMULATE_BYTES_PER_PARAM = 12.0
"""Adding a fresh fp32 gradient to the kept one: two reads and a write."""

KIND: Mapping[str, str] = {
    **{f"{kind}_{dtype}": kind for kind in WORK_CLASSES for dtype in ("half", "fp32")},
    "memory": "memory",
}
"""Part of a step that a class of work belongs to."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """One optimizer step of the whole effective batch on the offer, in seconds.

    parts_s: gemm conv dwconv attention memory launch accumulation optimizer communication;
    they sum to total_s.mid. basis: measured | corrected | formula.
    """

    total_s: Range
    parts_s: Mapping[str, float]
    basis: str
    notes: tuple[object, ...] = ()


def step(
    job: Job, profile: ModelProfile, offer: Offer, micro_batch: int, accumulation: int
) -> StepTime | None:
    """Seconds of one optimizer step: `accumulation` micro-steps of `micro_batch` on each GPU.

    None where the card's rates are not known or the setting was not traced.
    """
    point = profile.points.get(setting(job, profile))
    card_rates = rates(offer.card, job.precision, job.channels_last)
    if point is None or card_rates is None:
        return None
    parts = compute_parts_s(point, card_rates, micro_batch)
    parts = {name: seconds * accumulation for name, seconds in parts.items()}
    compute_s = sum(parts.values()) / accumulation
    trainable = profile.trainable[job.trainable].params
    parts["accumulation"] = _stream_s(
        ACCUMULATE_BYTES_PER_PARAM * trainable * (accumulation - 1), card_rates
    )
    parts["optimizer"] = _optimizer_s(job, trainable, offer.count, card_rates)
    parts["communication"] = _communication_s(job, profile, offer, compute_s, accumulation)
    total_s = Range.around(sum(parts.values()), card_rates.range_factor)
    return StepTime(total_s, parts, "formula")


def setting(job: Job, profile: ModelProfile) -> Setting:
    """The traced setting of a job; where the library offers one attention only, that one."""
    kinds = profile.attention
    attention = job.attention if job.attention in kinds else kinds[0]
    return Setting(
        job.frames, job.size, PRECISION_KEY[job.precision], job.checkpointing, attention,
        job.trainable,
    )  # fmt: skip


def compute_parts_s(point: Point, card_rates: Rates, batch: int) -> dict[str, float]:
    """Forward and backward of one micro-batch by class; `launch` is what the host adds on top."""
    parts: dict[str, float] = {}
    kernels = 0.0
    for name, work in point.work.items():
        gflop = work.gflop + work.gflop_per_clip * batch
        gib = work.gib + work.gib_per_clip * batch
        seconds = gflop * card_rates.s_per_gflop[name] + gib * card_rates.s_per_gib[name]
        kind = KIND[name]
        parts[kind] = parts.get(kind, 0.0) + seconds
        kernels += work.kernels
    parts["launch"] = max(0.0, kernels * card_rates.launch_s - sum(parts.values()))
    return parts


def _stream_s(moved_bytes: float, card_rates: Rates) -> float:
    return moved_bytes / 2**30 * card_rates.stream_s_per_gib


def _optimizer_s(job: Job, trainable: int, count: int, card_rates: Rates) -> float:
    shares = count if job.sharding in ("zero2", "fsdp") else 1
    moved = OPTIMIZER_BYTES_PER_PARAM[job.optimizer] * trainable / shares
    return _stream_s(moved, card_rates)


def _communication_s(
    job: Job, profile: ModelProfile, offer: Offer, compute_s: float, accumulation: int
) -> float:
    if offer.count == 1:
        return 0.0
    key = PRECISION_KEY[job.precision]
    gradients_gb = profile.gradients_mib[job.trainable][key] * MIB_GB
    weights_gb = profile.weights_mib[key] * MIB_GB
    moved = exchange(job.sharding, gradients_gb, weights_gb, offer.count, accumulation)
    hides_s = compute_s * (accumulation if job.sharding == "fsdp" else 1)
    return exposed_s(moved, link(offer.card), hides_s, offer.count)
