"""Calibration of traced memory: what no trace sees, and how far off the rest was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryCalibration:
    """allocated.mid = add_mib + scale * trace; low and high are factors on mid (90 % range).

    rows: published rows of the family it was fitted on; 0 = not validated.
    """

    add_mib: float
    scale: float
    low: float
    high: float
    rows: int


def memory(family: str, precision: str) -> MemoryCalibration:
    """Calibration of a backbone family at a traced precision (fp32, amp, bf16-pure)."""
    return MemoryCalibration(145.0, 1.0, 0.94, 1.06, 0)
