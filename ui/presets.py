"""Published training recipes: what they set, and where they are published.

`batch` is the recipe's batch of one GPU, so that the question is about one card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MMACTION = "https://github.com/open-mmlab/mmaction2/blob/main/configs/recognition"


@dataclass(frozen=True, slots=True)
class Preset:
    """One recipe. values: inputs it sets; gpus: how many GPUs its authors used."""

    title: str
    values: dict[str, Any]
    gpus: int
    source: str


PRESETS: tuple[Preset, ...] = (
    Preset(
        "Video Swin-T, Kinetics-400",
        {"model": "video-swin-t", "frames": 32, "size": 224, "batch": 8, "precision": "fp16",
         "checkpointing": "none", "optimizer": "adamw", "clips": 240_000, "epochs": 30},
        8,
        f"{MMACTION}/swin/swin-tiny-p244-w877_in1k-pre_8xb8-amp-32x2x1-30e_kinetics400-rgb.py",
    ),
    Preset(
        "Video Swin-B, Kinetics-400",
        {"model": "video-swin-b", "frames": 32, "size": 224, "batch": 8, "precision": "fp16",
         "checkpointing": "none", "optimizer": "adamw", "clips": 240_000, "epochs": 30},
        8,
        f"{MMACTION}/swin/swin-base-p244-w877_in1k-pre_8xb8-amp-32x2x1-30e_kinetics400-rgb.py",
    ),
    Preset(
        "TimeSformer, Kinetics-400",
        {"model": "timesformer-b", "frames": 8, "size": 224, "batch": 8, "precision": "fp32",
         "checkpointing": "none", "optimizer": "sgd", "clips": 240_000, "epochs": 15},
        8,
        "https://github.com/facebookresearch/TimeSformer/blob/main/configs/Kinetics/"
        "TimeSformer_divST_8x32_224.yaml",
    ),
    Preset(
        "VideoMAE-B fine-tuning, Kinetics-400",
        {"model": "videomae-b", "frames": 16, "size": 224, "batch": 8, "precision": "fp16",
         "checkpointing": "none", "optimizer": "adamw", "clips": 240_000, "epochs": 100},
        64,
        "https://github.com/MCG-NJU/VideoMAE/blob/main/FINETUNE.md",
    ),
    Preset(
        "VideoMAE-B pre-training, Kinetics-400",
        {"model": "videomae-b-pretrain", "frames": 16, "size": 224, "batch": 32,
         "precision": "fp16", "checkpointing": "none", "optimizer": "adamw", "clips": 240_000,
         "epochs": 801},
        64,
        "https://github.com/MCG-NJU/VideoMAE/blob/main/PRETRAIN.md",
    ),
    Preset(
        "MViT v2-S, Kinetics-400",
        {"model": "mvit-v2-s", "frames": 16, "size": 224, "batch": 16, "precision": "fp32",
         "checkpointing": "none", "optimizer": "adamw", "clips": 240_000, "epochs": 200},
        32,
        f"{MMACTION}/mvit/mvit-small-p244_32xb16-16x4x1-200e_kinetics400-rgb.py",
    ),
    Preset(
        "R(2+1)D-18, Kinetics-400",
        {"model": "r2plus1d-18", "frames": 16, "size": 112, "batch": 24, "precision": "fp32",
         "checkpointing": "none", "optimizer": "sgd", "clips": 1_200_000, "epochs": 45},
        64,
        "https://github.com/pytorch/vision/blob/main/torchvision/models/video/README.md",
    ),
)  # fmt: skip
