"""Checkpointing: the same gradients, less memory; the article's wrapper saves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from bench.checkpointing import WholeModel, checkpoint_blocks, find_blocks
from bench.envelope import peak
from bench.models import MODELS, build_model
from bench.step import StepConfig
from bench.trace import trace_step
from tests.bench import tiny

TINY = f"{Path(__file__).with_name('tiny.py')}:net"


def gradients(model: nn.Module, clips: Tensor) -> list[Tensor]:
    output = model(clips)
    getattr(output, "logits", output).sum().backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("way", ["block", "own list", "wrapper"])
@pytest.mark.parametrize(
    ("make", "shape"), [(tiny.net, (2, 3, 4, 16, 16)), (tiny.videomae, (2, 4, 3, 32, 32))]
)
def test_gradients_are_the_same(make: object, shape: tuple[int, ...], way: str) -> None:
    torch.manual_seed(0)
    model, clips = make(), torch.rand(shape)  # type: ignore[operator]
    plain = gradients(model, clips)
    model.zero_grad()
    if way == "wrapper":
        model = WholeModel(model)
    else:
        checkpoint_blocks(model, find_blocks(model) if way == "own list" else None)
    again = gradients(model, clips)
    assert len(plain) == len(again) > 0
    for a, b in zip(plain, again, strict=True):
        assert torch.equal(a, b)


def test_blocks_keep_less_and_the_wrapper_keeps_nothing_less() -> None:
    config = StepConfig(
        model="videomae-s", frames=8, size=112, batch=64, precision="fp16", optimizer="adamw-fused"
    )
    mib = {
        way: peak(trace_step(config.replace(checkpointing=way)), 64).mib
        for way in ("none", "block", "wrapper")
    }
    assert mib["block"] < 0.3 * mib["none"]
    assert mib["none"] * 0.99 < mib["wrapper"] < mib["none"] * 1.03


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_has_blocks(model: str) -> None:
    spec = MODELS[model]
    built = build_model(spec, *spec.reference, spec.attention[0], "meta")
    blocks = find_blocks(built)
    assert len(blocks) >= 8
    inside = sum(p.numel() for block in blocks for p in block.parameters())
    assert inside > 0.5 * sum(p.numel() for p in built.parameters())


def test_a_model_without_blocks_is_told_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"checkpoint_blocks\(model, model\.my_blocks\)"):
        checkpoint_blocks(nn.Linear(2, 2))
