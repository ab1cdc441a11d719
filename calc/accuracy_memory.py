"""How close memory estimates are to published figures, graded on groups that were not fitted.

A row is a published peak of allocated memory with the trace of the same step beside it. The
estimate is the trace, block remainders included: nothing is fitted, because a line fitted on other
groups predicts a group worse (`line_instead`). The range of a group comes from all other groups.
Rows of low confidence, and rows of another metric, are not graded.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from calc import calibration
from calc.measurements import load_published

ALPHA = 0.05
"""Share of residuals left out at each end of the 90 % range."""
CAPACITIES = tuple(round(0.85 + 0.01 * step, 2) for step in range(31))
"""Capacities a decision is graded at, as multiples of the measured peak."""
Z95 = 1.959964
"""Two-sided 95 % quantile of the normal distribution."""
IRLS_STEPS = 60
CALIBRATED_FROM_MIB = 2048.0
"""Traces from here on are calibrated on; all are graded. Below, cuDNN's workspaces, 50 to 230 MiB
in four published rows, are a large share; no video job that fills a card is that small."""


@dataclass(frozen=True, slots=True)
class Row:
    """A published peak and its trace, MiB. trace_mib: live tensors and block remainders."""

    id: str
    group: str
    family: str
    arch: str
    precision: str
    confidence: str
    measured_mib: float
    trace_mib: float
    source: str


@dataclass(frozen=True, slots=True)
class Fit:
    """mid = add_mib + scale * trace."""

    add_mib: float
    scale: float

    def mid_mib(self, trace_mib: float) -> float:
        """The calibrated estimate of a trace.

        >>> Fit(10.0, 1.01).mid_mib(1000.0)
        1020.0
        """
        return self.add_mib + self.scale * trace_mib


@dataclass(frozen=True, slots=True)
class Graded:
    """A row with its estimate; the range has not seen its group. MiB."""

    row: Row
    mid_mib: float
    low_mib: float
    high_mib: float

    @property
    def error(self) -> float:
        """Relative error of mid; above 0 where the estimate is too high."""
        return self.mid_mib / self.row.measured_mib - 1

    @property
    def ratio(self) -> float:
        """Measured / predicted."""
        return self.row.measured_mib / self.mid_mib

    @property
    def covered(self) -> bool:
        """Whether the measured peak lies in the range."""
        return self.low_mib <= self.row.measured_mib <= self.high_mib


# --- Rows ---------------------------------------------------------------------------------------


@cache
def rows(confidences: tuple[str, ...] = ("high", "medium")) -> tuple[Row, ...]:
    """Traced rows of the given confidences."""
    entries: Iterable[Mapping[str, Any]] = load_published("video_memory")["rows"]
    return tuple(
        _row(entry)
        for entry in entries
        if entry["confidence"] in confidences and entry["trace"] and not entry["not_comparable"]
    )


def _row(entry: Mapping[str, Any]) -> Row:
    trace = entry["trace"]
    return Row(
        id=entry["id"],
        group=entry["group"],
        family=entry["family"],
        arch=entry["arch"],
        precision=entry["precision"],
        confidence=entry["confidence"],
        measured_mib=float(entry["measured_mib"]),
        trace_mib=trace["live_mib"] + trace["rounding_mib"],
        source=entry["source"],
    )


def by_group(items: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by backbone group, groups sorted."""
    groups: dict[str, list[Row]] = {}
    for row in items:
        groups.setdefault(row.group, []).append(row)
    return dict(sorted(groups.items()))


# --- Fit and range ------------------------------------------------------------------------------


def fit(items: Sequence[Row]) -> Fit:
    """The line with the least sum of absolute relative errors, each group having one vote.

    Found by re-weighted least squares. With fewer than two groups there is nothing to learn from.

    >>> fit([])
    Fit(add_mib=0.0, scale=1.0)
    """
    groups = by_group(items)
    if len(groups) < 2:
        return Fit(0.0, 1.0)
    votes = [1 / len(groups[row.group]) for row in items]
    found = Fit(0.0, 1.0)
    for _ in range(IRLS_STEPS):
        found = _least_squares(
            items, [v * _robust(found, r) for v, r in zip(votes, items, strict=True)]
        )
    return found


def _robust(found: Fit, row: Row) -> float:
    """Weight that turns squares into absolute values; 0.1 % keeps it finite."""
    return 1 / max(abs(found.mid_mib(row.trace_mib) / row.measured_mib - 1), 0.001)


