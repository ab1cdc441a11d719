"""How the constants of the model of speed are fitted, in plain Python so that grading can refit.

Two steps, never mixed. Classes: seconds per unit of work of each class, on the reference card, from
models trained on that one card. Cards: how much faster a card runs the same workload in the same
software, from pairs of cards; workloads and cards are two effects on the logarithm of throughput.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from calc.card import Card
from calc.profile import Work

T = TypeVar("T")

REFERENCE = "RTX 3090 24GB"
REFERENCE_TFLOPS = {"half": 71.0, "fp32": 35.6}
"""Dense datasheet rates of the reference card, FP32 accumulate; its TF32 rate is its FP32 rate.
https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"""
REFERENCE_GB_S = 936.0
"""Datasheet bandwidth of the reference card; same source."""

CLASSES = ("gemm", "conv", "dwconv", "groupconv")
"""Classes with FLOPs that the reference card's rows cover. Fused attention is not among them."""
KEYS = (
    *(f"{kind}_flop" for kind in CLASSES), *(f"{kind}_byte" for kind in CLASSES),
    "memory_byte", "optimizer_byte", "contiguous_byte",
)  # fmt: skip
"""Unknowns: multiples of the datasheet time of FLOPs and of bytes, by class. contiguous_byte: what
the bytes of dense convolutions cost on top where tensors are not channels-last, because cuDNN turns
them round for the matrix units and back."""

LOWER = {"gemm_flop": 0.85, "conv_flop": 0.85, "memory_byte": 1.0, "optimizer_byte": 1.0}
"""A kernel is not faster than the card: 0.85 allows for boost clocks 15 % above the datasheet's."""
ROUNDS = 12
CARD_ROUNDS = 300
CARD_SETTLED = 1e-7
SOFT = 0.03
"""Residuals below 3 % weigh as 3 %: the fit minimises absolute, not squared, relative errors."""
SGD_BYTES_PER_PARAM = 32.0
"""Foreach SGD with momentum: buffer read and written twice, gradient and weight, fp32."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A step measured on the reference card: datasheet seconds by key, and measured seconds."""

    name: str
    family: str
    seconds: Mapping[str, float]
    measured_s: float


def datasheet_seconds(
    work: Mapping[str, Work], batch: float, params: int, contiguous: bool = False
) -> dict[str, float]:
    """Seconds that the work would take at the reference card's datasheet rates, by key.

    >>> round(datasheet_seconds({"gemm_half": Work(0, 7100.0, 0, 0, 1)}, 10, 0)["gemm_flop"], 6)
    1.0
    """
    found = dict.fromkeys(KEYS, 0.0)
    for name, one in work.items():
        kind, _, dtype = name.partition("_")
        if kind != "memory":
            gflop = one.gflop + one.gflop_per_clip * batch
            found[f"{kind}_flop"] += gflop / 1e3 / REFERENCE_TFLOPS[dtype]
        gib = one.gib + one.gib_per_clip * batch
        found[f"{kind}_byte"] += gib * 2**30 / 1e9 / REFERENCE_GB_S
    found["contiguous_byte"] = found["conv_byte"] if contiguous else 0.0
    found["optimizer_byte"] = SGD_BYTES_PER_PARAM * params / 1e9 / REFERENCE_GB_S
    return found


def fit_classes(rows: Sequence[Observed]) -> dict[str, float]:
    """Multiples of datasheet time by key that minimise relative errors of the rows."""
    weights = [1.0] * len(rows)
    table = [[row.seconds[key] / row.measured_s for key in KEYS] for row in rows]
    found = [0.0] * len(KEYS)
    for _ in range(ROUNDS):
        found = bounded_least_squares(table, weights, [LOWER.get(key, 0.0) for key in KEYS])
        errors = [abs(_dot(row, found) - 1) for row in table]
        weights = [1 / max(error, SOFT) for error in errors]
    return dict(zip(KEYS, found, strict=True))


def predict_s(seconds: Mapping[str, float], classes: Mapping[str, float]) -> float:
    """Seconds of a step on the reference card."""
    return sum(classes[key] * value for key, value in seconds.items())


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def bounded_least_squares(
    table: Sequence[Sequence[float]], weights: Sequence[float], lower: Sequence[float]
) -> list[float]:
    """x >= lower that minimises sum of weight * (row . x - 1)^2, by coordinate descent.

    >>> [round(x, 6) for x in bounded_least_squares([[1, 0], [0, 2]], [1, 1], [0, 0.7])]
    [1.0, 0.7]
    """
    size = len(lower)
    normal = [[0.0] * size for _ in range(size)]
    target = [0.0] * size
    for row, weight in zip(table, weights, strict=True):
        for i, value in enumerate(row):
            if value:
                target[i] += weight * value
                for j, other in enumerate(row):
                    normal[i][j] += weight * value * other
    found = list(lower)
    for _ in range(400):
        moved = 0.0
        for i in range(size):
            if normal[i][i] <= 0:
                continue
            step = (target[i] - _dot(normal[i], found)) / normal[i][i]
            new = max(lower[i], found[i] + step)
            moved = max(moved, abs(new - found[i]))
            found[i] = new
        if moved < 1e-7:
            break
    return found


