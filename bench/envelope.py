"""What a trace says: peak, parts, the lines whose maximum is the peak, and the timeline.

Pure arithmetic on the events of a `bench.trace.Trace`. At any moment the live memory is a straight
line in the batch, ``fixed + per_clip * b``, so the peak over the step is the upper envelope of
those lines. Bytes inside, MiB (2^20 bytes) in what is returned.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.trace import CATEGORIES, MIB, ROUNDING, Event, Trace

LARGEST_BATCH = 4096
TIMELINE_POINTS = 100
PARTS = {
    "weight": "weights",
    "gradient": "gradients",
    "optimizer": "optimizer",
    "activation": "activations",
    "temporary": "temporaries",
}


@dataclass(frozen=True, slots=True)
class Peak:
    """The peak at one batch: MiB, its parts in MiB (they sum to it), and its phase."""

    mib: float
    parts_mib: dict[str, float]
    phase: str


def peak(trace: Trace, batch: int) -> Peak:
    """Peak of live storages at `batch`, each rounded up to 512 bytes."""
    live = dict.fromkeys(CATEGORIES, 0)
    for event in trace.resident:
        live[event.category] += event.bytes_at(batch)
    total = highest = sum(live.values())
    best, phase = dict(live), "forward"
    for event in trace.events:
        change = event.bytes_at(batch) * (1 if event.kind == "alloc" else -1)
        live[event.category] += change
        total += change
        if total > highest:
            highest, best, phase = total, dict(live), event.phase
    parts = {PARTS[category]: size / MIB for category, size in best.items()}
    return Peak(highest / MIB, parts, phase)


class Moment(NamedTuple):
    """Live bytes without weights and optimizer state after an event, fixed and per clip.

    gradients: those that are handed over; a fresh one counts as temporary until then.
    """

    phase: str
    gradients: float
    activations: float
    activations_per_clip: float
    temporaries: float
    temporaries_per_clip: float

    @property
    def fixed(self) -> float:
        """Bytes that do not grow with the batch."""
        return self.gradients + self.activations + self.temporaries

    @property
    def per_clip(self) -> float:
        """Bytes that each clip adds."""
        return self.activations_per_clip + self.temporaries_per_clip

    def at(self, batch: float) -> float:
        """Bytes at `batch`."""
        return self.fixed + self.per_clip * batch

    def row(self) -> list[str | float]:
        """The line of a profile: phase and MiB."""
        return [self.phase, *(mib(value) for value in self[1:])]


def mib(size_bytes: float) -> float:
    """MiB with two digits, as profiles state them.

    >>> mib(3 * 2**20), mib(5000)
    (3.0, 0.0)
    """
    return round(size_bytes / MIB, 2) or 0.0


def rounded(event: Event) -> tuple[float, float]:
    """(fixed, per clip) bytes of a storage with rounding to 512, exact where 512 divides the clip's
    share, else with the half block that rounding adds on average.

    >>> rounded(Event("alloc", 0, 1000, 0, "forward", "weight"))
    (1024, 0)
    >>> rounded(Event("alloc", 0, 0, 1024, "forward", "activation"))
    (0, 1024)
    """
    if event.per_clip_bytes == 0:
        return -(-event.fixed_bytes // ROUNDING) * ROUNDING, 0
    partial = event.per_clip_bytes % ROUNDING or event.fixed_bytes % ROUNDING
    return event.fixed_bytes + (ROUNDING / 2 if partial else 0), event.per_clip_bytes


GRADIENTS, ACTIVATIONS, TEMPORARIES = 0, 1, 3  # positions in the sums below
COLUMN = {"activation": ACTIVATIONS, "temporary": TEMPORARIES, "gradient": TEMPORARIES}


def moments(trace: Trace) -> Iterator[Moment]:
    """The state before the first event and after each one."""
    sums = [0.0] * 5
    handed_over: dict[int, list[Event]] = {}
    for event in (*trace.resident, *trace.events):
        if event.kind == "alloc" and event.storage in trace.adopted:
            handed_over.setdefault(trace.adopted[event.storage], []).append(event)

    def add(column: int, event: Event, sign: int) -> None:
        fixed, per_clip = rounded(event)
        sums[column] += sign * fixed
        if column == GRADIENTS:
            assert per_clip == 0, "a gradient grows with the batch"
        else:
            sums[column + 1] += sign * per_clip

    for event in trace.resident:
        if event.category in COLUMN:
            add(COLUMN[event.category], event, 1)
    yield Moment("forward", *sums)
    for position, event in enumerate(trace.events):
        for gradient in handed_over.get(position, ()):
            add(TEMPORARIES, gradient, -1)
            add(GRADIENTS, gradient, 1)
        if event.category not in COLUMN:
            continue
        adopted = event.category == "gradient" and event.kind == "free"
        column = GRADIENTS if adopted else COLUMN[event.category]
        add(column, event, 1 if event.kind == "alloc" else -1)
        yield Moment(event.phase, *sums)


def gradients_bytes(trace: Trace) -> float:
    """All gradients together, each rounded up to 512 bytes."""
    events = (event for event in trace.events if event.kind == "alloc")
    return sum(rounded(event)[0] for event in events if event.storage in trace.adopted)


def step_lines(trace: Trace) -> list[Moment]:
    """Candidates for the peak of a step that begins without gradients."""
    return _lines(list(moments(trace)), gradients_bytes(trace))


def accumulate_lines(trace: Trace) -> list[Moment]:
    """Candidates where gradients of earlier micro-batches are there all the time."""
    everything = gradients_bytes(trace)
    return _lines([m._replace(gradients=everything) for m in moments(trace)], everything)


def _lines(found: Sequence[Moment], gradients: float) -> list[Moment]:
    """Upper envelope of forward and backward, and the line of the optimizer step.

    Copies that the optimizer makes are not in its line: they depend on the optimizer.
    """
    envelope = upper_envelope([m for m in found if m.phase != "optimizer"])
    start = next((m for m in found if m.phase == "optimizer"), found[-1])
    quiet = Moment("optimizer", gradients, start.activations, start.activations_per_clip, 0.0, 0.0)
    return [*envelope, quiet]


def upper_envelope(lines: Sequence[Moment]) -> list[Moment]:
    """The lines that are highest for some batch from 1 to LARGEST_BATCH, in order of that batch."""
    kept: list[Moment] = []
    batch = 1.0
    current = max(lines, key=lambda line: (line.at(batch), line.per_clip))
    while True:
        kept.append(current)
        steeper = [line for line in lines if line.per_clip > current.per_clip]
        crossings = [
            ((current.fixed - line.fixed) / (line.per_clip - current.per_clip), -line.per_clip, i)
            for i, line in enumerate(steeper)
        ]
        if not crossings or min(crossings)[0] > LARGEST_BATCH:
            return kept
        current = steeper[min(crossings)[2]]


def timeline(trace: Trace) -> tuple[list[float], list[float], list[float]]:
    """(phase ends as shares of the step, fixed MiB, MiB per clip) at up to TIMELINE_POINTS moments.

    Each point stands for an equal share of the events and takes the highest moment among them, so
    that no peak is lost.
    """
    found = list(moments(trace))
    ends = [
        sum(m.phase in phases for m in found) / len(found)
        for phases in (("forward",), ("forward", "backward"), ("forward", "backward", "optimizer"))
    ]
    count = min(TIMELINE_POINTS, len(found))
    cuts = [round(i * len(found) / count) for i in range(count + 1)]
    highest = [
        max(found[low:high], key=lambda m: m.at(8)) for low, high in itertools.pairwise(cuts)
    ]
    return (
        [round(end, 3) for end in ends],
        [round(m.fixed / MIB, 1) for m in highest],
        [round(m.per_clip / MIB, 1) for m in highest],
    )
