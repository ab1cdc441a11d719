"""The trace, against sums done by hand, against torch's own counters, and against itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils.flop_counter import FlopCounterMode

from bench.envelope import (
    Moment,
    accumulate_lines,
    gradients_bytes,
    moments,
    peak,
    step_lines,
    timeline,
    upper_envelope,
)
from bench.step import StepConfig, build, make_tools, train_step
from bench.trace import MIB, Trace, trace_step
from tests.bench import tiny

TINY = f"{Path(__file__).with_name('tiny.py')}"
CONFIG = StepConfig(
    builder=f"{TINY}:net", input=(3, 4, 16, 16), batch=8, precision="fp32", optimizer="adamw"
)
CONSTANT = ("weight", "optimizer")
SMALL = StepConfig(
    model="videomae-s", frames=8, size=112, precision="fp16", optimizer="adamw-fused"
)


def by_hand(tmp_path: Path) -> Trace:
    """One linear layer without bias: (256, 512) inputs, 512 x 1024 weights, fused AdamW."""
    file = tmp_path / "linear.py"
    file.write_text(
        "import torch\n"
        "def model(): return torch.nn.Linear(512, 1024, bias=False)\n"
        "def loss(outputs): return outputs.sum()\n",
        encoding="utf-8",
    )
    return trace_step(
        StepConfig(
            builder=f"{file}:model",
            input=(512,),
            batch=256,
            precision="fp32",
            optimizer="adamw-fused",
        )
    )


def test_a_linear_layer_is_the_sum_done_by_hand(tmp_path: Path) -> None:
    trace = by_hand(tmp_path)
    weights, inputs = 512 * 1024 * 4, 256 * 512 * 4
    state = 2 * weights + 512  # two moments and the step counter
    assert sum(event.bytes_at(256) for event in trace.resident) == weights + inputs + state
    top = peak(trace, 256)
    # backward: weights, inputs, loss and its gradient (512 each), the gradient of the weights
    scalars = 2 * 512
    assert top.mib * MIB == weights + inputs + state + scalars + weights
    assert top.phase == "backward"
    assert sum(top.parts_mib.values()) == pytest.approx(top.mib)
    # forward and the gradient of the weights; the inputs need none
    assert trace.work["gemm_fp32"].flops == 2 * (2 * 256 * 512 * 1024)


def test_all_that_a_step_allocates_is_released() -> None:
    trace = trace_step(CONFIG)
    live = {event.storage for event in trace.resident}
    for event in trace.events:
        (live.add if event.kind == "alloc" else live.remove)(event.storage)
    categories = {event.storage: event.category for event in trace.resident}
    assert live == set(categories), "the step leaves something behind"


def test_optimizer_state_is_there_from_the_start() -> None:
    trace = trace_step(CONFIG)
    state = sum(e.fixed_bytes for e in trace.resident if e.category == "optimizer")
    steps = 4 * trace.trained_tensors  # AdamW's step counters
    assert state == 2 * 4 * trace.trained_params + steps


def test_foreach_adamw_makes_one_copy_of_the_weights() -> None:
    trace, fused = trace_step(CONFIG), trace_step(CONFIG.replace(optimizer="adamw-fused"))
    copies = [
        sum(e.fixed_bytes for e in t.events if e.phase == "optimizer" and e.kind == "alloc")
        for t in (trace, fused)
    ]
    assert copies[0] >= 4 * trace.trained_params > 0 == copies[1]


@pytest.mark.parametrize("name", ["adamw", "adafactor", "lion", "sgd", "sgd-plain"])
def test_every_optimizer_can_be_traced(name: str) -> None:
    assert peak(trace_step(CONFIG.replace(optimizer=name)), 8).mib > 0


def test_torchs_memory_tracker_sees_the_same_peak() -> None:
    """An independent count of the same step (fp32, nothing emulated)."""
    config = CONFIG.replace(batch=64, optimizer="sgd", attention="eager")
    setup = build(config, "meta")
    tools = make_tools(config, setup)
    assert tools.optimizer is not None
    train_step(config, setup, tools)
    tracker = MemTracker()
    tracker.track_external(setup.model, tools.optimizer, setup.inputs)
    with tracker:
        train_step(config, setup, tools)
    theirs = tracker.get_tracker_snapshot("peak")[torch.device("meta")]["Total"]
    assert peak(trace_step(config), 64).mib * MIB == pytest.approx(theirs, rel=0.01)


class ConvNet(nn.Module):
    """Plain, strided, grouped and transposed convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv3d(3, 8, 3, stride=2),
            nn.Conv3d(8, 8, 3, groups=1, padding=1),
            nn.ConvTranspose3d(8, 4, 2, stride=2),
            nn.AdaptiveAvgPool3d(2),
            nn.Flatten(),
            nn.Linear(32, 5),
        )

    def forward(self, clips: Tensor) -> Tensor:
        return self.layers(clips)


def conv_net() -> nn.Module:
    return ConvNet()


