"""What people should know beside the figures of a job."""

from __future__ import annotations

from collections.abc import Sequence

from calc.job import Job
from calc.profile import ModelProfile, attention
from calc.result import OfferResult
from calc.words import Message


def notes(job: Job, profile: ModelProfile, results: Sequence[OfferResult]) -> tuple[Message, ...]:
    """All notes that apply, the most important first."""
    several = [result.offer.text for result in results if result.offer.count > 1]
    found = [
        _windows(job),
        _attention(job, profile),
        _ddp(job, several),
        _sharding(job, several),
        _loader(job, results),
        _interruptions(job),
        _extra(job),
        _channels_last(job, profile),
        _unofficial(results),
        _estimated_total(results),
    ]
    return tuple(note for note in found if note is not None)


def _windows(job: Job) -> Message | None:
    return Message("note_windows") if job.os == "windows" else None


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
    from calc.cost import LOST_H_PER_INTERRUPTION, interruption_factor

    factor = interruption_factor(job)
    if factor == 1:
        return None
    return Message("note_spot", {"minutes": LOST_H_PER_INTERRUPTION * 60, "longer": factor - 1})


def _extra(job: Job) -> Message | None:
    return Message("note_extra", {"gib": job.extra_gib}) if job.extra_gib else None


def _channels_last(job: Job, profile: ModelProfile) -> Message | None:
    return Message("note_channels_last") if job.channels_last else None


def _unofficial(results: Sequence[OfferResult]) -> Message | None:
    names = tuple(result.offer.card.name for result in results if not result.offer.card.official)
    return Message("note_unofficial", {"names": names}) if names else None


def _estimated_total(results: Sequence[OfferResult]) -> Message | None:
    names = tuple(result.offer.card.name for result in results
                  if not result.offer.card.total_is_published)  # fmt: skip
    return Message("note_total", {"names": names}) if names else None
