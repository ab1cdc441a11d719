"""What a card really delivers, by class of work: not datasheet rates, but what trained models show.

Two measured things, kept apart. On the reference card, the RTX 3090, hundreds of published models
give the seconds per unit of work of each class. Every other card is a factor: how many times
faster it ran the same training in the same software. A factor for each card and precision is what
held-out grading supports; a finer one did not beat it (docs/speed.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from calc.card import Card
from calc.speed_constants import (
    ARCHITECTURE_FACTOR,
    CARD_FACTOR,
    CARD_WEIGHT,
    CLASS_MULTIPLE,
    RANGE_FACTOR,
    SPEC_EXPONENTS,
)
from calc.speed_fit import (
    CLASSES,
    ENOUGH,
    REFERENCE,
    REFERENCE_GB_S,
    REFERENCE_TFLOPS,
    SpecModel,
    matrix_tflops,
    specs,
)

ATTENTION_MULTIPLE = 1.5
"""Fused attention reaches about two thirds of the rate of matrix products: up to 225 against 245
TFLOPS on an A100 at best, 150 to 190 at the head widths of video models. FlashAttention-2,
https://arxiv.org/abs/2307.08691, figures 4 to 6. No published row of the reference card has it."""

FP32_MULTIPLE = 1.4
"""True FP32 runs on the ordinary cores and reaches 0.84 of their datasheet rate: median error 5 %
on ten training rows of NeuSight (H100 and L4), which were in view when it was set."""

LAUNCH_S = 15e-6
"""Host time for one kernel in eager PyTorch with AMP: BERT-large, batch 1, H100: 36 ms for 2,350
kernels (mila-iqia/milabench, config/scaling/H100.yaml). The host's speed counts, not the card's."""

SPECS_SAY = 1.0
"""Where few workloads were measured, the datasheet's estimate counts as one more."""

GB_PER_GIB = 2**30 / 1e9
WORK_CLASSES = (*CLASSES, "attention")
"""Classes that have FLOPs; everything else only moves memory."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds per unit of work on one card at one precision.

    s_per_gflop, s_per_gib: by class and dtype, as in a profile ("gemm_half", "memory" ...).
    stream_s_per_gib: for what only streams through memory (optimizer, accumulation).
    range_factor: a 90 % range is from mid / factor to mid * factor.
    basis: "reference" | "card" (measured factor) | "specs" (from the datasheet).
    """

    s_per_gflop: Mapping[str, float]
    s_per_gib: Mapping[str, float]
    stream_s_per_gib: float
    launch_s: float
    range_factor: float
    basis: str


SAME_CHIP = {"V100 32GB SXM2": "V100 16GB SXM2", "RTX 4090 48GB (modified)": "RTX 4090 24GB"}
"""Cards that differ from a measured one in memory size only."""

_cache: dict[tuple[str, str, bool], tuple[Card, Rates | None]] = {}


def rates(card: Card, precision: str, channels_last: bool = False) -> Rates | None:
    """Rates of a card at a job's precision; None where neither measured nor on the datasheet."""
    key = (card.name, precision, channels_last)
    found = _cache.get(key)
    if found is None or found[0] is not card:
        found = (card, _rates(card, precision, channels_last))
        _cache[key] = found
    return found[1]


def kind_of(card: Card, precision: str) -> str:
    """half | tf32 | fp32: what a job's precision runs as on this card.

    Cards before Ampere have neither bfloat16 nor TF32 units and run that work as FP32.
    """
    if precision in ("fp16", "bf16", "bf16-pure"):
        bfloat = precision != "fp16"
        return "fp32" if bfloat and card.dense_bf16_tflops.value is None else "half"
    return "tf32" if precision == "tf32" and card.dense_tf32_tflops.value else "fp32"


def factor(card: Card, kind: str) -> tuple[float, str] | None:
    """How many times faster than the reference card, and on what that rests; None if unknown.

    kind: half | tf32; true FP32 is computed from the datasheet, see `_fp32_rates`. Few measured
    workloads and the datasheet's estimate are averaged on the logarithm.
    """
    if card.name == REFERENCE:
        return 1.0, "reference"
    estimate = from_specs(card, kind)
    name = SAME_CHIP.get(card.name, card.name)
    measured = CARD_FACTOR.get(kind, {}).get(name)
    if measured is None:
        return None if estimate is None else (estimate, "specs")
    weight = CARD_WEIGHT[kind][name]
    if estimate is None or weight >= ENOUGH:
        return measured, "card"
    logs = weight * math.log(measured) + SPECS_SAY * math.log(estimate)
    return math.exp(logs / (weight + SPECS_SAY)), "card" if weight >= SPECS_SAY else "specs"


