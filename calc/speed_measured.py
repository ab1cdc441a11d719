"""Speed in the order of trust: this point measured, nearby on this card, on another card, formula.

A run says measured / formula at its own point on its own card; the formula here is moved by that.
For a run on another card this is its time scaled by the ratio of the two cards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc.attainable import ratio_factor
from calc.card import Card, Offer
from calc.estimate import Range
from calc.job import Job
from calc.profile import ModelProfile
from calc.runs import Found, Measured, RunBook, correct, find, job_of, ratios_of
from calc.speed import StepModel, StepTime, setting, step
from calc.speed_constants import RANGE_FACTOR

REPEATS = 1.03
"""Repeated runs of one point on one kind of card: mean over 39 machines with H100, 0.6 % (Lambda,
v2 suite); boost and power limits of single cards add to it."""


def best_step(
    job: Job,
    profile: ModelProfile,
    offer: Offer,
    micro_batch: int,
    accumulation: int,
    book: RunBook,
    cards: Mapping[str, Card],
) -> StepTime | None:
    """`calc.speed.step`, moved by the nearest runs where there are some."""
    formula = step(job, profile, offer, micro_batch, accumulation)
    attention = setting(job, profile).attention
    found = find(job, offer.card.name, book, offer.count, micro_batch, attention)
    if formula is None or found is None:
        return formula
    ratios = ratios_of(found, lambda row: _ratio(row, profile, cards))
    if not ratios:
        return formula
    exact = found.kind == "exact" and all(r.row.accumulation == accumulation for r in found.rows)
    return _moved(formula, found, ratios, exact, _width(job, offer, found, cards))


def best_total_s(
    of: StepModel, micro_batch: int, accumulation: int, book: RunBook, cards: Mapping[str, Card]
) -> float:
    """The middle of `best_step` in seconds."""
    if not book.usable:
        return of.total_s(micro_batch, accumulation)
    moved = best_step(of.job, of.profile, of.offer, micro_batch, accumulation, book, cards)
    return of.total_s(micro_batch, accumulation) if moved is None else moved.total_s.mid


def _ratio(one: Measured, profile: ModelProfile, cards: Mapping[str, Card]) -> float | None:
    """Measured / formula at the run's own point; None where either is not known."""
    card, measured_s = cards.get(one.run.card), one.step_s
    if card is None or measured_s is None:
        return None
    try:
        job = job_of(one)
    except ValueError:
        return None
    there = step(job, profile, Offer(card, one.row.gpus), one.row.batch, one.row.accumulation)
    return None if there is None else measured_s / there.total_s.mid


def _width(job: Job, offer: Offer, found: Found, cards: Mapping[str, Card]) -> float:
    """90 % range factor around a moved formula."""
    nearby = RANGE_FACTOR["nearby"]
    if found.kind != "other":
        return nearby
    known = [cards[name] for name in found.cards if name in cards]
    factors = [ratio_factor(offer.card, card, job.precision) or nearby for card in known]
    return math.exp(math.hypot(math.log(nearby), math.log(min(factors))))


def _moved(
    formula: StepTime, found: Found, ratios: list[float], exact: bool, width: float
) -> StepTime:
    around = Range.around(formula.total_s.mid, width)
    total_s = correct(around, ratios, exact, REPEATS)
    share = total_s.mid / formula.total_s.mid
    parts = {name: seconds * share for name, seconds in formula.parts_s.items()}
    return StepTime(total_s, parts, "measured" if exact else "corrected")
