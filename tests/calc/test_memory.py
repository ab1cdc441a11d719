from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import calibration
from calc.job import FIELD, Job
from calc.memory import PARTS, estimate, model, timeline
from calc.profile import Line
from tests.calc.samples import profile

ROUND = profile()
KEYS = ("precision", "attention", "optimizer", "trainable", "sharding")
jobs = st.fixed_dictionaries(
    {key: st.sampled_from(FIELD[key].options) for key in KEYS}
    | {key: st.booleans() for key in ("ema", "bucket_view", "clip_grad", "expandable_segments")}
    | {"checkpointing": st.sampled_from(("none", "block")), "frames": st.sampled_from((16, 32))}
    | {"extra_gib": st.floats(0, 20)}
).map(lambda values: Job(**values))
batches = st.integers(1, 4096)
counts = st.integers(1, 8)


def traced_mib(job: Job, batch: int = 8, accumulation: int = 1, count: int = 1) -> dict[str, float]:
    """Parts in MiB without the calibration."""
    parts = estimate(job, ROUND, batch, accumulation, count).parts_gib
    return {name: gib * 1024 for name, gib in parts.items() if name != "calibration"}


def test_a_peak_by_hand() -> None:
    """AdamW, 8 clips: 100 weights, 200 state; backward: 50 + 20 + 8 x 900 + 30 + 8 x 120."""
    parts = traced_mib(Job())
    assert parts == pytest.approx({
        "weights": 100, "gradients": 50, "optimizer": 200, "activations": 7220,
        "temporaries": 990, "ddp_buckets": 0, "ema": 0, "extra": 0,
    })  # fmt: skip
    assert estimate(Job(), ROUND, 8).phase == "backward"


def test_the_optimizer_step_is_the_peak_where_activations_are_small() -> None:
    """Head room for foreach AdamW's copy: 100 gradients + 100 copy beats the clip of a block."""
    found = estimate(Job(checkpointing="block", frames=16), ROUND, 1)
    assert found.phase == "backward"
    light = {at: type(point)(point.step[2:], point.step[2:], point.work)
             for at, point in ROUND.points.items()}  # fmt: skip
    found = estimate(Job(), profile(points=light), 1)
    assert found.phase == "optimizer"
    assert found.parts_gib["temporaries"] * 1024 == pytest.approx(100)


@pytest.mark.parametrize(
    ("optimizer", "mib"),
    [("adamw", 200), ("adamw-fused", 200), ("adamw8bit", 50.78), ("adafactor", 0.75), ("lion", 100),
     ("sgd", 100), ("sgd-plain", 0)],
)  # fmt: skip
def test_optimizer_state(optimizer: str, mib: float) -> None:
    assert traced_mib(Job(optimizer=optimizer))["optimizer"] == pytest.approx(mib, abs=0.01)


def test_state_of_bf16_weights_is_half_and_of_a_head_a_hundredth() -> None:
    assert traced_mib(Job(precision="bf16-pure"))["optimizer"] == pytest.approx(100)
    assert traced_mib(Job(trainable="head"))["optimizer"] == pytest.approx(2)


def test_ddp_adds_one_copy_of_the_gradients_unless_they_are_views() -> None:
    assert traced_mib(Job(), count=8)["ddp_buckets"] == pytest.approx(100)
    assert traced_mib(Job(), count=1)["ddp_buckets"] == 0
    view = traced_mib(Job(bucket_view=True), count=8)
    assert view["ddp_buckets"] == 0
    assert view["gradients"] == pytest.approx(100)  # kept from the start, as in accumulation


def test_accumulation_keeps_all_gradients_through_the_step() -> None:
    assert traced_mib(Job(), accumulation=2)["gradients"] == pytest.approx(100)


@pytest.mark.parametrize("sharding", ["zero2", "fsdp"])
def test_sharding_divides_state_and_gradients(sharding: str) -> None:
    one, eight = (traced_mib(Job(sharding=sharding), count=count) for count in (1, 8))
    assert one == pytest.approx(traced_mib(Job()))
    assert eight["optimizer"] == pytest.approx(one["optimizer"] / 8)
    assert eight["gradients"] == pytest.approx(one["gradients"] / 8)


def test_fsdp_shards_weights_too() -> None:
    assert traced_mib(Job(sharding="fsdp"), count=8)["weights"] == pytest.approx(100 * 0.375)
    assert traced_mib(Job(sharding="zero2"), count=8)["weights"] == pytest.approx(100)


