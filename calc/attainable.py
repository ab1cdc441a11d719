"""What a card really delivers: matrix rates and bandwidth by class of work, and launch time.

Datasheet rates times an efficiency for each architecture and class of work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc.card import Card

CLASSES = ("gemm", "conv", "dwconv", "attention", "memory")
"""Classes of work: matrix products, dense convolutions, depthwise and grouped ones, fused
attention, and everything that only moves memory (norms, elementwise, copies, softmax)."""

GB_PER_GIB = 2**30 / 1e9

MATRIX_EFFICIENCY: Mapping[str, float] = {
    "gemm": 0.75,
    "conv": 0.55,
    "dwconv": 0.05,
    "attention": 0.45,
    "memory": 1.0,
}
"""Share of the dense datasheet rate that a class reaches; replaced by fitted figures."""

BANDWIDTH_EFFICIENCY = 0.8
"""Share of the datasheet bandwidth that streaming kernels reach; replaced by fitted figures."""

LAUNCH_US = 8.0
"""Host time to launch one kernel from PyTorch's eager mode, in microseconds."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Attainable rates of one card at one precision.

    gflop_per_s: by class and dtype ("gemm_half", "conv_fp32" ...), in GFLOP/s.
    gib_per_s: attainable memory bandwidth, GiB/s.
    launch_s: seconds the host needs for one kernel.
    """

    gflop_per_s: Mapping[str, float]
    gib_per_s: float
    launch_s: float


_cache: dict[tuple[str, str], tuple[Card, Rates | None]] = {}


def rates(card: Card, precision: str) -> Rates | None:
    """Attainable rates, or None where the card's matrix rate at this precision is not known."""
    found = _cache.get((card.name, precision))
    if found is None or found[0] is not card:
        found = (card, _rates(card, precision))
        _cache[card.name, precision] = found
    return found[1]


def peak_tflops(card: Card, precision: str) -> tuple[float | None, float | None]:
    """Dense datasheet rates for half and for single precision work, in TFLOPS.

    Cards without bfloat16 or TF32 matrix units run that work at their ordinary FP32 rate.
    """
    single = card.fp32_tflops.value
    half = card.dense_bf16_tflops if precision.startswith("bf16") else card.dense_fp16_tflops
    if precision == "tf32" and card.dense_tf32_tflops.value:
        single = card.dense_tf32_tflops.value
    return half.value or card.fp32_tflops.value, single


def _rates(card: Card, precision: str) -> Rates | None:
    half, single = peak_tflops(card, precision)
    bandwidth = card.bandwidth_gb_s.value
    if half is None or single is None or bandwidth is None:
        return None
    peaks = {"half": half, "fp32": single}
    table = {
        f"{kind}_{dtype}": 1e3 * peak * MATRIX_EFFICIENCY[kind]
        for kind in CLASSES
        for dtype, peak in peaks.items()
    }
    return Rates(table, bandwidth * BANDWIDTH_EFFICIENCY / GB_PER_GIB, LAUNCH_US * 1e-6)
