"""Cards, offers (n of a card) and what they cost."""

from __future__ import annotations

import re
from dataclasses import dataclass

DRIVER_SHARE = 0.016
DRIVER_GIB = 0.5
"""Of what nvidia-smi shows, the driver keeps at most the larger of these two from PyTorch: 0.30 to
0.48 GiB on RTX 3090, 4090 and 5090, 0.51 to 0.61 on A100 40GB, 0.79 to 0.85 on A100 80GB
(`measurements/cards.yaml`, driver_total_gib against torch_total_gib_*)."""


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
    architecture: Volta, Turing, Ampere, Ada, Hopper, Blackwell; compute_capability: "8.9".
    marketed_gb: memory on the box, in GB as marketed; memory_type: HBM2, GDDR6X ...
    torch_total_gib_low / _typical: what PyTorch reports as the card's total memory, in GiB.
    driver_total_gib: what nvidia-smi shows, in GiB; `total_gib` puts the three together.
    bandwidth_gb_s: memory bandwidth, GB/s (10^9).
    dense_fp16_tflops / dense_bf16_tflops: dense, FP32 accumulate (what PyTorch AMP runs on).
    dense_tf32_tflops, fp32_tflops: dense TF32 tensor rate, and FP32 on the ordinary cores.
    measured_fp16_tflops, measured_fp32_tflops: published matmul rates, FP16 or BF16 with FP32
        accumulate, and FP32 without TF32.
    fp16_accumulate_tflops, sparse_fp16_tflops, advertised_tflops: kept apart and never used; the
        last is the figure people quote by mistake, and its note says what it really is.
    l2_mb, sms: second-level cache and streaming multiprocessors.
    nvlink_gb_s_per_direction: per direction; None where the card has none.
    peer_access: True if cards read each other's memory over PCIe by default.
    pcie_gen, tdp_w, ecc, launch: PCIe generation, watts, ECC memory, date ("" if unknown).
    source: of the plain fields; official: sold by NVIDIA, which a rebuilt card is not.
    """

    name: str
    architecture: str
    compute_capability: str
    marketed_gb: float
    memory_type: str
    torch_total_gib_low: Sourced
    torch_total_gib_typical: Sourced
    driver_total_gib: Sourced
    bandwidth_gb_s: Sourced
    dense_fp16_tflops: Sourced
    dense_bf16_tflops: Sourced
    dense_tf32_tflops: Sourced
    fp32_tflops: Sourced
    measured_fp16_tflops: Sourced
    measured_fp32_tflops: Sourced
    fp16_accumulate_tflops: Sourced
    sparse_fp16_tflops: Sourced
    advertised_tflops: Sourced
    l2_mb: Sourced
    sms: Sourced
    nvlink_gb_s_per_direction: Sourced
    peer_access: bool
    pcie_gen: int
    tdp_w: Sourced
    ecc: bool
    launch: str
    source: str
    official: bool = True
    note: str = ""

    @property
    def slug(self) -> str:
        """Name for folders and parameters, e.g. "rtx-4090-24gb"."""
        return slug(self.name)

    @property
    def total_gib(self) -> tuple[float, float]:
        """(low, typical) total PyTorch reports; estimated unless `total_is_published`."""
        shown = self.driver_total_gib.value or self.marketed_gb
        estimate = shown - max(DRIVER_GIB, DRIVER_SHARE * shown)
        typical = self.torch_total_gib_typical.value
        low = self.torch_total_gib_low.value
        return (estimate if low is None else low, estimate if typical is None else typical)

    @property
    def total_is_published(self) -> bool:
        """Whether `total_gib` was read off a real card, by a source that can be named."""
        return self.torch_total_gib_typical.value is not None


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


@dataclass(frozen=True, slots=True)
class Rate:
    """Price of one GPU for an hour: the cheapest offer of each provider, reduced to two figures.

    min_usd_per_h, median_usd_per_h: over `providers` providers; oldest, newest: their dates.
    """

    min_usd_per_h: float
    median_usd_per_h: float
    providers: int
    oldest: str
    newest: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Purchase:
    """Price of one card to own; kind: list (the maker's), street (what shops took)."""

    usd: float
    kind: str
    date: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What a card costs, as far as a dated source says; None or () where none does."""

    card: str
    on_demand: Rate | None = None
    spot: Rate | None = None
    purchase: tuple[Purchase, ...] = ()
