"""What this very card attains: matmul rate, copy bandwidth, launch latency. About three seconds.

They calibrate the speed model and expose odd cards: a lowered power limit, a laptop chip, a bad
cable. Datasheet rates are in measurements/cards.yaml.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from calc.runs import Calibration

# Edge of the square matrices. 8192 keeps every SM of today's cards busy in about 1.1 TFLOP;
# on a CPU the figure only has to exist.
MATMUL_EDGE = {"cuda": 8192, "cpu": 256}
COPY_BYTES = {"cuda": 2**29, "cpu": 2**24}  # far above the largest L2 (126 MB, GB202)
LAUNCHES = 1000
REPEATS = {"cuda": 20, "cpu": 3}


def calibrate(device: str) -> Calibration:
    """Attained rates of this card."""
    return Calibration(
        matmul_fp16_tflops=matmul_tflops(device, torch.float16),
        matmul_bf16_tflops=matmul_tflops(device, torch.bfloat16) if _is_ampere(device) else None,
        copy_gb_s=copy_gb_s(device),
        launch_us=launch_us(device),
        matmul_fp32_tflops=matmul_tflops(device, torch.float32),
        matmul_tf32_tflops=_tf32_tflops(device),
    )


def _is_ampere(device: str) -> bool:
    """Whether bf16 and TF32 run on tensor cores: compute capability 8.0 and later, or a CPU."""
    return device == "cpu" or torch.cuda.get_device_capability()[0] >= 8


def matmul_tflops(device: str, dtype: torch.dtype) -> float:
    """Rate of one large square matmul, TFLOP/s; 2 n^3 operations, median of the repeats."""
    edge = MATMUL_EDGE[device]
    left = torch.randn(edge, edge, device=device, dtype=dtype)
    right = torch.randn(edge, edge, device=device, dtype=dtype)
    seconds = _median_s(device, lambda: torch.mm(left, right))
    return 2 * edge**3 / seconds / 1e12


def _tf32_tflops(device: str) -> float | None:
    """The same in TF32."""
    if device == "cpu" or not _is_ampere(device):
        return None
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return matmul_tflops(device, torch.float32)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def copy_gb_s(device: str) -> float:
    """Bytes read plus bytes written of one large copy, GB/s."""
    source = torch.empty(COPY_BYTES[device], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.numel() / _median_s(device, lambda: target.copy_(source)) / 1e9


def launch_us(device: str) -> float:
    """Time of one tiny operation in a long row of them: the CPU's limit, microseconds."""
    tensor = torch.zeros(1, device=device)

    def row() -> None:
        for _ in range(LAUNCHES):
            tensor.add_(1)

    return _median_s(device, row, repeats=3) / LAUNCHES * 1e6


def _median_s(device: str, work: Callable[[], Any], repeats: int | None = None) -> float:
    """Median seconds of a piece of work, after three unmeasured runs."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats or REPEATS[device]):
        _synchronize(device)
        before = time.perf_counter()
        work()
        _synchronize(device)
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def _synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
