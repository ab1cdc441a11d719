"""Several GPUs: what has to be exchanged in one optimizer step, how fast, and how much is hidden.

Ring collectives: an all-reduce of V bytes moves 2 (n-1)/n V through each card's link, a
reduce-scatter or an all-gather (n-1)/n V.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc.card import Card

NVLINK_SHARE = 0.75
"""Share of NVLink's rate in one direction that rings reach; an assumption, since no published
training row is limited by it."""

PCIE_GB_S: Mapping[int, float] = {3: 10.0, 4: 20.0, 5: 36.0}
"""GB/s of a ring over PCIe x16 with peer access, by generation: BERT-base in fp32 on eight RTX 6000
Ada loses 37 ms for 0.77 GB (21 GB/s), on eight H100 PCIe 24 ms (32 GB/s); generation 3 by its rate.
lambdal/deeplearning-benchmark at aa5addb6a5, PyTorch 1.13."""

HOST_SHARE = 0.36
"""Without peer access every block goes through host memory, written and read. BERT-base on two RTX
4090 loses 32 ms for 0.22 GB in fp16 and 62 ms for 0.44 GB in fp32, on two RTX 3090 29 and 62 ms:
7.2 GB/s of 20. Same source; its exchange is not overlapped with backward."""

WAIT_SHARE = 0.02
"""Waiting for the slowest GPU and for the host, as a share of the step on several GPUs."""

LATENCY_S = 60e-6
"""Start of one collective, per step of the ring."""

BACKWARD_SHARE = 2 / 3
"""Backward takes about twice forward's time; only backward can hide a gradient exchange."""

DDP_BUCKET_MB = 25.0
"""DDP exchanges gradients in buckets of 25 MiB; the last one cannot be hidden."""


@dataclass(frozen=True, slots=True)
class Link:
    """How the cards of an offer reach each other.

    kind: "nvlink" | "pcie-peer" | "pcie-host"; gb_s: ring bandwidth per direction, GB/s.
    """

    kind: str
    gb_s: float


def link(card: Card) -> Link:
    """The link between the cards of an offer.

    NVLink where it comes with the board (SXM cards, H200); the bridge of PCIe cards is an extra
    part that offers seldom have, so they are counted over PCIe.
    """
    nvlink = card.nvlink_gb_s_per_direction.value
    if nvlink and ("SXM" in card.name or "H200" in card.name):
        return Link("nvlink", nvlink * NVLINK_SHARE)
    pcie = PCIE_GB_S[card.pcie_gen]
    if card.peer_access:
        return Link("pcie-peer", pcie)
    return Link("pcie-host", pcie * HOST_SHARE)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Bytes through each card's link in one optimizer step, and whether backward can hide them."""

    hidden_gb: float
    exposed_gb: float
    collectives: int


def exchange(
    sharding: str, gradients_gb: float, weights_gb: float, count: int, accumulation: int
) -> Exchange:
    """What one optimizer step exchanges.

    DDP and ZeRO-2 exchange gradients once a step (micro-steps before the last use no_sync);
    ZeRO-2 then gathers the new weights; FSDP gathers weights in every forward and backward.

    >>> exchange("ddp", gradients_gb=1.0, weights_gb=1.0, count=2, accumulation=4).hidden_gb
    1.0
    """
    share = (count - 1) / count
    if sharding == "ddp":
        return Exchange(2 * share * gradients_gb, 0.0, 1)
    if sharding == "zero2":
        return Exchange(share * gradients_gb, share * weights_gb, 2)
    moved = accumulation * (2 * share * weights_gb + share * gradients_gb)
    return Exchange(moved, 0.0, 3 * accumulation)


def exposed_s(moved: Exchange, way: Link, compute_s: float, count: int) -> float:
    """Seconds a step waits for the link: what backward cannot hide, and the last bucket.

    compute_s: forward and backward of the micro-step(s) that the exchange overlaps with.
    """
    transfer_s = moved.hidden_gb / way.gb_s
    last_bucket_s = min(transfer_s, 2 * DDP_BUCKET_MB / 1e3 / way.gb_s)
    unhidden_s = max(transfer_s - BACKWARD_SHARE * compute_s, last_bucket_s)
    latency_s = LATENCY_S * moved.collectives * (count - 1)
    return unhidden_s + moved.exposed_gb / way.gb_s + latency_s + WAIT_SHARE * compute_s
