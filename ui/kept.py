"""Map and curve over batches, kept for as long as only the batch changes.

No cell depends on the batch that the job has, so a visitor who moves the batch needs one or two new
columns, not all twelve. Any other input starts anew. Both are calc's own answers, put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from calc.job import Job
from calc.sweep import Cell, SweepPoint, batch_sweep, tipping_map
from ui.data import data

KEPT = 64
"""Jobs kept; about 15 kB each."""

One = TypeVar("One", Cell, SweepPoint)
Columns = dict[int, tuple[One, ...]]


@lru_cache(KEPT)
def _columns(job: Job, kind: str, version: str) -> Columns:  # type: ignore[type-arg]
    """The columns found so far for a job, by batch; starts empty."""
    return {}


def _kept(
    job: Job, kind: str, wanted: Sequence[int], find: Callable[[Sequence[int]], Iterable[One]]
) -> list[One]:
    """The wanted columns, one after the other; finds those that are not known yet."""
    known: Columns[One] = _columns(job.replace(batch=1, micro_batch=None), kind, data().version)
    new = [batch for batch in wanted if batch not in known]
    if new:
        found = list(find(new))
        for batch in new:
            known[batch] = tuple(one for one in found if one.batch == batch)
    return [one for batch in wanted for one in known[batch]]


def tipping(job: Job, axis: str, wanted: Sequence[int]) -> tuple[Cell, ...]:
    """`calc.sweep.tipping_map` with this session's data."""
    if data().runs.usable:  # the nearest run may be another one for another batch
        return tipping_map(job, data(), axis, wanted)
    cells = _kept(job, axis, wanted, lambda new: tipping_map(job, data(), axis, new))
    return tuple(sorted(cells, key=lambda cell: (cell.frames, cell.size)))


def sweep(job: Job, wanted: Sequence[int]) -> tuple[SweepPoint, ...]:
    """`calc.sweep.batch_sweep` with this session's data."""
    points = _kept(job, "batch", wanted, lambda new: batch_sweep(job, data(), new))
    return tuple(sorted(points, key=lambda point: job.cards.index(point.offer)))
