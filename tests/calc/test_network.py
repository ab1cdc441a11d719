from __future__ import annotations

import pytest

from calc.card import Sourced
from calc.network import LATENCY_S, WAIT_SHARE, exchange, exposed_s, link
from tests.calc import speed_samples as samples


def test_ring_all_reduce_moves_twice_the_share_of_the_others() -> None:
    moved = exchange("ddp", gradients_gb=2.0, weights_gb=2.0, count=4, accumulation=3)
    assert moved.hidden_gb == pytest.approx(2 * 3 / 4 * 2.0)
    assert moved.exposed_gb == 0.0


def test_zero2_moves_as_much_as_ddp_but_gathers_weights_in_the_open() -> None:
    ddp = exchange("ddp", 2.0, 2.0, 4, 1)
    zero2 = exchange("zero2", 2.0, 2.0, 4, 1)
    assert zero2.hidden_gb + zero2.exposed_gb == pytest.approx(ddp.hidden_gb)
    assert zero2.exposed_gb > 0


def test_fsdp_pays_for_every_micro_step() -> None:
    once, thrice = (exchange("fsdp", 2.0, 2.0, 4, accumulation) for accumulation in (1, 3))
    assert thrice.hidden_gb == pytest.approx(3 * once.hidden_gb)


def test_long_backward_hides_all_but_the_last_bucket() -> None:
    way = link(samples.card())
    moved = exchange("ddp", 0.4, 0.4, 2, 1)
    waits = exposed_s(moved, way, compute_s=10.0, count=2) - WAIT_SHARE * 10.0
    assert waits == pytest.approx(0.05 / way.gb_s + LATENCY_S)
    assert exposed_s(moved, way, compute_s=0.0, count=2) == pytest.approx(
        0.4 / way.gb_s + LATENCY_S
    )


def test_geforce_goes_through_the_host_and_sxm_over_nvlink() -> None:
    geforce = samples.card()
    peer = samples.card("Round PCIe", peer_access=True)
    sxm = samples.card("Round SXM4", nvlink_gb_s_per_direction=Sourced(300.0))
    kinds = [link(card).kind for card in (geforce, peer, sxm)]
    assert kinds == ["pcie-host", "pcie-peer", "nvlink"]
    assert link(geforce).gb_s < link(peer).gb_s < link(sxm).gb_s
