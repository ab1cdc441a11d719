"""The whole walk for one job: every offer's fit, time and cost, then verdict, rules and advice."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from calc import MODEL_VERSION, custom
from calc.advice import Advice, advise
from calc.card import Card, Offer, parse_offer
from calc.fit import Plan, plan
from calc.job import Job
from calc.notes import notes
from calc.profile import ModelProfile
from calc.result import Known, OfferResult, evaluate
from calc.rules import Rule, rules
from calc.verdict import verdict
from calc.words import Message, Refused

__all__ = ["Comparison", "OfferResult", "compare", "offers"]


class Measured(Known, Protocol):
    """What compare needs of the loaded measurements; hashed by identity."""

    def __hash__(self) -> int: ...
    @property
    def version(self) -> str: ...
    @property
    def models(self) -> tuple[str, ...]: ...
    def profile(self, model: str) -> ModelProfile: ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer to a job."""

    model_version: str
    data_version: str
    job: Job
    verdict: Message
    rules: tuple[Rule, ...]
    offers: tuple[OfferResult, ...]
    advice: tuple[Advice, ...]
    notes: tuple[Message, ...]


def compare(job: Job, data: Measured) -> Comparison:
    """Everything about a job: offers in the order asked, verdict, rules, advice and notes.

    Raises NotTraced where the model was not traced so, Refused for a card nobody entered.
    """
    profile = profile_of(job, data)
    results = evaluate_all(job, profile, offers(job, data.cards), data)
    checked = rules(job, results)
    return Comparison(
        model_version=MODEL_VERSION,
        data_version=data.version,
        job=job,
        verdict=verdict(job, results, checked),
        rules=checked,
        offers=results,
        advice=advise(job, profile, results),
        notes=notes(job, profile, results, data.prices),
    )


def evaluate_all(
    job: Job, profile: ModelProfile, asked: Sequence[Offer], data: Known
) -> tuple[OfferResult, ...]:
    """The answer for every offer, in their order."""
    plans = plans_of(job, profile, asked)
    return tuple(evaluate(job, profile, offer, data, plans[offer.count]) for offer in asked)


def plans_of(job: Job, profile: ModelProfile, asked: Sequence[Offer]) -> dict[int, Plan]:
    """The job's plan for each number of cards among the offers; the same for every card."""
    return {count: plan(job, profile, count) for count in {offer.count for offer in asked}}


def profile_of(job: Job, data: Measured) -> ModelProfile:
    """The traced model of a job, or the closed form of a custom one.

    A custom model takes over what the allocator makes of its library relative.
    """
    if job.model != "custom":
        return data.profile(job.model)
    relative = custom.RELATIVE[job.pattern]
    made = custom.profile(job)
    if relative not in data.models:
        return made
    return dataclasses.replace(made, allocator=data.profile(relative).allocator)


def offers(job: Job, cards: Mapping[str, Card]) -> tuple[Offer, ...]:
    """The job's offers with their cards; Refused names a card that is not in the table."""
    return tuple(_offer(text, cards) for text in job.cards)


def _offer(text: str, cards: Mapping[str, Card]) -> Offer:
    name, count = parse_offer(text)
    if name not in cards:
        raise Refused(Message("card_unknown", {"given": name, "allowed": tuple(cards)}))
    return Offer(cards[name], count)
