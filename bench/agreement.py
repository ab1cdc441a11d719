"""A run against the prediction: ratios, the band, and what the run would change in the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calc import memory, runs, speed
from calc.card import Card, Offer
from calc.estimate import Range
from calc.job import Job
from calc.profile import ModelProfile, NotTraced
from calc.runs import Measured, RunBook

REPEATS_MEMORY = 1.02
REPEATS_TIME = 1.05
"""How well a second run of the same point agrees; see AGREEMENT in `calc/runs.py`."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """One row beside its prediction by formula; None where either is not known."""

    measured: Measured
    formula_gib: Range | None
    formula_s: Range | None

    @property
    def memory_ratio(self) -> float | None:
        """Allocated peak, measured / formula."""
        return _ratio(self.measured.allocated_gib, self.formula_gib)

    @property
    def time_ratio(self) -> float | None:
        """Time of a step, measured / formula."""
        return _ratio(self.measured.step_s, self.formula_s)

    @property
    def outside(self) -> bool:
        """Whether it lies outside the band in which a run is used at once."""
        bands = ((self.memory_ratio, runs.BAND_MEMORY), (self.time_ratio, runs.BAND_TIME))
        return any(ratio and not 1 / band <= ratio <= band for ratio, band in bands)


def _ratio(measured: float | None, formula: Range | None) -> float | None:
    return measured / formula.mid if measured and formula else None


def compare(measured: Measured, card: Card | None, profile: ModelProfile | None) -> Agreement:
    """A row and its prediction."""
    nothing = Agreement(measured, None, None)
    if profile is None or card is None or measured.row.mode != "train":
        return nothing
    try:
        job = runs.job_of(measured)
        formula = _formula(job, profile, card, measured)
    except (NotTraced, ValueError, KeyError):
        return nothing
    return Agreement(measured, *formula)


def _formula(
    job: Job, profile: ModelProfile, card: Card, measured: Measured
) -> tuple[Range, Range | None]:
    row = measured.row
    allocated = memory.estimate(job, profile, row.batch, row.accumulation, row.gpus).allocated
    step = speed.step(job, profile, Offer(card, min(row.gpus, 8)), row.batch, row.accumulation)
    return allocated, None if step is None else step.total_s


@dataclass(frozen=True, slots=True)
class Effect:
    """What a row changes in the answer to its own job: GiB and seconds, before and after."""

    measured: Measured
    gib: tuple[float, float] | None
    step_s: tuple[float, float] | None


def effect(new: Agreement, others: RunBook, card: Card, profile: ModelProfile | None) -> Effect:
    """The answer for this row's job without the row and with it."""
    run, row = new.measured.run, new.measured.row
    try:
        job = runs.job_of(new.measured)
    except ValueError:
        return Effect(new.measured, None, None)
    found = runs.find(job, run.card, others, row.gpus, row.batch, row.attention)
    exact = found is None or found.kind == "exact"

    def before(of: Callable[[Agreement], float | None]) -> list[float]:
        return runs.ratios_of(found, lambda one: of(compare(one, card, profile))) if found else []

    memory_ratios = before(lambda one: one.memory_ratio)
    time_ratios = before(lambda one: one.time_ratio)
    return Effect(
        new.measured,
        _moved(new.formula_gib, memory_ratios, new.memory_ratio, exact, REPEATS_MEMORY),
        _moved(new.formula_s, time_ratios, new.time_ratio, exact, REPEATS_TIME),
    )


def _moved(
    formula: Range | None,
    before: Sequence[float],
    new: float | None,
    exact: bool,
    repeats: float,
) -> tuple[float, float] | None:
    if formula is None or new is None:
        return None
    old = runs.correct(formula, before, exact, repeats).mid
    return old, runs.correct(formula, [*before, new], exact, repeats).mid
