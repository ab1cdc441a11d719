"""The same job at many batches, frames or sizes: the maps and curves of the app."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from calc.card import Offer
from calc.compare import Measured, offers, plans_of, profile_of
from calc.cost import as_loaded, hours_at, price_used, usd_per_h
from calc.fit import Plan
from calc.job import FIELD, Job
from calc.profile import PRECISION_KEY, ModelProfile, NotTraced
from calc.result import judged
from calc.speed import StepModel, model
from calc.speed_measured import best_total_s

LARGEST = int(FIELD["batch"].maximum or 1)
KEPT = 1024
"""Columns of the batch sweep kept, up to 3 kB each, and the speeds they are made with."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the tipping map.

    offer: the cheapest that takes the batch in one go; where none of those has a price, the
    fastest; None where none takes it. usd, hours: of the whole run on it.
    """

    frames: int
    size: int
    batch: int
    offer: str | None
    usd: float | None
    hours: float | None


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Speed of one offer at one batch, in micro-batches of micro_batch x accumulation per GPU."""

    offer: str
    batch: int
    micro_batch: int
    accumulation: int
    clips_per_s: float


def batches(around: int) -> tuple[int, ...]:
    """Twelve batches, doubling and half-doubling: seven below the job's own, itself, and above.

    Near 1 there are fewer below, near the largest more.

    >>> batches(8)
    (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    >>> batches(10)
    (1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48)
    """
    ladder = [1] + [rung for power in range(1, 13) for rung in (2**power, 3 * 2 ** (power - 1))]
    below = [rung for rung in ladder if rung < around][-7:]
    above = [rung for rung in ladder if around < rung <= LARGEST]
    row = [*below, around, *above[: 11 - len(below)]]
    return tuple(
        sorted([*ladder[: ladder.index(row[0])][len(row) - 12 :], *row] if len(row) < 12 else row)
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An offer with the price of its hour, the largest batch of one GPU in one go, and its pace."""

    offer: Offer
    usd_per_h: float | None
    largest: int
    pace: StepModel | None


def tipping_map(job: Job, data: Measured, axis: str, columns: Sequence[int]) -> tuple[Cell, ...]:
    """The cheapest offer for each batch of `columns` at every traced value of `axis`.

    axis: "frames" or "size"; the other stays as the job has it. Values that were not traced in the
    job's way are left out; a custom model has all that its patches and tubelets divide. A
    micro-batch that the job names does not count: a cell is one go.
    """
    chosen = [(offer, _usd_per_h(job, offer, data)) for offer in offers(job, data.cards)]
    cells: list[Cell] = []
    for value in _traced(job, profile_of(job, data), axis):
        cells += _row(job.replace(**{axis: value, "micro_batch": None}), data, chosen, columns)
    return tuple(cells)


def _traced(job: Job, profile: ModelProfile, axis: str) -> tuple[int, ...]:
    """Values of the axis that were traced at the job's other value and in its way."""
    if job.model == "custom":
        part = job.tubelet if axis == "frames" else job.patch
        return tuple(value for value in FIELD[axis].options if value % part == 0)
    key = PRECISION_KEY[job.precision]
    way = (key, job.checkpointing, job.trainable)
    found = [at for at in profile.points if (at.precision, at.checkpointing, at.trainable) == way]
    if axis == "frames":
        return tuple(sorted({at.frames for at in found if at.size == job.size}))
    return tuple(sorted({at.size for at in found if at.frames == job.frames}))


def _usd_per_h(job: Job, offer: Offer, data: Measured) -> float | None:
    used = price_used(job, offer.card, data.prices)
    return None if used is None else usd_per_h(job, offer, used)


def _row(
    job: Job, data: Measured, chosen: Sequence[tuple[Offer, float | None]], columns: Iterable[int]
) -> list[Cell]:
    """The cells of one row; a row that was not traced in the job's way gives none."""
    profile = profile_of(job, data)
    try:
        plans = plans_of(job, profile, [offer for offer, _ in chosen])
        candidates = [
            _Candidate(
                offer, rate, judged(job, profile, offer, data, plans[offer.count]).max_batch,
                model(job, profile, offer),
            )
            for offer, rate in chosen
        ]  # fmt: skip
    except NotTraced:
        return []
    return [_cell(job, candidates, batch, data) for batch in columns]


def _cell(job: Job, candidates: Iterable[_Candidate], batch: int, data: Measured) -> Cell:
    fitting = [each for each in candidates if -(-batch // each.offer.count) <= each.largest]
    runs = [
        (each.offer.text, None if each.usd_per_h is None else each.usd_per_h * time_h, time_h)
        for each in fitting
        if (time_h := _hours(job, each.pace, batch, data)) is not None
    ]
    priced = [run for run in runs if run[1] is not None]
    if priced:
        best = min(priced, key=lambda run: run[1] or 0.0)
    elif runs:
        best = min(runs, key=lambda run: run[2])
    else:
        name = fitting[0].offer.text if fitting else None
        return Cell(job.frames, job.size, batch, name, None, None)
    return Cell(job.frames, job.size, batch, *best)


def _hours(job: Job, pace: StepModel | None, batch: int, data: Measured) -> float | None:
    """Hours of the run with the share of one GPU in one go; None where no speed is known."""
    if pace is None:
        return None
    return hours_at(job, _clips_per_s(job, pace, -(-batch // pace.offer.count), 1, data))


def _clips_per_s(
    job: Job, pace: StepModel, micro_batch: int, accumulation: int, data: Measured
) -> float:
    """Clips of all GPUs a second, as far as the data loader keeps up."""
    step_s = best_total_s(pace, micro_batch, accumulation, data.runs, data.cards)
    return as_loaded(job, micro_batch * accumulation * pace.offer.count / step_s)


def batch_sweep(job: Job, data: Measured, columns: Sequence[int]) -> tuple[SweepPoint, ...]:
    """Speed of every offer at each batch, accumulated where it does not fit in one go or the job
    names a micro-batch."""
    rows = [_sweep_column(job.replace(batch=batch), data) for batch in columns]
    return tuple(point for offer in zip(*rows, strict=True) for point in offer if point is not None)


@lru_cache(KEPT)
def _sweep_column(job: Job, data: Measured) -> tuple[SweepPoint | None, ...]:
    """The points of one batch, one for each offer whose speed is known; None where it trains none.

    Kept, since a batch that moves leaves eleven of the twelve columns as they were.
    """
    paces = _paces(job.replace(batch=1), data)
    plans = plans_of(job, profile_of(job, data), [pace.offer for pace in paces])
    return tuple(_point(job, pace, plans[pace.offer.count], data) for pace in paces)


@lru_cache(KEPT)
def _paces(job: Job, data: Measured) -> tuple[StepModel, ...]:
    """The offers with a known speed; the same at every batch."""
    profile = profile_of(job, data)
    found = (model(job, profile, offer) for offer in offers(job, data.cards))
    return tuple(pace for pace in found if pace is not None)


def _point(job: Job, pace: StepModel, planned: Plan, data: Measured) -> SweepPoint | None:
    found = judged(job, pace.profile, pace.offer, data, planned)
    micro, parts = found.micro_batch, found.accumulation
    if micro is None or parts is None:
        return None
    speed = _clips_per_s(job, pace, micro, parts, data)
    return SweepPoint(pace.offer.text, job.batch, micro, parts, speed)
