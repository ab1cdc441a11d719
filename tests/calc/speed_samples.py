"""A card and a model for arithmetic that can be checked by hand: round figures, not real ones."""

from __future__ import annotations

import dataclasses

from calc.card import Card, Sourced
from calc.profile import ModelProfile, Point, Setting, Trainable, Work

SETTING = Setting(32, 224, "amp", "none", "eager", "full")


def card(name: str = "Round 24GB", **changes: object) -> Card:
    """A card of 100 TFLOPS half, 10 TFLOPS single and 1000 GB/s."""
    figures: dict[str, object] = {
        "name": name,
        "architecture": "Ada",
        "marketed_gb": 24.0,
        "torch_total_gib_low": Sourced(23.5),
        "torch_total_gib_typical": Sourced(23.6),
        "bandwidth_gb_s": Sourced(1000.0),
        "dense_fp16_tflops": Sourced(100.0),
        "dense_bf16_tflops": Sourced(100.0),
        "dense_tf32_tflops": Sourced(50.0),
        "fp32_tflops": Sourced(10.0),
        "l2_mb": Sourced(64.0),
        "sms": Sourced(128.0),
        "peer_access": False,
        "pcie_gen": 4,
        "tdp_w": Sourced(400.0),
        "ecc": False,
        "launch": "2022-10-12",
    }
    empty = {
        field.name: Sourced(None) if field.type == "Sourced" else ""
        for field in dataclasses.fields(Card)
    }
    return Card(**{**empty, **figures, **changes})  # type: ignore[arg-type]


def profile(gflop_per_clip: float = 1000.0, gib_per_clip: float = 10.0) -> ModelProfile:
    """A model with one gemm class and one memory class, 25 million parameters."""
    work = {
        "gemm_half": Work(0.0, gflop_per_clip, 0.0, 0.1, 300.0),
        "memory": Work(0.0, 0.0, 0.2, gib_per_clip, 700.0),
    }
    return ModelProfile(
        model="round", title="Round", family="vit", source="tests", attention=("eager",),
        params=25_000_000, trainable={"full": Trainable(25_000_000, 200)},
        weights_mib={"fp32": 100.0, "amp": 100.0, "bf16-pure": 50.0},
        gradients_mib={"full": {"fp32": 100.0, "amp": 100.0, "bf16-pure": 50.0}},
        traced={}, points={SETTING: Point((), (), work)},
    )  # fmt: skip