def _least_squares(items: Sequence[Row], weights: Sequence[float]) -> Fit:
    """Minimum of sum w ((a + b t) / y - 1)^2."""
    s = [0.0] * 5
    for row, weight in zip(items, weights, strict=True):
        one, t = 1 / row.measured_mib, row.trace_mib / row.measured_mib
        for i, value in enumerate((one * one, one * t, t * t, one, t)):
            s[i] += weight * value
    determinant = s[0] * s[2] - s[1] * s[1]
    return Fit((s[3] * s[2] - s[1] * s[4]) / determinant, (s[0] * s[4] - s[1] * s[3]) / determinant)


def conformal(residuals: Sequence[float], alpha: float = ALPHA) -> tuple[float, float]:
    """Lower and upper residual that a new one stays between with probability 1 - 2 alpha.

    Split conformal: of n residuals the upper end is number ceil((n + 1) (1 - alpha)), or the
    largest where n is too small for that.

    >>> conformal([float(n) for n in range(1, 40)])
    (2.0, 38.0)
    """
    ordered = sorted(residuals)
    place = min(len(ordered), math.ceil((len(ordered) + 1) * (1 - alpha)))
    return ordered[len(ordered) - place], ordered[place - 1]


def residuals(items: Sequence[Row], fitted: bool) -> dict[str, list[float]]:
    """log(measured / mid) by group; `fitted`: each group predicted by a line of the others."""
    found: dict[str, list[float]] = {}
    for group, members in by_group(items).items():
        line = fit([row for row in items if row.group != group]) if fitted else Fit(0.0, 1.0)
        found[group] = [math.log(r.measured_mib / line.mid_mib(r.trace_mib)) for r in members]
    return found


def calibrated_on(items: Sequence[Row]) -> dict[str, list[float]]:
    """log(measured / mid) by group, of rows large enough to calibrate on; nothing is fitted."""
    return residuals([r for r in items if r.trace_mib >= CALIBRATED_FROM_MIB], False)


def typical(found: Mapping[str, Sequence[float]]) -> float:
    """Median of the groups' median errors: every group has one vote."""
    return median([median([abs(value) for value in group]) for group in found.values()])


def line_instead(items: Sequence[Row]) -> tuple[float, float]:
    """Typical error of the plain trace, and of a line fitted on the groups it is not graded on."""
    return typical(residuals(items, False)), typical(residuals(items, True))


def spread(found: Mapping[str, Sequence[float]], enough: bool) -> tuple[float, float]:
    """Range of residuals by group: of all rows together, or (not `enough`) the widest group's."""
    if enough:
        return conformal([value for group in found.values() for value in group])
    ends = [conformal(group) for group in found.values()]
    return min(low for low, _ in ends), max(high for _, high in ends)


def grade(items: Sequence[Row]) -> tuple[Graded, ...]:
    """Every row with its estimate and a range that knows nothing of its group."""
    return tuple(
        graded
        for group, members in by_group(items).items()
        for graded in _grade_group(members, [row for row in items if row.group != group])
    )


def _grade_group(members: Sequence[Row], others: Sequence[Row]) -> list[Graded]:
    counts = by_kind(members)
    seen = calibrated_on(others)
    ranges = {kind: spread(seen, n >= calibration.ENOUGH) for kind, n in counts.items()}
    return [_graded(row, *ranges[calibration.kind(row.group, row.precision)]) for row in members]


def _graded(row: Row, low: float, high: float) -> Graded:
    mid = Fit(calibration.ADD_MIB, calibration.SCALE).mid_mib(row.trace_mib)
    return Graded(row, mid, mid * math.exp(min(low, 0.0)), mid * math.exp(max(high, 0.0)))


def by_kind(items: Iterable[Row]) -> dict[str, int]:
    """How many rows there are of each group and precision."""
    return dict(sorted(Counter(calibration.kind(r.group, r.precision) for r in items).items()))


def constants() -> dict[str, Any]:
    """The constants of `calc.calibration`, from all rows of high and medium confidence."""
    items = rows()
    found = calibrated_on(items)
    low, high = spread(found, True)
    far_low, far_high = spread(found, False)
    return {
        "LOW": round(math.exp(low), 4),
        "HIGH": round(math.exp(high), 4),
        "FAR_LOW": round(math.exp(min(low, far_low)), 4),
        "FAR_HIGH": round(math.exp(max(high, far_high)), 4),
        "GROUP_ROWS": by_kind(items),
    }


# --- Statistics ---------------------------------------------------------------------------------