def from_specs(card: Card, kind: str) -> float | None:
    """Factor by datasheet: matrix rate and bandwidth to fitted exponents, and the architecture."""
    found = specs(card, kind)
    if found is None:
        return None
    model = SpecModel(*SPEC_EXPONENTS[kind], ARCHITECTURE_FACTOR[kind])
    return model.factor(*found, card.architecture)


def ratio_factor(first: Card, second: Card, precision: str) -> float | None:
    """90 % range of the speed ratio of two cards, as a factor: errors of the workload cancel.

    >>> from calc.measurements import load_cards
    >>> cards = load_cards()
    >>> 1.1 < (ratio_factor(cards["A100 40GB SXM4"], cards["RTX 4090 24GB"], "fp16") or 0) < 1.6
    True
    """
    if first.name == second.name:
        return 1.0
    both = [rates(card, precision) for card in (first, second)]
    if None in both:
        return None
    from_datasheet = any(one is not None and one.basis == "specs" for one in both)
    return RANGE_FACTOR["specs" if from_datasheet else "card"]


def _rates(card: Card, precision: str, channels_last: bool) -> Rates | None:
    kind = kind_of(card, precision)
    if kind == "fp32":
        return _fp32_rates(card, channels_last)
    found = factor(card, kind)
    if found is None:
        return None
    speed, basis = found
    per_gflop = _not_above_peak(_s_per_gflop(speed), card, kind)
    return _made(per_gflop, 1 / speed, basis, channels_last)


def _not_above_peak(per_gflop: dict[str, float], card: Card, kind: str) -> dict[str, float]:
    """No class of work runs faster than the datasheet's matrix rate: H20 has few matrix units."""
    peak = matrix_tflops(card, kind)
    least = 1 / 1e3 / peak if peak else 0.0
    return {name: max(s, least if name != "memory" else 0.0) for name, s in per_gflop.items()}


def _fp32_rates(card: Card, channels_last: bool) -> Rates | None:
    """Cores and bandwidth apart, by datasheet: no suite trained in true FP32 on many cards."""
    tflops, bandwidth = card.fp32_tflops.value, card.bandwidth_gb_s.value
    if not tflops or not bandwidth:
        return None
    speed = tflops / REFERENCE_TFLOPS["fp32"] / FP32_MULTIPLE
    ordinary = {name: value for name, value in _s_per_gflop(speed).items() if "half" not in name}
    as_fp32 = {name.replace("fp32", "half"): value for name, value in ordinary.items()}
    return _made(as_fp32 | ordinary, REFERENCE_GB_S / bandwidth, "specs", channels_last)


def _made(
    s_per_gflop: Mapping[str, float], byte_scale: float, basis: str, channels_last: bool
) -> Rates:
    """Rates with `byte_scale` times the reference card's seconds for every byte."""
    byte_s = GB_PER_GIB / REFERENCE_GB_S * byte_scale
    streamed_s = byte_s * CLASS_MULTIPLE["memory_byte"]
    per_gib = _s_per_gib(byte_s, channels_last)
    return Rates(s_per_gflop, per_gib, streamed_s, LAUNCH_S, _range_factor(basis), basis)


def _s_per_gflop(speed: float) -> dict[str, float]:
    multiples = {kind: CLASS_MULTIPLE[f"{kind}_flop"] for kind in CLASSES}
    multiples["attention"] = multiples["gemm"] * ATTENTION_MULTIPLE
    return {
        f"{kind}_{dtype}": multiple / 1e3 / tflops / speed
        for kind, multiple in multiples.items()
        for dtype, tflops in REFERENCE_TFLOPS.items()
    } | {"memory": 0.0}


def _s_per_gib(byte_s: float, channels_last: bool) -> dict[str, float]:
    multiples = {kind: CLASS_MULTIPLE[f"{kind}_byte"] for kind in CLASSES}
    multiples["attention"] = CLASS_MULTIPLE["memory_byte"]
    multiples["conv"] += 0.0 if channels_last else CLASS_MULTIPLE["contiguous_byte"]
    return {
        f"{kind}_{dtype}": multiple * byte_s
        for kind, multiple in multiples.items()
        for dtype in REFERENCE_TFLOPS
    } | {"memory": CLASS_MULTIPLE["memory_byte"] * byte_s}


def _range_factor(basis: str) -> float:
    """Of a model in software of its own; a card without a measured factor adds its error."""
    own = math.log(RANGE_FACTOR["model"])
    card = math.log(RANGE_FACTOR["specs"]) if basis == "specs" else 0.0
    return math.exp(math.hypot(own, card))
