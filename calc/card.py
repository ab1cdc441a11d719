"""Cards, and offers: n of a card."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sourced:
    """A figure with the place it comes from; value None means nobody we can name published it."""

    value: float | None
    source: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One graphics card. Attributes:

    name: "RTX 4090 24GB"; also the option in links, never translated.
    architecture: Volta, Turing, Ampere, Ada, Hopper, Blackwell.
    marketed_gb: memory on the box, in GB as marketed.
    torch_total_gib_low / _typical: what PyTorch reports as the card's total memory, in GiB.
    bandwidth_gb_s: memory bandwidth, GB/s (10^9).
    dense_fp16_tflops / dense_bf16_tflops: dense, FP32 accumulate (what PyTorch AMP runs on).
    dense_tf32_tflops, fp32_tflops: dense TF32 tensor rate, and FP32 on the ordinary cores.
    measured_fp16_tflops: largest published half-precision matmul rate, FP32 accumulate.
    sparse_fp16_tflops: kept apart and never used.
    l2_mb, sms: second-level cache and streaming multiprocessors.
    nvlink_gb_s_per_direction: per direction; None where the card has none.
    peer_access: True if cards read each other's memory over PCIe by default.
    pcie_gen, tdp_w, ecc, launch, official: PCIe generation, watts, ECC memory, date, sold by NVIDIA.
    """

    name: str
    architecture: str
    marketed_gb: float
    torch_total_gib_low: Sourced
    torch_total_gib_typical: Sourced
    bandwidth_gb_s: Sourced
    dense_fp16_tflops: Sourced
    dense_bf16_tflops: Sourced
    dense_tf32_tflops: Sourced
    fp32_tflops: Sourced
    measured_fp16_tflops: Sourced
    sparse_fp16_tflops: Sourced
    l2_mb: Sourced
    sms: Sourced
    nvlink_gb_s_per_direction: Sourced
    peer_access: bool
    pcie_gen: int
    tdp_w: Sourced
    ecc: bool
    launch: str
    official: bool = True
    note: str = ""

    @property
    def slug(self) -> str:
        """Name for folders and parameters, e.g. "rtx-4090-24gb"."""
        return slug(self.name)


def slug(name: str) -> str:
    """Lower case, everything but letters and digits as one hyphen.

    >>> slug("RTX 4090 48GB (modified)")
    'rtx-4090-48gb-modified'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Offer:
    """`count` of one card, rented or bought together; count 1 to 8.

    >>> parse_offer("2x RTX 4090 24GB")
    ('RTX 4090 24GB', 2)
    """

    card: Card
    count: int = 1

    @property
    def text(self) -> str:
        """"2x RTX 4090 24GB", or the card's name alone for one."""
        return self.card.name if self.count == 1 else f"{self.count}x {self.card.name}"


def parse_offer(text: str) -> tuple[str, int]:
    """Split an offer into card name and count; whether the card exists is checked by the caller.

    >>> parse_offer("A100 40GB SXM4")
    ('A100 40GB SXM4', 1)
    >>> parse_offer("9x L4 24GB")
    Traceback (most recent call last):
        ...
    ValueError: offer '9x L4 24GB' asks for 9 cards; allowed are 1 to 8, as in '2x L4 24GB'
    """
    found = re.fullmatch(r"\s*(?:(\d{1,4})\s*[xX]\s+)?(\S.*?)\s*", text)
    if not found:
        raise ValueError(f"offer {text!r} is empty; write a card, as in '2x RTX 4090 24GB'")
    count = int(found[1] or 1)
    if not 1 <= count <= 8:
        raise ValueError(
            f"offer {text!r} asks for {count} cards; allowed are 1 to 8, as in '2x {found[2]}'"
        )
    return found[2], count
