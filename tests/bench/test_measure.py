"""One point: the rules of a fair measurement, and what its row says."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import failure, measure, stopwatch
from bench.point import Limits
from bench.stopwatch import is_steady, percentile, steady_steps, warm_up, window_steps
from tests.bench import tiny
from tests.bench.measuring import point


def measured(function="net", **changes):
    """The row of a tiny model, measured in this process."""
    return measure.measure(point(function, **changes), lambda message: None)


def test_row_of_a_training_point():
    row = measured(limits=Limits(warm_up_s=0.05, steps=6, least_s=0.0)).row
    assert row.status in ("ok", "unstable") and row.memory is None and row.load is None
    time = row.time
    assert time.steps >= 5 and time.p10_ms <= time.median_ms <= time.p90_ms
    assert time.clips_per_s == pytest.approx(2 / time.median_ms * 1000)
    assert row.sdpa_backend == "flash"
    assert row.learning.loss[-1] < row.learning.loss[0], "a fixed batch must be learned"
    assert row.learning.non_finite_step is None and row.learning.scale is None


def test_parts_of_the_step_make_the_step():
    bench = measure.Bench(point())
    bench.build()
    steps = bench.run_steps(5)
    for step in steps:
        assert set(step) == {"data", "forward", "backward", "optimizer"}
    assert len(steps) == 5 and min(stopwatch.step_ms(steps)) > 0


def test_accumulated_forwards_count_as_clips():
    row = measured(accumulation=3).row
    assert row.clips_per_step == 6
    assert row.time.clips_per_s == pytest.approx(6 / row.time.median_ms * 1000, rel=1e-9)


def test_inference_has_a_forward_only_and_changes_nothing():
    row = measured(mode="infer").row
    assert (row.mode, row.optimizer, row.learning) == ("infer", "none", None)
    assert row.time.forward_ms > 0 and row.time.backward_ms is row.time.optimizer_ms is None


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("checkpointing", ["none", "block"])
def test_mixed_precision_loop_on_a_small_transformer(precision, checkpointing):
    row = measured(
        "videomae", precision=precision, checkpointing=checkpointing, input=(4, 3, 32, 32), size=32
    ).row
    assert row.status in ("ok", "unstable"), row.note
    assert all(map(math.isfinite, row.learning.loss))


def test_out_of_memory_is_a_row_with_the_allocators_numbers():
    row = measured("out_of_memory_above_five", batch=6).row
    assert row.status == "oom" and row.time is None
    assert row.note == "ran out of memory in backward of step 0"
    assert (row.oom.requested_mib, row.oom.free_mib) == (2048.0, 1536.0)
    assert row.oom.reserved_mib == row.oom.allocated_mib + 512


def test_a_loss_that_is_no_number_fails_the_row():
    row = measured("not_finite").row
    assert (row.status, row.note) == ("failed", "the loss is not finite")
    assert row.learning.non_finite_step == 4 and len(row.learning.loss) == 4


def test_a_broken_driver_is_told_apart_from_a_bad_point():
    assert measured("illegal_access_at_two").broken
    bad = measured("net", input=(3, 4, 8, 8))
    assert bad.row.status == "failed" and not bad.broken
    assert "in forward of step 0: RuntimeError: mat1 and mat2" in bad.row.note


def test_gradient_scaler_skips_are_counted():
    bench = measure.Bench(point())
    bench.build()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    bench.tools = bench.tools._replace(scaler=scaler)
    bench.batches.setup.inputs.mul_(1000)  # gradients that overflow at this scale
    bench.run_steps(20)
    learning = bench._learning()
    assert learning.non_finite_step == 0 and 0 < learning.skipped_steps < 20
    assert learning.scale == 2.0 ** (127 - learning.skipped_steps)


def test_losses_stay_numbers_and_the_course_is_thinned():
    assert len(measure.course([float(step) for step in range(1000)])) == measure.LOSSES_KEPT
    assert measure.course([1.0, float("nan"), 2.0]) == (1.0, 2.0)


# Rules


def test_warm_up_ends_when_five_medians_agree():
    medians = iter([100, 90, 80, 70, 60, 50, 50, 50.5, 50, 50.9, 1, 1])
    warm = warm_up(lambda count: [next(medians)] * count, limit_s=60.0)
    assert warm.steady and warm.step_ms == 50.9 and next(medians) == 1


def test_warm_up_gives_up_and_says_so():
    turn = iter(range(10**9))
    warm = warm_up(lambda count: [100.0 + 10 * (next(turn) % 2)], limit_s=0.02)
    assert not warm.steady and 0.02 <= warm.seconds < 5


def test_ranks_warm_up_by_the_decisions_of_one():
    said = []

    def agree(answer):
        said.append(answer)
        return answer

    warm_up(lambda count: [10.0] * count, 60.0, agree)
    assert said[0] == window_steps(10.0) and said[-2:] == [True, 10.0]


@settings(deadline=None)
@given(st.lists(st.floats(0.1, 1e4), min_size=5, max_size=30))
def test_steady_means_within_two_percent(medians):
    last = medians[-5:]
    assert is_steady(medians) == (max(last) / min(last) - 1 <= 0.02 + 1e-12) or math.isclose(
        max(last) / min(last), 1.02
    )


@settings(deadline=None)
@given(st.floats(0.01, 1e5))
def test_a_steady_state_is_long_enough_and_not_too_long(step_ms):
    limits = Limits()
    steps = steady_steps(step_ms, limits)
    seconds = steps * step_ms / 1000
    assert steps >= 5
    assert (steps >= 20 and seconds >= 2.0 - 1e-6) or seconds + step_ms / 1000 > 10.0
    assert seconds <= 10.0 + 1e-6 or steps <= 20


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_percentile_lies_between_its_neighbours(values, share):
    assert min(values) <= percentile(values, share) <= max(values)
    assert percentile(values, 0.0) == min(values) and percentile(values, 1.0) == max(values)


# Errors


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (torch.OutOfMemoryError("whatever"), "oom"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), "oom"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "oom"),
        (MemoryError(), "oom"),
        (torch.AcceleratorError("CUDA error: device-side assert triggered"), "broken"),
        (RuntimeError("CUDA error: uncorrectable ECC error encountered"), "broken"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "failed"),
        (ValueError("odd frame count"), "failed"),
    ],
)
def test_errors_are_told_apart(error, kind):
    assert failure.kind(error) == kind


def test_out_of_memory_keeps_its_type_through_a_backward_hook():
    model = tiny.out_of_memory_above_five()
    loss = model(torch.rand(6, 3, 4, 16, 16)).sum()
    with pytest.raises(torch.OutOfMemoryError):
        loss.backward()


def test_a_message_without_numbers_gives_none():
    assert failure.out_of_memory("CUDA out of memory").requested_mib is None