# --- Cards --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """log throughput of one workload in one software on one card; comparable within `group`.

    workload: what is left out together in grading; weight: its say in the fit.
    """

    group: tuple[str, ...]
    workload: str
    card: str
    log_per_s: float
    weight: float = 1.0


def fit_cards(cells: Iterable[Cell], reference: str = REFERENCE) -> dict[str, float]:
    """How many times faster than the reference card each card is: least squares on the logarithms.

    >>> def cell(group, card, per_s): return Cell((group,), group, card, math.log(per_s))
    >>> found = fit_cards([cell("a", REFERENCE, 10), cell("a", "B", 20),
    ...                    cell("b", REFERENCE, 5), cell("b", "B", 10), cell("b", "C", 15)])
    >>> {card: round(factor, 6) for card, factor in found.items()}
    {'RTX 3090 24GB': 1.0, 'B': 2.0, 'C': 3.0}
    """
    by_group: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for one in cells:
        by_group[one.group].append(one)
    shared = [c for group in by_group.values() if len({c.card for c in group}) > 1 for c in group]
    cards = dict.fromkeys([reference, *(cell.card for cell in shared)], 0.0)
    reached = _reached(shared, reference)
    kept = [cell for cell in shared if cell.card in reached]
    for _ in range(CARD_ROUNDS):
        fresh = _effects(kept, _levels(kept, cards))
        shift = fresh.get(reference, 0.0)
        moved = max(abs(value - shift - cards[card]) for card, value in fresh.items())
        cards.update({card: value - shift for card, value in fresh.items()})
        if moved < CARD_SETTLED:
            break
    return {card: math.exp(value) for card, value in cards.items() if card in reached}


def _reached(cells: Sequence[Cell], reference: str) -> set[str]:
    """Cards that are linked to the reference by common groups."""
    reached, grown = {reference}, True
    while grown:
        groups = {cell.group for cell in cells if cell.card in reached}
        more = {cell.card for cell in cells if cell.group in groups}
        grown, reached = not more <= reached, reached | more
    return reached


def _levels(cells: Sequence[Cell], cards: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    """Mean log throughput of each group, cards taken out."""
    return _means((cell.group, cell.log_per_s - cards[cell.card], cell.weight) for cell in cells)


def _effects(cells: Sequence[Cell], levels: Mapping[tuple[str, ...], float]) -> dict[str, float]:
    """Mean log speed of each card, groups taken out."""
    return _means((cell.card, cell.log_per_s - levels[cell.group], cell.weight) for cell in cells)


def _means(values: Iterable[tuple[T, float, float]]) -> dict[T, float]:
    total: dict[T, float] = defaultdict(float)
    weights: dict[T, float] = defaultdict(float)
    for name, value, weight in values:
        total[name] += weight * value
        weights[name] += weight
    return {name: total[name] / weights[name] for name in total}


def quantile(values: Sequence[float], share: float) -> float:
    """Quantile by the nearest rank, conformal: the smallest value that `share` of n + 1 lie below.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5), quantile([1.0, 2.0, 3.0, 4.0], 0.99)
    (3.0, 4.0)
    """
    ordered = sorted(values)
    rank = math.ceil(share * (len(ordered) + 1)) - 1
    return ordered[min(max(rank, 0), len(ordered) - 1)]


ENOUGH = 3.0
"""A card's factor stands alone from three workloads on; below, its datasheet counts too."""

# --- Cards that nobody has measured beside another ----------------------------------------------


def specs(card: Card, precision: str) -> tuple[float, float] | None:
    """Logarithms of a card's datasheet matrix rate and bandwidth, in those of the reference card.

    precision: half | tf32. None where the datasheet figures are not known.
    """
    rate = matrix_tflops(card, precision)
    bandwidth = card.bandwidth_gb_s.value
    if not rate or not bandwidth:
        return None
    reference = REFERENCE_TFLOPS["half" if precision == "half" else "fp32"]
    return math.log(rate / reference), math.log(bandwidth / REFERENCE_GB_S)


def matrix_tflops(card: Card, precision: str) -> float | None:
    """Dense datasheet rate; cards without TF32 units run that work at their FP32 rate."""
    if precision == "half":
        return card.dense_fp16_tflops.value
    if precision == "tf32" and card.dense_tf32_tflops.value:
        return card.dense_tf32_tflops.value
    return card.fp32_tflops.value


@dataclass(frozen=True, slots=True)
class SpecModel:
    """Factor by datasheet: matrix rate and bandwidth to exponents, and how much better the cards
    of an architecture are than that (Ada's large cache, for instance), 1 where none was measured.
    """

    matrix: float
    memory: float
    architecture: Mapping[str, float]

    def factor(self, rate: float, bandwidth: float, architecture: str) -> float:
        """How many times faster than the reference card; the first two are logarithms."""
        plain = math.exp(self.matrix * rate + self.memory * bandwidth)
        return plain * self.architecture.get(architecture, 1.0)


@dataclass(frozen=True, slots=True)
class SpecRow:
    """A measured card: logarithms of rate, bandwidth and factor, all against the reference."""

    card: str
    architecture: str
    rate: float
    bandwidth: float
    log_factor: float


def fit_spec_model(rows: Sequence[SpecRow]) -> SpecModel:
    """Exponents over all cards, then the mean of what is left for each architecture."""
    matrix, memory = fit_specs([(row.rate, row.bandwidth, row.log_factor) for row in rows])
    left = _means(
        (row.architecture, row.log_factor - matrix * row.rate - memory * row.bandwidth, 1.0)
        for row in rows
    )
    return SpecModel(matrix, memory, {name: math.exp(value) for name, value in left.items()})


def fit_specs(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Exponents of matrix rate and bandwidth that give the cards' factors, by least squares.

    rows: (log rate, log bandwidth, log factor), each relative to the reference card.

    >>> fit_specs([(1.0, 0.0, 0.25), (0.0, 1.0, 0.75), (1.0, 1.0, 1.0)])
    (0.25, 0.75)
    """
    aa = sum(a * a for a, _, _ in rows)
    ab = sum(a * b for a, b, _ in rows)
    bb = sum(b * b for _, b, _ in rows)
    ay = sum(a * y for a, _, y in rows)
    by = sum(b * y for _, b, y in rows)
    determinant = aa * bb - ab * ab
    return (ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant
