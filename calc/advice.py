"""The cheapest changes that make a job fit, each with its price in time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from calc.card import Offer
from calc.cost import as_loaded
from calc.estimate import Range
from calc.fit import Fit, Plan, judge, plan, share
from calc.job import Job
from calc.profile import ModelProfile, NotTraced
from calc.result import OfferResult
from calc.speed import step
from calc.words import Message, clips

SHOWN = 3
SAME_TIME = 0.005
"""Half a percent is no difference in time."""
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
class _Trial:
    """A changed job, planned: kind, inputs to change, the number of cards they need."""

    kind: int
    changes: Mapping[str, object]
    count: int
    plan: Plan

    @property
    def in_one_go(self) -> bool:
        """Whether the share must fit without accumulation for the change to be worth a line."""
        return self.kind != SAME_JOB


_Lazy = tuple[int, Callable[[], _Trial | None]]
"""A trial's kind, and what plans it."""


@dataclass(frozen=True, slots=True)
class _Fitting:
    """A trial that fits on `offer`, how, and its time against the job in one go."""

    trial: _Trial
    offer: Offer
    fit: Fit
    time_factor: Range | None = None

    @property
    def lost(self) -> float:
        """Time to sort by; unknown is last."""
        return self.time_factor.mid if self.time_factor else float("inf")


def advise(job: Job, profile: ModelProfile, results: Sequence[OfferResult]) -> tuple[Advice, ...]:
    """At most three pieces of advice for each offer whose share does not fit in one go.

    By kind (same training, more cards, a training that learns less), then by lost time.
    """
    asked = [result.offer for result in results if result.fit.state == "no"]
    if not asked:
        return ()
    free = job.replace(micro_batch=None)
    trials = {count: _trials(free, profile, count) for count in {offer.count for offer in asked}}
    found = [_for_offer(free, profile, offer, trials[offer.count]) for offer in asked]
    return tuple(advice for pieces in found for advice in pieces)


def _for_offer(
    job: Job, profile: ModelProfile, offer: Offer, trials: Sequence[_Lazy]
) -> list[Advice]:
    before = _s_per_clip(job, profile, offer, share(job, offer.count), 1)
    best: list[_Fitting] = []
    for _, of_one_kind in itertools.groupby(trials, key=lambda trial: trial[0]):
        if len(best) >= SHOWN:
            break  # later kinds come after these, whatever they are
        fitting = [_timed(found, profile, before) for found in _that_fit(of_one_kind, offer)]
        kept = [one for one in fitting if not any(_beats(other, one) for other in fitting)]
        best += sorted(kept, key=lambda one: one.lost)
    return [_advice(job, offer, one) for one in best[:SHOWN]]


def _that_fit(trials: Iterable[_Lazy], offer: Offer) -> Iterator[_Fitting]:
    """The trials that fit on the card; of those with more cards the one with the fewest."""
    enough_cards = False
    for kind, planned in trials:
        trial = None if kind == MORE_CARDS and enough_cards else planned()
        found = trial and _fitting(trial, offer)
        if found:
            enough_cards |= kind == MORE_CARDS
            yield found


def _trials(job: Job, profile: ModelProfile, count: int) -> list[_Lazy]:
    """Every combination of changes, planned when first asked for, once for all offers of `count`.

    By kind; more cards by what they need: two before four, whole weights before sharded.
    """
    same = [(SAME_JOB, changes, count) for changes in _combinations(job, profile)]
    more = [(MORE_CARDS, {"sharding": sharding}, cards) for cards in (2, 4, 8) if cards > count
            for sharding in ("ddp", "fsdp")]  # fmt: skip
    other = [(OTHER_JOB, changes, count) for changes in _other_jobs(job, profile)]
    return [
        (asked[0], cache(partial(_planned, job, profile, *asked)))
        for asked in (*same, *more, *other)
    ]


def _planned(
    job: Job, profile: ModelProfile, kind: int, changes: dict[str, Any], count: int
) -> _Trial | None:
    """A trial; None where it was not traced."""
    try:
        return _Trial(kind, changes, count, plan(job.replace(**changes), profile, count))
    except NotTraced:
        return None