def test_ema_and_extra() -> None:
    parts = traced_mib(Job(ema=True, extra_gib=2.0))
    assert (parts["ema"], parts["extra"]) == pytest.approx((100, 2048))


def test_channels_last_reorders_and_copies_nothing() -> None:
    assert traced_mib(Job(channels_last=True)) == traced_mib(Job())


@given(jobs, batches, st.integers(1, 4), counts)
def test_parts_sum_to_allocated(job: Job, batch: int, accumulation: int, count: int) -> None:
    found = estimate(job, ROUND, batch, accumulation, count)
    assert tuple(found.parts_gib) == PARTS
    assert sum(found.parts_gib.values()) == found.allocated.mid
    assert all(gib >= 0 for name, gib in found.parts_gib.items() if name != "calibration")


@given(jobs, batches, st.integers(1, 4), counts)
def test_the_four_numbers_are_ordered(job: Job, batch: int, accumulation: int, count: int) -> None:
    found = estimate(job, ROUND, batch, accumulation, count)
    for lower, upper in ((found.allocated, found.cap), (found.cap, found.calm),
                         (found.allocated, found.reserved)):  # fmt: skip
        for end in ("low", "mid", "high"):
            assert getattr(lower, end) <= getattr(upper, end)


@given(jobs, st.integers(1, 4095), st.integers(1, 4), counts)
def test_memory_rises_with_the_batch(job: Job, batch: int, accumulation: int, count: int) -> None:
    memory = model(job, ROUND, accumulation, count)
    assert memory.peak_gib(batch) <= memory.peak_gib(batch + 1)
    assert memory.peak_gib(batch) == pytest.approx(memory.estimate(batch).allocated.mid)


@given(jobs, st.floats(0.1, 500), st.floats(1, 1.5))
def test_the_largest_batch_is_the_last_below(job: Job, limit: float, factor: float) -> None:
    memory = model(job, ROUND)
    found = memory.largest(limit, factor)
    tolerance = 1e-9 * limit
    if found:
        assert memory.peak_gib(found) * factor <= limit + tolerance
    assert memory.peak_gib(found + 1) * factor > limit - tolerance


@given(jobs, batches)
def test_checkpointing_and_fewer_frames_never_need_more(job: Job, batch: int) -> None:
    whole = model(job.replace(checkpointing="none", frames=32), ROUND).peak_gib(batch)
    assert model(job.replace(checkpointing="block", frames=32), ROUND).peak_gib(batch) <= whole
    assert model(job.replace(checkpointing="none", frames=16), ROUND).peak_gib(batch) <= whole


def test_remainders_of_blocks_and_calibration_are_one_part() -> None:
    known = calibration.memory("vit", "amp")
    parts = estimate(Job(), ROUND, 8).parts_gib
    traced = sum(gib for name, gib in parts.items() if name != "calibration") * 1024
    mid = estimate(Job(), ROUND, 8).allocated.mid * 1024
    assert mid == pytest.approx(known.add_mib + 16 + known.scale * traced)


def test_the_timeline_peaks_where_the_estimate_does() -> None:
    found = timeline(Job(), ROUND, 8)
    assert found is not None
    assert max(found.gib) == pytest.approx(estimate(Job(), ROUND, 8).allocated.mid)
    assert found.gib[0] * 1024 == pytest.approx(300)  # weights and state
    assert timeline(Job(checkpointing="block"), ROUND, 8) is None


@pytest.mark.parametrize(("accumulation", "count", "sharding"), [
    (4, 1, "ddp"), (1, 4, "ddp"), (2, 8, "fsdp"), (1, 2, "zero2"),
])  # fmt: skip
def test_the_timeline_is_of_one_gpu_of_the_offer(
    accumulation: int, count: int, sharding: str
) -> None:
    job = Job(sharding=sharding)
    found = timeline(job, ROUND, 8, accumulation, count)
    asked = estimate(job, ROUND, 8, accumulation, count)
    assert found is not None
    assert max(found.gib) == pytest.approx(asked.allocated.mid)


def test_a_line_is_straight() -> None:
    line = Line("forward", 1.0, 2.0, 3.0, 4.0, 5.0)
    assert line.mib(10) - line.mib(9) == pytest.approx(line.mib_per_clip)


def test_every_optimizer_of_the_inputs_has_figures() -> None:
    for optimizer in FIELD["optimizer"].options:
        estimate(Job(optimizer=optimizer), ROUND, 1)


