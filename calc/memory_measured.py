"""Memory in the order of trust: this point measured, near it, on another card, formula.

A run says measured / formula at its own point; the formula of the job is moved by that. Allocated
memory is the same on every card that runs the same operations; cap and calm stay the replay's.
"""

from __future__ import annotations

from calc.card import Offer
from calc.fit import Move, Plan, plan, share
from calc.job import Job
from calc.memory import MemoryModel, estimate
from calc.profile import ModelProfile, NotTraced, attention
from calc.runs import Found, Measured, RunBook, correct, find, job_of, ratios_of

REPEATS = 1.01
"""Peak allocated of the same step repeats exactly on one machine; cuDNN's choice of algorithms may
differ between two, by the size of a workspace."""


def best_plan(job: Job, profile: ModelProfile, offer: Offer, runs: RunBook) -> Plan | None:
    """`calc.fit.plan`, moved by the nearest runs; None where there are none."""
    if not runs.usable:
        return None
    micro = min(job.micro_batch or share(job, offer.count), share(job, offer.count))
    kind = attention(job, profile)
    found = find(job, offer.card.name, runs, offer.count, micro, kind)
    ratios = ratios_of(found, lambda row: _ratio(row, profile)) if found else []
    if found is None or not ratios:
        return None
    return plan(job, profile, offer.count, _move(found, ratios, micro))


def _ratio(one: Measured, profile: ModelProfile) -> float | None:
    """Measured / formula at the run's own point; None where either is not known."""
    measured_gib, row = one.allocated_gib, one.row
    if measured_gib is None:
        return None
    try:
        there = estimate(job_of(one), profile, row.batch, row.accumulation, row.gpus)
    except (NotTraced, ValueError):
        return None
    return measured_gib / there.allocated.mid


def _move(found: Found, ratios: list[float], micro: int) -> Move:
    """What the runs do to a memory model."""

    def move(memory: MemoryModel) -> MemoryModel:
        formula = memory.allocated.of(memory.peak_gib(micro))
        moved = correct(formula, ratios, found.kind == "exact", REPEATS)
        low, high = moved.low / moved.mid, moved.high / moved.mid
        return memory.moved(moved.mid / formula.mid, low, high, found.basis)

    return move
