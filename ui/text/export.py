"""Texts of the files people take away: (English, Chinese)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "offer": ("Offer", "方案"),
    "peak": ("Peak memory", "显存峰值"),
    "needs": ("Needed / usable", "所需 / 可用"),
    "max_batch": ("Largest batch per GPU", "单卡最大批大小"),
    "speed": ("Speed", "速度"),
    "hours": ("Time", "用时"),
    "cost": ("Cost", "成本"),
    "footer": (
        "ClipFit, model version {model}, data version {data}: <{link}>",
        "ClipFit，模型版本 {model}，数据版本 {data}：<{link}>",
    ),
}
