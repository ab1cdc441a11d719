"""Constants of the model of speed, written by `python -m tools.fit_speed --write`.

Fitted to `measurements/published/throughput.yaml`; what each means and how it is graded
stands in `calc/speed_fit.py`, `calc/accuracy_speed.py` and `docs/speed.md`.
"""

from __future__ import annotations

from collections.abc import Mapping

CLASS_MULTIPLE: Mapping[str, float] = {
    "contiguous_byte": 3.03,
    "conv_byte": 1.26,
    "conv_flop": 1.04,
    "dwconv_byte": 5.28,
    "dwconv_flop": 0.0,
    "gemm_byte": 1.51,
    "gemm_flop": 0.85,
    "groupconv_byte": 0.0,
    "groupconv_flop": 10.9,
    "memory_byte": 1.33,
    "optimizer_byte": 3.74,
}
CARD_FACTOR: Mapping[str, Mapping[str, float]] = {
    "half": {
        "A10 24GB": 0.728,
        "A100 40GB PCIe": 1.81,
        "A100 40GB SXM4": 1.97,
        "A100 80GB PCIe": 2.02,
        "A100 80GB SXM4": 2.12,
        "H100 80GB PCIe": 2.48,
        "H100 80GB SXM5": 3.56,
        "H200 141GB": 4.16,
        "L40S 48GB": 1.61,
        "RTX 3090 24GB": 1.0,
        "RTX 4090 24GB": 1.6,
        "RTX 4090 D 24GB": 1.15,
        "RTX 5090 32GB": 2.09,
        "RTX 6000 Ada 48GB": 1.62,
        "RTX A6000 48GB": 1.17,
        "RTX PRO 6000 96GB": 2.16,
        "T4 16GB": 0.188,
        "V100 16GB SXM2": 0.851,
    },
    "tf32": {
        "A10 24GB": 0.727,
        "A100 40GB PCIe": 1.94,
        "A100 40GB SXM4": 2.1,
        "A100 80GB PCIe": 2.39,
        "A100 80GB SXM4": 2.48,
        "H100 80GB PCIe": 2.85,
        "H100 80GB SXM5": 4.08,
        "H200 141GB": 5.24,
        "L40S 48GB": 1.92,
        "RTX 3090 24GB": 1.0,
        "RTX 4090 24GB": 1.58,
        "RTX 4090 D 24GB": 1.21,
        "RTX 5090 32GB": 1.9,
        "RTX 6000 Ada 48GB": 1.53,
        "RTX A6000 48GB": 1.16,
        "RTX PRO 6000 96GB": 1.8,
        "T4 16GB": 0.122,
        "V100 16GB SXM2": 0.569,
    },
}
CARD_WEIGHT: Mapping[str, Mapping[str, float]] = {
    "half": {
        "A10 24GB": 7.0,
        "A100 40GB PCIe": 7.6,
        "A100 40GB SXM4": 7.9,
        "A100 80GB PCIe": 7.25,
        "A100 80GB SXM4": 7.85,
        "H100 80GB PCIe": 11.0,
        "H100 80GB SXM5": 31.1,
        "H200 141GB": 8.25,
        "L40S 48GB": 17.4,
        "RTX 3090 24GB": 9.86,
        "RTX 4090 24GB": 11.3,
        "RTX 4090 D 24GB": 0.3,
        "RTX 5090 32GB": 3.54,
        "RTX 6000 Ada 48GB": 7.0,
        "RTX A6000 48GB": 7.0,
        "RTX PRO 6000 96GB": 3.54,
        "T4 16GB": 0.9,
        "V100 16GB SXM2": 7.0,
    },
    "tf32": {
        "A10 24GB": 7.0,
        "A100 40GB PCIe": 7.6,
        "A100 40GB SXM4": 7.9,
        "A100 80GB PCIe": 7.0,
        "A100 80GB SXM4": 7.6,
        "H100 80GB PCIe": 11.0,
        "H100 80GB SXM5": 15.8,
        "H200 141GB": 4.5,
        "L40S 48GB": 2.9,
        "RTX 3090 24GB": 8.8,
        "RTX 4090 24GB": 7.0,
        "RTX 4090 D 24GB": 0.3,
        "RTX 5090 32GB": 0.3,
        "RTX 6000 Ada 48GB": 7.0,
        "RTX A6000 48GB": 7.0,
        "RTX PRO 6000 96GB": 0.3,
        "T4 16GB": 0.9,
        "V100 16GB SXM2": 7.0,
    },
}
SPEC_EXPONENTS: Mapping[str, tuple[float, float]] = {
    "half": (0.243, 0.513),
    "tf32": (0.277, 0.584),
}
ARCHITECTURE_FACTOR: Mapping[str, Mapping[str, float]] = {
    "half": {
        "Ada": 1.15,
        "Ampere": 0.973,
        "Blackwell": 1.05,
        "Hopper": 0.956,
        "Volta": 0.757,
    },
    "tf32": {
        "Ada": 1.07,
        "Ampere": 0.985,
        "Hopper": 0.953,
        "Volta": 0.73,
    },
}
RANGE_FACTOR: Mapping[str, float] = {
    "card": 1.36,
    "model": 1.65,
    "nearby": 1.21,
    "specs": 1.53,
}
