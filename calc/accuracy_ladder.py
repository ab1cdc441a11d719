"""Largest batch that trains on a 24 GB card: predicted on timm's ladder, one family left out.

The one figure that is fitted is how much of an RTX 3090 a training process could use: CUDA's
context, a desktop and convolution workspaces take the rest, and no source says how much. It is
learned on all other families of models and graded on the one that is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from calc.accuracy_memory import Ladder, ladder, wilson
from calc.measurements import DataError, load_published

USABLE_GIB = tuple(round(21.0 + 0.05 * step, 2) for step in range(55))
"""What is tried for the usable memory; PyTorch reports 23.7 GiB as the card's total."""
STATED_GIB = 23.2
"""Total of the card less 0.5 GiB of context, as `calc.fit` takes it: nothing fitted."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a batch needs, GiB; cap_gib None where it is far below the card."""

    batch: int
    live_gib: float
    cap_gib: float | None


@dataclass(frozen=True, slots=True)
class Model:
    """A model with the batch that ran, and the steps near the card's memory, largest first."""

    name: str
    family: str
    ran: int
    steps: tuple[Step, ...]

    def predicted(self, usable_gib: float) -> int:
        """The first step of the ladder that fits; 0 where none does.

        >>> Model("a", "a", 8, (Step(16, 22.0, 22.5), Step(8, 11.0, None))).predicted(22.0)
        8
        """
        for step in self.steps:
            if step.cap_gib is None or step.cap_gib <= usable_gib:
                return step.batch
        return 0

    def predicted_raw(self, usable_gib: float) -> int:
        """The same by live tensors alone, as a trace without an allocator has it."""
        return next((s.batch for s in self.steps if s.live_gib <= usable_gib), 0)


@cache
def models() -> tuple[Model, ...]:
    """The traced models; () where there is no file."""
    try:
        tree = load_published("timm_rtx3090")
    except DataError:
        return ()
    return tuple(_model(entry) for entry in tree["models"])


@cache
def steps() -> tuple[int, ...]:
    """The ladder, largest first."""
    return tuple(load_published("timm_rtx3090")["ladder"])


def _model(entry: Mapping[str, Any]) -> Model:
    found = tuple(Step(int(s[0]), s[1], s[4] if len(s) > 2 else None) for s in entry["steps"])
    return Model(entry["model"], entry["family"], entry["ran"], found)


def best_usable_gib(items: Sequence[Model]) -> float:
    """The usable memory that names most true steps; the middle of equals, towards the smaller."""
    right = {c: sum(m.predicted(c) == m.ran for m in items) for c in USABLE_GIB}
    best = [c for c, count in right.items() if count == max(right.values())]
    return best[(len(best) - 1) // 2]


def graded() -> tuple[tuple[Model, int, float], ...]:
    """Model, predicted step, and the usable memory learned on the other families."""
    items = models()
    usable = {
        family: best_usable_gib([m for m in items if m.family != family])
        for family in {m.family for m in items}
    }
    return tuple((m, m.predicted(usable[m.family]), usable[m.family]) for m in items)


def headroom_gib() -> float:
    """What all models together say the card lacked beyond `STATED_GIB`."""
    return round(STATED_GIB - best_usable_gib(models()), 2)


def report() -> dict[str, Any] | None:
    """Ladder results with the family left out, with nothing fitted, and of live tensors alone."""
    items = graded()
    if not items:
        return None
    usable = [limit for _, _, limit in items]
    return {
        "families": len({m.family for m, _, _ in items}),
        "usable_gib": (min(usable), max(usable)),
        "held_out": ladder(steps(), [(m.ran, p) for m, p, _ in items], "usable memory"),
        "nothing_fitted": ladder(steps(), [(m.ran, m.predicted(STATED_GIB)) for m, _, _ in items]),
        "live_tensors_only": ladder(
            steps(), [(m.ran, m.predicted_raw(STATED_GIB)) for m, _, _ in items]
        ),
        "wrong": [(m.name, m.ran, p) for m, p, _ in items if m.ran != p],
    }


def lines(found: Mapping[str, Any] | None) -> Iterator[str]:
    """The report for a terminal."""
    if found is None:
        yield "largest batch on a 24 GB card: not validated"
        return
    low, high = found["usable_gib"]
    yield (
        f"largest batch on a 24 GB RTX 3090, timm's ladder below 512, {found['families']} families,"
        f" fp16 AMP; usable memory learned on the other families: {low:.2f} to {high:.2f} GiB"
    )
    for name in ("held_out", "nothing_fitted", "live_tensors_only"):
        yield _ladder_line(name.replace("_", " "), found[name])


def _ladder_line(name: str, found: Ladder) -> str:
    low, high = wilson(found.exact, found.n)
    return (
        f"  {name:18} n {found.n}: true step {found.exact / found.n:.1%} ({low:.0%}-{high:.0%}), "
        f"too large {found.too_large / found.n:.1%}, within one {found.within_one / found.n:.1%}"
    )
