"""How long calc takes per offer: `python benchmarks/calc_speed.py`.

Prints the median of several rounds of processor time, for fit and cost alone and for the whole
comparison. Uses the traced profile of Video Swin-T.
"""

from __future__ import annotations

import statistics
import sys
import time
import timeit
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from calc.card import Offer
from calc.compare import compare
from calc.cost import cost
from calc.estimate import Range
from calc.fit import judge, plan
from calc.job import Job
from calc.measurements import load

TARGET_FIT_US = 20.0
TARGET_ALL_MS = 1.0


def median_s(call: Callable[[], object], number: int, rounds: int = 9) -> float:
    """Median processor seconds of one call over rounds of `number` calls."""
    timer = timeit.Timer(call, timer=time.process_time)
    return statistics.median(timer.repeat(rounds, number)) / number


def main() -> None:
    """Print both figures beside their targets."""
    data = load()
    profile = data.profile("video-swin-t")
    offer = Offer(data.cards["RTX 4090 24GB"])
    job = Job(cards=tuple(data.cards)[:6])
    planned = plan(job, profile, 1)
    step_s = Range(0.3, 0.4, 0.5)

    def fit_and_cost() -> None:
        judge(planned, offer)
        cost(job, offer, step_s, data.prices)

    seconds = median_s(fit_and_cost, 2000)
    print(f"fit and cost: {seconds * 1e6:.1f} us per offer (target {TARGET_FIT_US:.0f})")
    tight = job.replace(batch=64)
    for name, asked in (("fits", job), ("with advice", tight)):
        seconds = median_s(lambda asked=asked: compare(asked, data), 50) / len(job.cards)  # type: ignore[misc]
        print(f"everything, {name}: {seconds * 1e3:.3f} ms per offer (target {TARGET_ALL_MS:.0f})")


if __name__ == "__main__":
    main()