def median(values: Sequence[float]) -> float:
    """Middle value, or the mean of the two in the middle."""
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def voted_percentile(groups: Iterable[Sequence[float]], share: float) -> float:
    """Percentile over rows in which every group has the same weight.

    >>> voted_percentile([[1.0], [2.0, 2.0, 2.0, 9.0]], 0.5)
    1.0
    """
    weighted = sorted((value, 1 / len(group)) for group in groups for value in group)
    need = share * sum(weight for _, weight in weighted)
    total = 0.0
    for value, weight in weighted:
        total += weight
        if total >= need - 1e-9:
            return value
    raise ValueError("a percentile needs at least one value")


def wilson(successes: int, n: int) -> tuple[float, float]:
    """95 % Wilson interval of a share.

    >>> [round(end, 3) for end in wilson(9, 10)]
    [0.596, 0.982]
    """
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, Z95 * Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of a set of graded rows, as fractions. under: share of rows estimated too low."""

    n: int
    median: float
    p90: float
    worst: float
    under: float
    covered: int
    coverage: tuple[float, float]
    width: float


def summary(items: Sequence[Graded]) -> Summary | None:
    """Figures of some rows; None where there is none."""
    if not items:
        return None
    errors = [abs(item.error) for item in items]
    covered = sum(item.covered for item in items)
    return Summary(
        n=len(items),
        median=statistics.median(errors),
        p90=percentile(errors, 0.9),
        worst=max(errors),
        under=sum(item.error < 0 for item in items) / len(items),
        covered=covered,
        coverage=wilson(covered, len(items)),
        width=statistics.median(item.high_mib / item.low_mib for item in items),
    )


@dataclass(frozen=True, slots=True)
class Boundary:
    """Decisions at capacities near the measured peak; n decisions of `rows` rows."""

    rows: int
    n: int
    wrong_fits: int
    wrong_no: int
    tight: int
    rows_with_wrong_fit: int

    def bound(self, wrong: int) -> float:
        """Upper 95 % bound of a rate, taking each decision as one trial."""
        return wilson(wrong, self.n)[1]


def decide(item: Graded, capacity_mib: float, headroom_mib: float = 0.0) -> str:
    """fits from the upper end of the range and the headroom on, no below mid, tight between."""
    if capacity_mib - headroom_mib >= item.high_mib:
        return "fits"
    return "no" if capacity_mib < item.mid_mib else "tight"


def boundary(items: Sequence[Graded], headroom_mib: float = 0.0) -> Boundary:
    """Grade `decide` at capacities of 0.85 to 1.15 times the measured peak.

    Without headroom the estimate alone is graded; the app leaves `calibration.HEADROOM_GIB` free.
    """
    count = {"fits": 0, "no": 0, "tight": 0}
    bad_rows = 0
    for item in items:
        wrong = 0
        for share in CAPACITIES:
            answer = decide(item, share * item.row.measured_mib, headroom_mib)
            right = (answer == "fits") == (share >= 1)
            count[answer] += answer == "tight" or not right
            wrong += answer == "fits" and not right
        bad_rows += wrong > 0
    return Boundary(
        len(items),
        len(items) * len(CAPACITIES),
        count["fits"],
        count["no"],
        count["tight"],
        bad_rows,
    )


# --- Ladder and reports ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ladder:
    """Largest batch on a ladder of steps: how many models were predicted which way."""

    n: int
    exact: int
    too_large: int
    within_one: int
    fitted: str


def ladder(steps: Sequence[int], pairs: Iterable[tuple[int, int]], fitted: str = "") -> Ladder:
    """Grade pairs of (true, predicted) steps of a descending ladder.

    >>> ladder([4, 2, 1], [(2, 2), (2, 4), (4, 1)])
    Ladder(n=3, exact=1, too_large=1, within_one=2, fitted='')
    """
    place = {step: index for index, step in enumerate(steps)}
    off = [place[truth] - place.get(predicted, len(steps)) for truth, predicted in pairs]
    return Ladder(
        n=len(off),
        exact=sum(d == 0 for d in off),
        too_large=sum(d > 0 for d in off),
        within_one=sum(abs(d) <= 1 for d in off),
        fitted=fitted,
    )


def furthest(items: Sequence[Graded], count: int = 10) -> tuple[Graded, ...]:
    """The rows furthest off."""
    return tuple(sorted(items, key=lambda item: -abs(item.error))[:count])


def grouped(items: Sequence[Graded], key: Callable[[Row], str]) -> dict[str, Summary | None]:
    """Summaries by a word of the row."""
    names = sorted({key(item.row) for item in items})
    return {name: summary([i for i in items if key(i.row) == name]) for name in names}
