"""The allocator's table of a profile: in order, and the same when it is replayed again."""

from __future__ import annotations

import pytest

from bench.allocator import footprint
from bench.held import SEGMENTS, _cases, _ratios, _ways, batches
from bench.models import MODELS
from bench.profile import FOLDER
from bench.step import StepConfig
from bench.trace import trace_step
from calc.measurements import load_profile

SHIPPED = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("model", SHIPPED)
def test_limits_are_in_order_and_no_smaller_than_what_is_allocated(model: str) -> None:
    rows = load_profile(model).allocator
    for row in rows:
        for part in range(3):
            assert 1 <= row.cap[part] <= row.calm[part] <= row.reserved[part], row
        for name in ("rounding_mib", "cap", "calm", "reserved"):
            low, mid, high = getattr(row, name)
            assert 0 <= low <= mid <= high, row
    named = [(row.precision, row.checkpointing, row.attention, row.segments) for row in rows]
    wanted = [(*way, segments) for way in _ways(MODELS[model]) for segments in SEGMENTS]
    assert not rows or set(named) >= set(wanted)


def test_a_shipped_row_comes_out_again() -> None:
    cases = list(_cases(MODELS["r3d-18"], "fp16", "block", "eager"))
    again = _ratios([footprint(trace, batch, SEGMENTS["expandable"]) for trace, batch in cases])
    row = next(
        row
        for row in load_profile("r3d-18").allocator
        if (row.precision, row.checkpointing, row.segments) == ("amp", "block", "expandable")
    )
    assert again == {name: list(getattr(row, name)) for name in again}


def test_a_clip_that_fills_every_card_is_replayed_alone() -> None:
    trace = trace_step(StepConfig("videomae-s", 8, 112, precision="fp16"), affine=True)
    assert batches(trace, [0]) == [1]
