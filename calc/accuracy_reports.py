"""What users reported, "it fits" or "out of memory", against the trace of the same step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calc import calibration
from calc.measurements import DataError, load_published


@dataclass(frozen=True, slots=True)
class Report:
    """A user's report and what the trace says; GiB. answer None: not traced, `why` says so."""

    id: str
    what: str
    outcome: str
    confidence: str
    usable_gib: float | None
    cap_gib: float | None
    reserved_gib: float | None
    answer: str | None
    why: str
    source: str

    @property
    def right(self) -> bool | None:
        """fits or tight where it fitted, no or tight where it did not; None: no answer."""
        if self.answer is None:
            return None
        return self.answer != ("no" if self.outcome == "fit" else "fits")


def report() -> list[Report] | None:
    """Every report; None where there is no file."""
    try:
        entries = load_published("video_memory_user_reports")["rows"]
    except DataError:
        return None
    return [_report(entry) for entry in entries]


def _report(entry: Mapping[str, Any]) -> Report:
    trace = entry["trace"] or {}
    usable, cap, reserved = (
        entry["usable_gib"], trace.get("cap_gib"), trace.get("reserved_gib")
    )  # fmt: skip
    answer = None
    if usable is not None and cap is not None and reserved is not None:
        answer = decide(usable, cap, reserved)
    return Report(
        id=entry["id"],
        what=f"{entry['model']}, {entry['gpu']}, batch {entry['batch']}",
        outcome=entry["outcome"],
        confidence=entry["confidence"],
        usable_gib=usable,
        cap_gib=cap,
        reserved_gib=reserved,
        answer=answer,
        why=entry["why"],
        source=entry["source"],
    )


def decide(usable_gib: float, cap_gib: float, reserved_gib: float) -> str:
    """no below the cap, fits from what the allocator holds without a limit on, tight between.

    >>> decide(10.0, 9.0, 9.5), decide(10.0, 9.9, 11.0), decide(10.0, 10.5, 11.0)
    ('fits', 'tight', 'no')
    """
    if usable_gib < cap_gib * calibration.SCALE:
        return "no"
    return "fits" if usable_gib >= reserved_gib else "tight"


def lines(found: list[Report] | None) -> Iterator[str]:
    """The reports for a terminal, those of high confidence first."""
    if found is None:
        yield "user reports: not validated"
        return
    decided = [r for r in found if r.answer is not None]
    right = sum(bool(r.right) for r in decided)
    yield f"user reports: {right} of {len(decided)} traced decided rightly, {len(found)} in all"
    for r in sorted(found, key=lambda r: (r.confidence != "high", r.id)):
        if r.confidence == "high" or r.answer is not None:
            yield _line(r)


def _line(r: Report) -> str:
    if r.answer is None:
        return f"  {r.id:18} {r.outcome:4} not decided: {r.why}"
    mark = "right" if r.right else "WRONG"
    return (
        f"  {r.id:18} {r.outcome:4} {mark}: {r.answer}, needs {r.cap_gib:.1f} to"
        f" {r.reserved_gib:.1f} of {r.usable_gib:.1f} GiB; {r.what}"
    )
