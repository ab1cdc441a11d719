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
from calc.profile import PRECISION_KEY, ModelProfile, Setting, attention

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


@dataclass(frozen=True, slots=True)
class StepModel:
    """Everything about a job's step on one offer but its micro-batches.

    fixed_s, per_clip_s: forward and backward of one micro-batch by part, a line in its clips.
    launch_s: launching all its kernels, which the device waits for where it is done earlier.
    accumulate_s: adding the gradients of one more micro-batch; range_factor: the 90 % range.
    """

    job: Job
    profile: ModelProfile
    offer: Offer
    fixed_s: Mapping[str, float]
    per_clip_s: Mapping[str, float]
    launch_s: float
    accumulate_s: float
    optimizer_s: float
    range_factor: float

    def total_s(self, micro_batch: int, accumulation: int = 1) -> float:
        """Seconds of one optimizer step: the middle of `step`, without its parts."""
        device_s = sum(self.fixed_s.values()) + sum(self.per_clip_s.values()) * micro_batch
        compute_s = max(device_s, self.launch_s)
        return (
            compute_s * accumulation
            + self.accumulate_s * (accumulation - 1)
            + self.optimizer_s
            + _communication_s(self.job, self.profile, self.offer, compute_s, accumulation)
        )

    def step(self, micro_batch: int, accumulation: int = 1) -> StepTime:
        """`accumulation` micro-steps of `micro_batch` on each GPU, and the optimizer."""
        parts = {
            name: (fixed + self.per_clip_s[name] * micro_batch) * accumulation
            for name, fixed in self.fixed_s.items()
        }
        device_s = sum(parts.values())
        parts["launch"] = max(0.0, self.launch_s * accumulation - device_s)
        compute_s = (device_s + parts["launch"]) / accumulation
        parts["accumulation"] = self.accumulate_s * (accumulation - 1)
        parts["optimizer"] = self.optimizer_s
        parts["communication"] = _communication_s(
            self.job, self.profile, self.offer, compute_s, accumulation
        )
        return StepTime(Range.around(sum(parts.values()), self.range_factor), parts, "formula")


def model(job: Job, profile: ModelProfile, offer: Offer) -> StepModel | None:
    """The step of a job on an offer for any micro-batch.

    None where the card's rates are not known or the setting was not traced.
    """
    point = profile.points.get(setting(job, profile))
    card_rates = rates(offer.card, job.precision, job.channels_last)
    if point is None or card_rates is None:
        return None
    fixed_s: dict[str, float] = {}
    per_clip_s: dict[str, float] = {}
    for name, work in point.work.items():
        kind, flop_s, byte_s = KIND[name], card_rates.s_per_gflop[name], card_rates.s_per_gib[name]
        fixed_s[kind] = fixed_s.get(kind, 0.0) + work.gflop * flop_s + work.gib * byte_s
        clip_s = work.gflop_per_clip * flop_s + work.gib_per_clip * byte_s
        per_clip_s[kind] = per_clip_s.get(kind, 0.0) + clip_s
    trainable = profile.trainable[job.trainable].params
    return StepModel(
        job, profile, offer, fixed_s, per_clip_s,
        launch_s=sum(work.kernels for work in point.work.values()) * card_rates.launch_s,
        accumulate_s=_stream_s(ACCUMULATE_BYTES_PER_PARAM * trainable, card_rates),
        optimizer_s=_optimizer_s(job, trainable, offer.count, card_rates),
        range_factor=card_rates.range_factor,
    )  # fmt: skip


def step(
    job: Job, profile: ModelProfile, offer: Offer, micro_batch: int, accumulation: int
) -> StepTime | None:
    """Seconds of one optimizer step: `accumulation` micro-steps of `micro_batch` on each GPU.

    None where the card's rates are not known or the setting was not traced.
    """
    found = model(job, profile, offer)
    return None if found is None else found.step(micro_batch, accumulation)


def setting(job: Job, profile: ModelProfile) -> Setting:
    """The traced setting whose work is the job's: that of bf16 is fp16's, traced or not."""
    return Setting(
        job.frames, job.size, PRECISION_KEY[job.precision], job.checkpointing,
        attention(job, profile), job.trainable,
    )  # fmt: skip


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
