"""Calibration of traced memory: what a trace does not see, and how far off it has been.

``allocated.mid`` is the trace with its block remainders (`rounding_mib`); nothing is fitted. A line
fitted on published rows of other backbone groups predicted a group worse than the plain trace, see
`calc.accuracy_memory.line_instead`. The range is what the trace missed published figures by
(`measurements/published/video_memory.yaml`); `python -m tools.fit_memory` writes it here, and a
test compares.

Fixed workspaces of cuDNN and cuBLAS have no term of their own: what looked like one, 100 to 190 MiB
a job, is block remainders. They do show in jobs below 2 GiB, which are not calibrated on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ADD_MIB = 0.0
SCALE = 1.0
"""The plain trace, on purpose."""

LOW = 0.9913
HIGH = 1.0103
"""90 % range as factors on mid, for families whose group has at least `ENOUGH` rows."""

FAR_LOW = 0.948
FAR_HIGH = 1.1001
"""The same for families without: the widest range of any group."""

HEADROOM_GIB = 1.05
"""What a 24 GB card lacked beyond its total less 0.5 GiB of context, learned from timm's ladder
(torch 1.12, CUDA 11.3, a desktop): all kernels loaded at start, convolution workspaces. A job that
needs more than usable memory less this has been seen to fail, see `calc.accuracy_ladder`."""

GROUP_ROWS: Mapping[str, int] = {
    "C3D": 2,
    "DenseNet": 1,
    "ResNet-2D": 43,
    "ResNet-3D": 33,
    "Swin": 5,
    "ViT": 1,
}
"""Graded rows of high and medium confidence by backbone group."""

ENOUGH = 4
"""Rows from which a group counts as validated."""

GROUP_OF_FAMILY: Mapping[str, str] = {
    "swin": "Swin",
    "vit": "ViT",
    "videomae": "ViT",
    "vivit": "ViT",
    "vjepa2": "ViT",
    "resnet3d": "ResNet-3D",
    "slowfast": "ResNet-3D",
    "resnet2d": "ResNet-2D",
    "c3d": "C3D",
}
"""Backbone group of a profile's family; families that are not here have no published row."""


@dataclass(frozen=True, slots=True)
class MemoryCalibration:
    """allocated.mid = add_mib + scale * trace; low and high are factors on mid (90 % range).

    rows: published rows of the family's backbone group; 0 = not validated. group: its name.
    """

    add_mib: float
    scale: float
    low: float
    high: float
    rows: int
    group: str = ""


def memory(family: str, precision: str) -> MemoryCalibration:
    """Calibration of a family at a traced precision (fp32, amp, bf16-pure).

    >>> memory("swin", "amp").group, memory("mvit", "fp32").rows
    ('Swin', 0)
    """
    group = GROUP_OF_FAMILY.get(family, "")
    rows = GROUP_ROWS.get(group, 0)
    low, high = (LOW, HIGH) if rows >= ENOUGH else (FAR_LOW, FAR_HIGH)
    return MemoryCalibration(ADD_MIB, SCALE, low, high, rows, group)
