"""Offers with given figures, to test sentences on: made, not measured."""

from __future__ import annotations

from calc.card import Offer
from calc.cost import PriceUsed
from calc.estimate import Range
from calc.fit import Fit
from calc.job import Job
from calc.measurements import load_cards
from calc.memory import estimate
from calc.result import OfferResult
from calc.speed import StepTime
from tests.calc.samples import profile

ROUND = profile()


def offer(name: str, count: int = 1) -> Offer:
    """An offer of a real card."""
    return Offer(load_cards()[name], count)


def result(
    name: str = "RTX 4090 24GB", count: int = 1, *, usable: float = 23.0, micro: int | None = 8,
    parts: int = 1, state: str = "fits", hours: float | None = 40.0, usd_per_h: float | None = 0.5,
    spread: float = 1.1, waits: float = 0.0,
) -> OfferResult:  # fmt: skip
    """An offer that trains in so many hours at so many dollars."""
    memory = estimate(Job(), ROUND, micro or 1)
    room = Range.exact(usable)
    trains = micro is not None
    time = Range.around(hours, spread) if hours is not None and trains else None
    step = StepTime(Range.exact(1.0), {"gemm": 1 - waits, "communication": waits}, "formula")
    price = None if usd_per_h is None else PriceUsed(usd_per_h / count, "on_demand", False)
    return OfferResult(
        offer=offer(name, count),
        fit=Fit(state, micro or 0, micro, parts if trains else None, memory, room,
                memory.cap.mid),
        memory=memory, usable_gib=room, max_batch=micro or 0, micro_batch=micro,
        accumulation=parts if trains else None, step=step if time else None,
        clips_per_s=None if time is None else Range.exact(8.0), hours=time,
        usd=None if time is None or usd_per_h is None else time * usd_per_h,
        kwh=None, price=price if time else None, needs_clips_per_s=8.0 if time else None,
        basis={"memory": "formula", "speed": "formula" if time else None},
    )  # fmt: skip


def a100(**figures: object) -> OfferResult:
    """An A100 that is 1.21 times as fast at four times the price, unless told otherwise."""
    given = {"usable": 39.0, "hours": 33.0, "usd_per_h": 2.0, **figures}
    return result("A100 40GB SXM4", **given)  # type: ignore[arg-type]