def _combinations(job: Job, profile: ModelProfile) -> Iterator[dict[str, Any]]:
    """Subsets of the changes that keep the training what it is."""
    single: list[dict[str, Any]] = []
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


def _other_jobs(job: Job, profile: ModelProfile) -> Iterator[dict[str, Any]]:
    """Changes after which less is learned."""
    fewer = [frames for frames in profile.frames() if frames < job.frames]
    if fewer:
        yield {"frames": fewer[-1]}
    if job.trainable == "full":
        yield {"trainable": "head"}


def _fitting(trial: _Trial, asked: Offer) -> _Fitting | None:
    """The trial, if it fits on the asked card and changes something."""
    offer = asked if trial.count == asked.count else Offer(asked.card, trial.count)
    found = judge(trial.plan, offer)
    parts = found.accumulation or 0
    changed = bool(trial.changes) or parts > 1
    if found.max_batch and parts and changed and not (trial.in_one_go and parts > 1):
        return _Fitting(trial, offer, found)
    return None


def _timed(found: _Fitting, profile: ModelProfile, before_s: Range | None) -> _Fitting:
    """With its time against the job in one go on the asked offer, were memory no limit."""
    micro, parts = found.fit.micro_batch, found.fit.accumulation
    if before_s is None or micro is None or parts is None:
        return found
    after_s = _s_per_clip(found.trial.plan.job, profile, found.offer, micro, parts)
    factor = None if after_s is None else _ratio(after_s, before_s)
    return _Fitting(found.trial, found.offer, found.fit, factor)


def _s_per_clip(
    job: Job, profile: ModelProfile, offer: Offer, micro: int, parts: int
) -> Range | None:
    """Seconds that each clip takes on all GPUs of an offer, or the data loader."""
    found = step(job, profile, offer, micro, parts)
    if found is None:
        return None
    clips_per_step = micro * parts * offer.count
    return found.total_s.map(lambda step_s: 1 / as_loaded(job, clips_per_step / step_s))


def _beats(one: _Fitting, other: _Fitting) -> bool:
    """Whether `one` does with less what `other`, of its kind, does: fewer changes, no more time."""
    fewer = one.trial.changes.items() < other.trial.changes.items()
    parts = (one.fit.accumulation or 0, other.fit.accumulation or 0)
    return fewer and one.lost <= other.lost * (1 + SAME_TIME) and parts[0] <= parts[1]


def _advice(job: Job, asked: Offer, found: _Fitting) -> Advice:
    words = tuple(_change_words(job, found))
    params = {"offer": asked.text, "changes": words, "time": _time_words(found.time_factor)}
    cards = {"cards": (found.offer.text,)} if found.trial.kind == MORE_CARDS else {}
    changes = {**cards, **found.trial.changes}
    return Advice(asked.text, changes, found.fit, found.time_factor, Message("advice", params))


def _ratio(after: Range, before: Range) -> Range:
    """Ratio of two times of one card, whose errors are mostly common."""
    ends = (after.low / before.low, after.mid / before.mid, after.high / before.high)
    return Range(min(ends), ends[1], max(ends))


def _change_words(job: Job, found: _Fitting) -> Iterator[Message]:
    if found.trial.kind == MORE_CARDS:
        yield Message("change_cards", {"to": found.offer.text})
    for key, value in found.trial.changes.items():
        if key != "sharding" or value != "ddp":
            yield Message("change_" + key, {"to": value, "was": getattr(job, key)})
    if (found.fit.accumulation or 1) > 1:
        numbers = {"times": found.fit.accumulation, "micro": clips(found.fit.micro_batch)}
        yield Message("change_micro_batch", numbers)


def _time_words(factor: Range | None) -> Message:
    if factor is None:
        return Message("advice_time_unknown")
    percent = factor.mid - 1
    if abs(percent) < SAME_TIME:
        return Message("advice_time_same")
    key = "advice_time_longer" if percent > 0 else "advice_time_shorter"
    return Message(key, {"percent": abs(percent)})