@pytest.mark.parametrize(
    ("builder", "shape"),
    [(f"{__file__}:conv_net", (3, 8, 16, 16)), (f"{TINY}:net", (3, 4, 16, 16))],
)
def test_flops_are_those_of_torchs_counter(builder: str, shape: tuple[int, ...]) -> None:
    config = CONFIG.replace(builder=builder, input=shape, attention="eager", optimizer="sgd-plain")
    setup = build(config, "meta")
    tools = make_tools(config, setup)
    with FlopCounterMode(display=False) as counter:
        train_step(config, setup, tools)
    ours = sum(work.flops for work in trace_step(config).work.values())
    assert ours == counter.get_total_flops()


def test_grouped_convolutions_are_a_class_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "grouped.py"
    file.write_text(
        "import torch\n"
        "def model(): return torch.nn.Sequential(torch.nn.Conv3d(8, 8, 3, groups=8),"
        " torch.nn.Flatten(), torch.nn.Linear(64, 2))\n",
        encoding="utf-8",
    )
    work = trace_step(CONFIG.replace(builder=f"{file}:model", input=(8, 4, 4, 4))).work
    assert work["dwconv_fp32"].flops == 2 * (2 * 8 * 8 * 8 * 27)  # forward, gradient of the weights


def test_the_affine_trace_is_the_plain_trace_at_every_batch() -> None:
    affine = trace_step(SMALL, affine=True)
    for batch in (1, 2, 7):
        assert peak(affine, batch) == peak(trace_step(SMALL.replace(batch=batch)), batch)


@pytest.mark.parametrize("checkpointing", ["none", "block"])
def test_lines_give_the_plain_peak(checkpointing: str) -> None:
    config = SMALL.replace(checkpointing=checkpointing)
    affine = trace_step(config, affine=True)
    resident = sum(e.bytes_at(1) for e in affine.resident if e.category in CONSTANT)
    for batch in (2, 4, 8):
        plain = peak(trace_step(config.replace(batch=batch)), batch).mib * MIB
        ours = resident + max(line.at(batch) for line in step_lines(affine))
        assert ours == pytest.approx(plain, rel=0.005)


def test_accumulation_is_the_step_with_gradients_kept() -> None:
    """Two micro-batches, traced plainly, against the lines that add the gradients."""
    affine = trace_step(SMALL, affine=True)
    resident = sum(e.bytes_at(1) for e in affine.resident if e.category in CONSTANT)
    for batch in (2, 16):
        plain = peak(trace_step(SMALL.replace(batch=batch, accumulation=2)), batch).mib * MIB
        ours = resident + max(line.at(batch) for line in accumulate_lines(affine))
        assert ours == pytest.approx(plain, rel=0.005)


def test_the_envelope_is_the_highest_line_at_every_batch() -> None:
    found = [m for m in moments(trace_step(SMALL, affine=True)) if m.phase != "optimizer"]
    kept = upper_envelope(found)
    assert len(kept) < 10
    for batch in (1, 2, 3, 5, 10, 100, 1000, 4096):
        highest = max(m.at(batch) for m in found)
        assert max(m.at(batch) for m in kept) == pytest.approx(highest)


def test_parallel_lines_leave_one() -> None:
    low, high = (Moment("forward", 0, fixed, 1, 0, 0) for fixed in (5, 9))
    assert upper_envelope([low, high, low]) == [high]


def test_the_timeline_keeps_the_peak_and_ends_with_the_optimizer() -> None:
    trace = trace_step(SMALL, affine=True)
    ends, fixed, per_clip = timeline(trace)
    assert ends[0] < ends[1] < ends[2] == 1.0
    assert len(fixed) == len(per_clip) <= 200
    top = max(line.at(8) for line in step_lines(trace)) / MIB
    assert max(f + c * 8 for f, c in zip(fixed, per_clip, strict=True)) == pytest.approx(
        top, rel=0.01
    )


def test_gradients_are_one_copy_of_what_is_trained() -> None:
    trace = trace_step(SMALL.replace(trainable="head"), affine=True)
    assert trace.trained_params < trace.params
    assert 4 * trace.trained_params <= gradients_bytes(trace) < 4 * trace.trained_params + 4 * 512


def test_recomputation_is_counted_as_work() -> None:
    plain, again = (trace_step(SMALL.replace(checkpointing=way)) for way in ("none", "block"))
    ratio = again.work["gemm_half"].flops / plain.work["gemm_half"].flops
    assert 1.2 < ratio < 1.35  # one more forward of three products


def test_a_model_that_is_only_run_keeps_one_layer() -> None:
    train, infer = (
        peak(trace_step(SMALL.replace(mode=mode, batch=16)), 16) for mode in ("train", "infer")
    )
    assert infer.mib < 0.4 * train.mib
    assert infer.phase == "forward"


def test_multihead_attention_of_users_is_cast_and_traced(tmp_path: Path) -> None:
    file = tmp_path / "encoder.py"
    file.write_text(
        "import torch\n"
        "def model(): return torch.nn.Sequential("
        "torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True), torch.nn.Flatten(),"
        "torch.nn.Linear(256, 2))\n",
        encoding="utf-8",
    )
    config = CONFIG.replace(builder=f"{file}:model", input=(8, 32), precision="bf16")
    assert "gemm_fp32" not in trace_step(config).work


def test_tiny_is_the_module_of_the_builder() -> None:
    assert sum(p.numel() for p in tiny.net().parameters()) == trace_step(CONFIG).params
