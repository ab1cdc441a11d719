from __future__ import annotations

import time
import timeit

import pytest

from calc.card import Offer, Sourced
from calc.job import Job
from calc.speed import model, step
from tests.calc import speed_samples as samples

JOB = Job(attention="eager")
ONE = Offer(samples.card())


def test_parts_sum_to_the_middle() -> None:
    found = step(JOB, samples.profile(), Offer(samples.card(), 4), 2, 3)
    assert found is not None
    assert sum(found.parts_s.values()) == pytest.approx(found.total_s.mid)
    assert min(found.parts_s.values()) >= 0


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
@pytest.mark.parametrize("accumulation", [1, 3])
def test_the_total_alone_is_the_middle_of_the_step(
    count: int, sharding: str, accumulation: int
) -> None:
    job = JOB.replace(sharding=sharding)
    for profile in (samples.profile(), samples.profile(gflop_per_clip=0.1, gib_per_clip=0.001)):
        found = model(job, profile, Offer(samples.card(), count))
        assert found is not None
        for batch in (1, 2, 7):
            whole = found.step(batch, accumulation).total_s.mid
            assert found.total_s(batch, accumulation) == pytest.approx(whole)


def test_more_clips_take_longer_and_small_batches_wait_for_the_host() -> None:
    tiny = samples.profile(gflop_per_clip=0.1, gib_per_clip=0.001)
    one, two = (step(JOB, tiny, ONE, batch, 1) for batch in (1, 2))
    assert one and two and one.parts_s["launch"] > 0
    assert two.total_s.mid == pytest.approx(one.total_s.mid, rel=0.02)
    eight, nine = (step(JOB, samples.profile(), ONE, batch, 1) for batch in (8, 9))
    assert eight and nine and nine.total_s.mid > eight.total_s.mid


def test_a_faster_card_is_faster() -> None:
    fast = samples.card("Fast", bandwidth_gb_s=Sourced(2e3), dense_fp16_tflops=Sourced(200.0))
    slow_step, fast_step = (
        step(JOB, samples.profile(), Offer(card), 8, 1) for card in (ONE.card, fast)
    )
    assert slow_step and fast_step and fast_step.total_s.mid < slow_step.total_s.mid


def test_one_gpu_does_not_communicate_and_sharding_divides_the_optimizer() -> None:
    alone = step(JOB, samples.profile(), ONE, 8, 1)
    ddp = step(JOB, samples.profile(), Offer(ONE.card, 4), 8, 1)
    zero2 = step(JOB.replace(sharding="zero2"), samples.profile(), Offer(ONE.card, 4), 8, 1)
    assert alone and ddp and zero2
    assert alone.parts_s["communication"] == 0.0 < ddp.parts_s["communication"]
    assert zero2.parts_s["optimizer"] == pytest.approx(ddp.parts_s["optimizer"] / 4)


def test_unknown_rates_and_untraced_settings_give_none() -> None:
    unknown = samples.card("Unknown", bandwidth_gb_s=Sourced(None))
    assert step(JOB, samples.profile(), Offer(unknown), 8, 1) is None
    assert step(JOB.replace(frames=16), samples.profile(), ONE, 8, 1) is None


def test_a_step_is_quick_to_estimate() -> None:
    profile = samples.profile()
    step(JOB, profile, ONE, 8, 1)
    timer = timeit.Timer(lambda: step(JOB, profile, ONE, 8, 1), timer=time.process_time)
    seconds = min(timer.repeat(number=200, repeat=5)) / 200
    assert seconds < 100e-6, f"{seconds * 1e6:.0f} us; the tipping map asks for 700 of these"
