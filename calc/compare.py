"""The whole walk for one job: every offer's fit, time and cost, then verdict, rules and advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc.advice import Advice
from calc.card import Offer
from calc.cost import PriceUsed
from calc.estimate import Range
from calc.fit import Fit
from calc.job import Job
from calc.memory import MemoryEstimate
from calc.rules import Rule
from calc.speed import StepTime
from calc.words import Message


@dataclass(frozen=True, slots=True)
class OfferResult:
    """One offer for the job. Per GPU: memory, usable_gib, max_batch, micro_batch, accumulation.

    memory is that of `fit`: the share of one GPU in one go. Speed, hours and money are those of
    micro_batch x accumulation; None where it does not fit or is not known.
    basis: {"memory": ..., "speed": ...} in measured | corrected | formula | None.
    """

    offer: Offer
    fit: Fit
    memory: MemoryEstimate
    usable_gib: Range
    max_batch: int
    micro_batch: int | None
    accumulation: int | None
    step: StepTime | None
    clips_per_s: Range | None
    hours: Range | None
    usd: Range | None
    kwh: Range | None
    price: PriceUsed | None
    needs_clips_per_s: float | None
    basis: Mapping[str, str | None]
    notes: tuple[Message, ...] = ()


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
