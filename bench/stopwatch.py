"""Time of the parts of a step, without waiting for the GPU, and the rules of a fair measurement."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.point import Limits

Agree = Callable[[Any], Any]

STEADY_WITHIN = 0.02  # the last five medians lie within 2 %
STEADY_WINDOWS = 5
WINDOW_S = 0.25  # a median is taken over this long, or over one step where that is longer
LARGEST_WINDOW = 50  # steps
LEAST_STEPS = 5  # of the steady state, however long they take


class Stopwatch:
    """Marks the ends of a step's parts: CUDA events on a GPU, the clock on a CPU.

    A part lasts from the mark before it to its own, so nothing between two steps is lost.
    """

    def __init__(self, device: str, last_part: str = "optimizer") -> None:
        self.device = device
        self.last_part = last_part
        self.marks: list[tuple[str, Any]] = []
        self.part = ""  # what runs now, for the message of an error

    def mark(self, part: str) -> None:
        """The part `part` ends here."""
        if self.device != "cuda":
            self.marks.append((part, time.perf_counter()))
            return
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.marks.append((part, event))

    def wait(self) -> None:
        """Until the GPU has done everything that was asked of it."""
        if self.device == "cuda":
            import torch

            torch.cuda.synchronize()

    def restart(self) -> None:
        """Forget what was marked; the next part begins here."""
        self.wait()
        self.marks.clear()
        self.mark("start")

    def steps(self) -> list[dict[str, float]]:
        """Milliseconds of each part of each step since the restart; `last_part` ends a step."""
        self.wait()
        steps: list[dict[str, float]] = [{}]
        for (_, before), (part, after) in zip(self.marks, self.marks[1:], strict=False):
            steps[-1][part] = steps[-1].get(part, 0.0) + self._between_ms(before, after)
            if part == self.last_part:
                steps.append({})
        return steps[:-1]

    def _between_ms(self, before: Any, after: Any) -> float:
        if self.device == "cuda":
            return float(before.elapsed_time(after))
        return float(after - before) * 1000


def step_ms(steps: Sequence[dict[str, float]]) -> list[float]:
    """Whole steps."""
    return [sum(step.values()) for step in steps]


def part_ms(steps: Sequence[dict[str, float]], part: str) -> float | None:
    """Median of one part, None where it does not occur."""
    times = [step[part] for step in steps if part in step]
    return statistics.median(times) if times else None


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies, linear between neighbours.

    >>> percentile([1.0, 2.0, 3.0, 4.0, 5.0], 0.9)
    4.6
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def is_steady(medians: Sequence[float]) -> bool:
    """Whether the last five medians lie within 2 %.

    >>> is_steady([150, 100, 101, 100, 99.5, 100]), is_steady([100, 101, 100, 99])
    (True, False)
    """
    last = medians[-STEADY_WINDOWS:]
    return len(last) == STEADY_WINDOWS and max(last) <= min(last) * (1 + STEADY_WITHIN)


def window_steps(one_step_ms: float) -> int:
    """How many steps a median is taken over.

    >>> window_steps(10.0), window_steps(3000.0)
    (25, 1)
    """
    return max(1, min(LARGEST_WINDOW, round(WINDOW_S * 1000 / max(one_step_ms, 0.001))))


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How a warm-up went; `steady` is false where the time ran out first."""

    seconds: float
    steady: bool
    step_ms: float


def warm_up(
    run_steps: Callable[[int], list[float]], limit_s: float, agree: Agree = lambda answer: answer
) -> WarmUp:
    """Run steps until they are steady, `limit_s` at most.

    `run_steps(n)` runs n steps and returns the milliseconds of each; `agree` makes several ranks
    take the same decision.
    """
    begin_s = time.perf_counter()
    medians = run_steps(1)
    window = agree(window_steps(medians[0]))
    steady = False
    while not agree(steady or time.perf_counter() - begin_s > limit_s):
        medians.append(statistics.median(run_steps(window)))
        steady = is_steady(medians[1:])
    return WarmUp(time.perf_counter() - begin_s, agree(steady), agree(medians[-1]))


def steady_steps(one_step_ms: float, limits: Limits) -> int:
    """How many steps the steady state has: `steps` and `least_s`, but not beyond `seconds`.

    >>> [steady_steps(ms, Limits()) for ms in (10.0, 400.0, 900.0, 9000.0)]
    [200, 20, 11, 5]
    """
    wanted = max(limits.steps, math.ceil(limits.least_s * 1000 / max(one_step_ms, 0.001)))
    in_time = int(limits.seconds * 1000 / max(one_step_ms, 0.001))
    return max(min(wanted, in_time), min(LEAST_STEPS, limits.steps))
