"""One offer for a job: fit, time, money and energy together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from calc.card import Card, Offer, Price
from calc.cost import Cost, PriceUsed, cost, price_used
from calc.estimate import Range
from calc.fit import Fit, Plan, judge, plan
from calc.job import Job
from calc.memory import MemoryEstimate
from calc.memory_measured import best_plan
from calc.profile import ModelProfile
from calc.runs import RunBook
from calc.speed import StepTime, step
from calc.speed_measured import best_step
from calc.words import Message


@dataclass(frozen=True, slots=True)
class OfferResult:
    """One offer for the job. Per GPU: memory, usable_gib, max_batch, micro_batch, accumulation.

    memory is that of `fit`: the share of one GPU in one go. Speed, hours and money are those of
    micro_batch x accumulation; None where it does not fit or is not known. price: of the card,
    whether it trains the job or not.
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

    @property
    def trains(self) -> bool:
        """Whether the offer trains the job at all, in one go or accumulated."""
        return self.micro_batch is not None

    @property
    def answer(self) -> str:
        """fits | tight | parts | no: parts where accumulation trains what has no room in one go."""
        return "parts" if self.fit.state == "no" and self.trains else self.fit.state

    @property
    def needs_gib(self) -> float:
        """What PyTorch must have for the share in one go; above usable_gib.mid it does not fit."""
        return self.memory.cap.mid

    @property
    def sure_gib(self) -> float:
        """What it should have to fit for sure; above usable_gib.mid it is tight."""
        return self.memory.calm.high + self.usable_gib.mid - self.usable_gib.low

    @property
    def used_share(self) -> float | None:
        """needs_gib over usable memory; above 1 it does not fit in one go."""
        usable = self.usable_gib.mid
        return self.needs_gib / usable if usable > 0 else None

    @property
    def clips_per_step(self) -> int | None:
        """Clips of one optimizer step on all GPUs; over the batch where that does not divide."""
        return clips_per_step(self.fit, self.offer) or None


class Known(Protocol):
    """What an answer needs of the measurements."""

    @property
    def cards(self) -> Mapping[str, Card]: ...
    @property
    def prices(self) -> Mapping[str, Price]: ...
    @property
    def runs(self) -> RunBook: ...


def evaluate(
    job: Job, profile: ModelProfile, offer: Offer, data: Known, planned: Plan | None = None
) -> OfferResult:
    """The whole answer for one offer; `planned` saves work where offers have as many cards."""
    found = judged(job, profile, offer, data, planned)
    time = _step(job, profile, offer, found, data)
    clips = clips_per_step(found, offer)
    paid = None if time is None else cost(job, offer, time.total_s, data.prices, clips)
    return _result(offer, found, time, paid, price_used(job, offer.card, data.prices))


def judged(
    job: Job, profile: ModelProfile, offer: Offer, data: Known, planned: Plan | None = None
) -> Fit:
    """How a job fits on an offer, moved by measurements where there are any."""
    measured = best_plan(job, profile, offer, data.runs)
    return judge(measured or planned or plan(job, profile, offer.count), offer)


def clips_per_step(found: Fit, offer: Offer) -> int:
    """Clips of one optimizer step: the batch, or more where micro-batches do not divide it."""
    return (found.micro_batch or 0) * (found.accumulation or 0) * offer.count


def missing(trains: bool, hours: object) -> Message:
    """Why a cost is not there: nothing is trained, no speed is known, or no price.

    >>> str(missing(True, None)), str(missing(True, 3.5))
    ('not measured', 'no price')
    """
    if not trains:
        return Message("not_trained")
    return Message("unknown" if hours is None else "no_price")


def shortest_h(results: Iterable[OfferResult]) -> float | None:
    """The shortest training time of all offers, in whose unit all of them are told."""
    return min((result.hours.mid for result in results if result.hours), default=None)


def _step(
    job: Job, profile: ModelProfile, offer: Offer, found: Fit, data: Known
) -> StepTime | None:
    micro, parts = found.micro_batch, found.accumulation
    if micro is None or parts is None:
        return None
    if not data.runs.usable:
        return step(job, profile, offer, micro, parts)
    return best_step(job, profile, offer, micro, parts, data.runs, data.cards)


def _result(
    offer: Offer, found: Fit, time: StepTime | None, paid: Cost | None, price: PriceUsed | None
) -> OfferResult:
    return OfferResult(
        offer=offer,
        fit=found,
        memory=found.memory,
        usable_gib=found.usable_gib,
        max_batch=found.max_batch,
        micro_batch=found.micro_batch,
        accumulation=found.accumulation,
        step=time,
        clips_per_s=paid.clips_per_s if paid else None,
        hours=paid.hours if paid else None,
        usd=paid.usd if paid else None,
        kwh=paid.kwh if paid else None,
        price=price,
        needs_clips_per_s=paid.needs_clips_per_s if paid else None,
        basis={"memory": found.memory.basis, "speed": time.basis if time else None},
    )
