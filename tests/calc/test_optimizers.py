"""Optimizer state and step, against the real optimizers stepping in a trace."""

from __future__ import annotations

import pytest

from calc.job import FIELD
from calc.memory import STATE_BYTES, STEP_COPIES, _state_bytes

trace = pytest.importorskip("bench.trace")
step = pytest.importorskip("bench.step")
TRACED = [name for name in FIELD["optimizer"].options if name != "adamw-fused"]
"""Fused steps cannot run without a GPU."""
WITHOUT_DECAY = ("sgd", "sgd-plain")
"""calc assumes weight decay, which costs foreach SGD a copy; the traced step has none."""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of the libraries that bring the optimizers
@pytest.mark.parametrize("optimizer", TRACED)
def test_state_and_copies_are_what_the_optimizer_really_takes(optimizer: str) -> None:
    config = step.StepConfig(
        model="videomae-s", frames=8, size=112, batch=1, precision="fp32", optimizer=optimizer
    )
    found = trace.trace_step(config)
    state = sum(event.fixed_bytes for event in found.resident if event.category == "optimizer")
    expected = _state_bytes(optimizer, "vit")
    assert state / found.trained_params == pytest.approx(expected, rel=0.01, abs=0.02)
    if optimizer not in WITHOUT_DECAY:
        copies = _peak_bytes(found, "optimizer") / (4 * found.trained_params)
        assert copies == pytest.approx(STEP_COPIES[optimizer], abs=0.01)


def _peak_bytes(found: object, phase: str) -> int:
    """Largest sum of temporaries in a phase."""
    live = peak = 0
    for event in found.events:  # type: ignore[attr-defined]
        if event.phase == phase and event.category == "temporary":
            live += event.fixed_bytes * (1 if event.kind == "alloc" else -1)
            peak = max(peak, live)
    return peak


def test_fused_adamw_has_the_state_of_adamw_and_no_copy() -> None:
    assert STATE_BYTES["adamw-fused"] == STATE_BYTES["adamw"]
    assert STEP_COPIES["adamw-fused"] == 0
