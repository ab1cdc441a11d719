"""What people should know beside the figures of a job."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from calc import calibration
from calc.attainable import ratio_factor
from calc.card import Price
from calc.cost import (
    LOST_H_PER_INTERRUPTION,
    break_even_ratio,
    interruption_factor,
    rent_or_buy_h,
)
from calc.job import Job
from calc.memory import model
from calc.profile import PRECISION_KEY, ModelProfile, NotTraced, attention
from calc.result import OfferResult
from calc.words import Message, clips

SAME_MEMORY = 0.005
"""Half a percent is no difference in memory."""

NOTHING: Mapping[str, Price] = MappingProxyType({})


def notes(
    job: Job,
    profile: ModelProfile,
    results: Sequence[OfferResult],
    prices: Mapping[str, Price] = NOTHING,
) -> tuple[Message, ...]:
    """All notes that apply, the most important first."""
    several = [result.offer.text for result in results if result.offer.count > 1]
    found = [
        _uneven(job, results),
        _windows(job),
        _wrapper(job),
        _mixed(job, profile),
        _attention(job, profile),
        _ddp(job, several),
        _sharding(job, several),
        _loader(job, results),
        _interruptions(job),
        _extra(job),
        _channels_last(job),
        _unofficial(results),
        _estimated_total(results),
        *_break_even(job, results),
        *_rent_or_buy(job, results, prices),
        _validated(job, profile, results),
        _on_a_gpu(job, results),
    ]
    return tuple(note for note in found if note is not None)


def _uneven(job: Job, results: Sequence[OfferResult]) -> Message | None:
    """Where more clips are trained a step than asked, since GPUs and micro-batches are alike."""
    more = tuple(
        Message("uneven_one", {"name": result.offer.text, "clips": result.clips_per_step})
        for result in results
        if (result.clips_per_step or 0) > job.batch
    )
    return Message("note_uneven", {"batch": job.batch, "more": more}) if more else None


def _windows(job: Job) -> Message | None:
    return Message("note_windows") if job.os == "windows" else None


def _wrapper(job: Job) -> Message | None:
    return Message("note_wrapper") if job.checkpointing == "wrapper" else None


def _mixed(job: Job, profile: ModelProfile) -> Message | None:
    """What mixed precision saves for this very model."""
    if job.precision not in ("fp16", "bf16"):
        return None
    try:
        mixed, single = (
            model(job.replace(precision=precision), profile).peak_gib(job.batch)
            for precision in (job.precision, "fp32")
        )
    except NotTraced:
        return None
    share = abs(1 - mixed / single)
    figures = {"share": share, "batch": clips(job.batch)}
    if share < SAME_MEMORY:
        return Message("note_mixed_same", figures)
    return Message("note_mixed_saves" if mixed < single else "note_mixed_costs", figures)


def _attention(job: Job, profile: ModelProfile) -> Message | None:
    used = attention(job, profile)
    if used == job.attention:
        return None
    return Message("note_attention", {"model": profile.title, "used": used, "asked": job.attention})


def _ddp(job: Job, several: Sequence[str]) -> Message | None:
    if not several or job.sharding != "ddp":
        return None
    return Message("note_ddp", {"names": tuple(several)})


def _sharding(job: Job, several: Sequence[str]) -> Message | None:
    if not several or job.sharding == "ddp":
        return None
    return Message("note_sharding", {"way": job.sharding})


def _loader(job: Job, results: Sequence[OfferResult]) -> Message | None:
    cap = job.loader_clips_per_s
    slowed = tuple(result.offer.text for result in results
                   if cap is not None and (result.needs_clips_per_s or 0) > cap)  # fmt: skip
    return Message("note_loader", {"cap": cap, "names": slowed}) if slowed else None


def _interruptions(job: Job) -> Message | None:
    factor = interruption_factor(job)
    if factor == 1:
        return None
    return Message("note_spot", {"minutes": LOST_H_PER_INTERRUPTION * 60, "longer": factor - 1})


def _extra(job: Job) -> Message | None:
    return Message("note_extra", {"gib": job.extra_gib}) if job.extra_gib else None


def _channels_last(job: Job) -> Message | None:
    return Message("note_channels_last") if job.channels_last else None


def _unofficial(results: Sequence[OfferResult]) -> Message | None:
    names = tuple(result.offer.card.name for result in results if not result.offer.card.official)
    return Message("note_unofficial", {"names": names}) if names else None


def _estimated_total(results: Sequence[OfferResult]) -> Message | None:
    names = tuple(result.offer.card.name for result in results
                  if not result.offer.card.total_is_published)  # fmt: skip
    return Message("note_total", {"names": names}) if names else None


def _break_even(job: Job, results: Sequence[OfferResult]) -> Iterator[Message]:
    """At which hourly price each offer costs as much as the first one that trains the job."""
    if job.price_kind == "buy":
        return
    timed = [result for result in results if result.hours is not None]
    for other in timed[1:]:
        if other.offer.card == timed[0].offer.card:
            continue  # GPUs of one price
        assert timed[0].hours and other.hours
        pairs = ((timed[0].offer, timed[0].hours), (other.offer, other.hours))
        cards = ratio_factor(timed[0].offer.card, other.offer.card, job.precision)
        ratio = break_even_ratio(*pairs, cards or 1.0)
        names = {"first": timed[0].offer.text, "second": other.offer.text}
        figures = {"ratio": ratio.mid, "low": ratio.low, "high": ratio.high}
        yield Message("note_break_even", {**names, **figures})


def _rent_or_buy(
    job: Job, results: Sequence[OfferResult], prices: Mapping[str, Price]
) -> Iterator[Message]:
    """From which hours of use on buying an offer is cheaper than renting it."""
    for result in results:
        pays_h = rent_or_buy_h(job, result.offer, prices)
        if pays_h is not None and math.isfinite(pays_h):
            weeks = pays_h / job.hours_per_week
            params = {"name": result.offer.text, "hours": pays_h, "weeks": weeks,
                      "per_week": job.hours_per_week}  # fmt: skip
            yield Message("note_rent_or_buy", params)


def _validated(job: Job, profile: ModelProfile, results: Sequence[OfferResult]) -> Message | None:
    """How far off memory was for published rows of this kind of model."""
    if all(result.memory.basis != "formula" for result in results):
        return None
    known = calibration.memory(profile.family, PRECISION_KEY[job.precision])
    if known.rows < calibration.ENOUGH:
        return Message("note_not_validated", {"model": profile.title, "n": known.rows})
    params = {"n": known.rows, "group": known.group, "low": known.low - 1, "high": known.high - 1}
    return Message("note_validated", params)


def _on_a_gpu(job: Job, results: Sequence[OfferResult]) -> Message | None:
    """What only a GPU run can confirm."""
    if all(result.memory.basis == "measured" for result in results):
        return None
    parts = [Message("part_cap")]
    if job.checkpointing != "none":
        parts.insert(0, Message("part_checkpointing"))
    if job.precision in ("fp16", "bf16"):
        parts.insert(0, Message("part_autocast"))
    return Message("note_on_a_gpu", {"parts": tuple(parts)})
