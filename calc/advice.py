"""The cheapest changes that make a job fit, each with its price in time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from calc.card import Offer
from calc.estimate import Range
from calc.fit import Fit, fit, share
from calc.job import Job
from calc.profile import ModelProfile, NotTraced
from calc.result import OfferResult
from calc.speed import step
from calc.words import Message

SHOWN = 3
SAME_JOB, MORE_CARDS, OTHER_JOB = range(3)
"""Order of kinds: the same training, the same on more cards, a training that learns less."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that makes the job fit on an offer.

    offer: text of the offer as asked; changes: inputs to change, {"checkpointing": "block"};
    fit: with the changes; time_factor: time for the same clips with the changes / without them if
    memory were no limit, None where speed is not known; text: the whole in words.
    """

    offer: str
    changes: Mapping[str, object]
    fit: Fit
    time_factor: Range | None
    text: Message


@dataclass(frozen=True, slots=True)
class _Try:
    """A combination that fits: kind, inputs to change, offer, and how it fits."""

    kind: int
    changes: Mapping[str, object]
    offer: Offer
    fit: Fit


def advise(job: Job, profile: ModelProfile, results: Sequence[OfferResult]) -> tuple[Advice, ...]:
    """At most three pieces of advice for each offer whose share does not fit in one go."""
    asked = [result.offer for result in results if result.fit.state == "no"]
    return tuple(advice for offer in asked for advice in advise_offer(job, profile, offer))


def advise_offer(job: Job, profile: ModelProfile, offer: Offer) -> tuple[Advice, ...]:
    """The best combinations for one offer, by kind and then by lost time."""
    free = job.replace(micro_batch=None)
    found = _minimal(list(_that_fit(free, profile, offer)))
    advice = [(trial.kind, _advice(free, profile, offer, trial)) for trial in found]
    advice.sort(key=lambda pair: (pair[0], _lost(pair[1])))
    return tuple(piece for _, piece in advice[:SHOWN])


def _lost(advice: Advice) -> float:
    return advice.time_factor.mid if advice.time_factor else float("inf")


def _that_fit(job: Job, profile: ModelProfile, offer: Offer) -> Iterator[_Try]:
    """Every combination of changes that fits."""
    for changes in _combinations(job, profile):
        yield from _tried(SAME_JOB, job, profile, offer, changes)
    for count in (2, 4, 8):
        if count > offer.count:
            for sharding in ("ddp", "fsdp"):
                more = Offer(offer.card, count)
                changes = {"cards": (more.text,), "sharding": sharding}
                yield from _tried(MORE_CARDS, job, profile, more, changes, in_one_go=True)
    for changes in _other_jobs(job, profile):
        yield from _tried(OTHER_JOB, job, profile, offer, changes, in_one_go=True)


def _combinations(job: Job, profile: ModelProfile) -> Iterator[dict[str, object]]:
    """Subsets of the changes that keep the training what it is."""
    single: list[dict[str, object]] = []
    if job.checkpointing != "block":
        single.append({"checkpointing": "block"})
    if job.precision in ("fp32", "tf32"):
        single.append({"precision": "fp16"})
    if job.attention == "eager" and "sdpa" in profile.attention:
        single.append({"attention": "sdpa"})
    if job.optimizer in ("adamw", "adamw-fused"):
        single.append({"optimizer": "adamw8bit"})
    for size in range(len(single) + 1):
        for chosen in itertools.combinations(single, size):
            yield {key: value for changes in chosen for key, value in changes.items()}


def _other_jobs(job: Job, profile: ModelProfile) -> Iterator[dict[str, object]]:
    """Changes after which less is learned."""
    fewer = [frames for frames in profile.frames() if frames < job.frames]
    if fewer:
        yield {"frames": fewer[-1]}
    if job.trainable == "full":
        yield {"trainable": "head"}


def _tried(
    kind: int, job: Job, profile: ModelProfile, offer: Offer, changes: Mapping[str, object],
    in_one_go: bool = False,
) -> Iterator[_Try]:  # fmt: skip
    """The trial, if it was traced, fits, and changes something."""
    try:
        found = fit(job.replace(**changes), profile, offer)
    except NotTraced:
        return
    parts = found.accumulation or 0
    sure = found.max_batch > 0 and found.micro_batch is not None
    if sure and (parts == 1 or not in_one_go) and (changes or parts > 1):
        yield _Try(kind, changes, offer, found)


def _minimal(found: Sequence[_Try]) -> list[_Try]:
    """Without combinations that contain one which fits as well with as few micro-batches."""
    return [trial for trial in found if not any(_contains(trial, other) for other in found)]


def _contains(trial: _Try, other: _Try) -> bool:
    if trial is other or trial.kind != other.kind:
        return False
    if trial.kind == MORE_CARDS:
        return trial.offer.count > other.offer.count or (
            trial.offer.count == other.offer.count and trial.changes["sharding"] == "fsdp"
        )
    more = trial.changes.items() > other.changes.items()
    return more and (trial.fit.accumulation or 0) >= (other.fit.accumulation or 0)


def _advice(job: Job, profile: ModelProfile, asked: Offer, trial: _Try) -> Advice:
    factor = _time_factor(job, profile, asked, trial)
    words = tuple(_change_words(job, trial))
    params = {"offer": asked.text, "changes": words, "time": _time_words(factor)}
    return Advice(asked.text, trial.changes, trial.fit, factor, Message("advice", params))


def _time_factor(job: Job, profile: ModelProfile, asked: Offer, trial: _Try) -> Range | None:
    """Time with the changes against the job in one go on this offer, were memory no limit."""
    before = step(job, profile, asked, share(job, asked.count), 1)
    micro, parts = trial.fit.micro_batch, trial.fit.accumulation
    if before is None or micro is None or parts is None:
        return None
    after = step(job.replace(**trial.changes), profile, trial.offer, micro, parts)
    return None if after is None else _ratio(after.total_s, before.total_s)


def _ratio(after: Range, before: Range) -> Range:
    """Ratio of two times of one card, whose errors are mostly common."""
    ends = (after.low / before.low, after.mid / before.mid, after.high / before.high)
    return Range(min(ends), ends[1], max(ends))


def _change_words(job: Job, trial: _Try) -> Iterator[Message]:
    for key, value in trial.changes.items():
        if key == "cards":
            yield Message("change_cards", {"to": trial.offer.text})
        elif key != "sharding" or value != "ddp":
            yield Message("change_" + key, {"to": value, "was": getattr(job, key)})
    if (trial.fit.accumulation or 1) > 1:
        numbers = {"times": trial.fit.accumulation, "micro": trial.fit.micro_batch}
        yield Message("change_micro_batch", numbers)


def _time_words(factor: Range | None) -> Message:
    if factor is None:
        return Message("advice_time_unknown")
    percent = factor.mid - 1
    if abs(percent) < 0.005:
        return Message("advice_time_same")
    key = "advice_time_longer" if percent > 0 else "advice_time_shorter"
    return Message(key, {"percent": abs(percent)})
