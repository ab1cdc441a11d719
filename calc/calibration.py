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
"""90 % range as factors on mid, for kinds of job (group and precision) with `ENOUGH` rows."""

FAR_LOW = 0.948
FAR_HIGH = 1.1001
"""The same for all other kinds: the widest range of any group."""

HEADROOM_GIB = 1.05
"""What a 24 GB card lacked beyond its total less 0.5 GiB of context, learned from timm's ladder
(torch 1.12, CUDA 11.3, a desktop): all kernels loaded at start, convolution workspaces. A job that
needs more than usable memory less this has been seen to fail, see `calc.accuracy_ladder`."""

GROUP_ROWS: Mapping[str, int] = {
    "C3D, fp32": 2,
    "DenseNet, fp32": 1,
    "ResNet-2D, fp32": 43,
    "ResNet-3D, fp32": 33,
    "Swin, amp": 4,
    "Swin, fp32": 1,
    "ViT, amp": 1,
}
"""Graded rows of high and medium confidence by backbone group and traced precision."""

ENOUGH = 19
"""Rows from which a kind of job counts as validated: a 90 % range by split conformal needs 19."""

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

    rows: published rows of the family's backbone group at this precision; group: its name.
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
    rows = GROUP_ROWS.get(kind(group, precision), 0)
    low, high = (LOW, HIGH) if rows >= ENOUGH else (FAR_LOW, FAR_HIGH)
    return MemoryCalibration(ADD_MIB, SCALE, low, high, rows, group)


def kind(group: str, precision: str) -> str:
    """Key of `GROUP_ROWS`: rows in fp32 say nothing about a job under AMP.

    >>> kind("Swin", "amp")
    'Swin, amp'
    """
    return f"{group}, {precision}"
