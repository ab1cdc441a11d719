"""The training step, run for real on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from bench.step import (
    StepConfig,
    build,
    infer_step,
    make_optimizer,
    make_tools,
    train_step,
)

TINY = f"{Path(__file__).with_name('tiny.py')}"
CONFIG = StepConfig(builder=f"{TINY}:net", input=(3, 4, 16, 16), batch=4, precision="fp32")


def weights(config: StepConfig, steps: int = 1, seed: int = 0) -> list[Tensor]:
    """The weights after some steps from the same start."""
    torch.manual_seed(seed)
    setup = build(config, "cpu")
    tools = make_tools(config, setup)
    for _ in range(steps):
        train_step(config, setup, tools)
    return [p.detach().clone() for p in setup.model.parameters()]


def test_steps_lower_the_loss_and_leave_no_gradient() -> None:
    torch.manual_seed(0)
    setup = build(CONFIG, "cpu")
    tools = make_tools(CONFIG, setup)
    assert tools.optimizer is not None
    for group in tools.optimizer.param_groups:
        group["lr"] = 1e-2
    losses = [float(train_step(CONFIG, setup, tools)) for _ in range(8)]
    assert losses[-1] < losses[0]
    assert all(p.grad is None for p in setup.model.parameters())


def test_phases_come_in_order() -> None:
    config = CONFIG.replace(accumulation=2)
    setup = build(config, "cpu")
    phases: list[str] = []
    train_step(config, setup, make_tools(config, setup), phases.append)
    assert phases == ["forward", "backward"] * 2 + ["optimizer"]


def test_accumulating_the_same_batch_twice_is_one_step() -> None:
    once, twice = weights(CONFIG), weights(CONFIG.replace(accumulation=2))
    for a, b in zip(once, twice, strict=True):
        torch.testing.assert_close(a, b)


def test_clipping_limits_a_plain_sgd_step() -> None:
    base = CONFIG.replace(optimizer="sgd-plain")
    start = weights(base, steps=0)
    clipped = weights(base.replace(clip_grad=True))
    moved = sum(float((a - b).norm() ** 2) for a, b in zip(start, clipped, strict=True)) ** 0.5
    assert moved <= 1e-4 * 1.0 * 1.01  # learning rate x largest norm


@pytest.mark.parametrize("precision", ["fp32", "bf16", "bf16-pure"])
def test_weights_have_the_dtype_of_the_precision(precision: str) -> None:
    kept = {w.dtype for w in weights(CONFIG.replace(precision=precision))}
    assert kept == {torch.bfloat16 if precision == "bf16-pure" else torch.float32}


@pytest.mark.parametrize("name", ["adamw", "adamw-fused", "adafactor", "lion", "sgd", "sgd-plain"])
def test_every_optimizer_moves_the_weights(name: str) -> None:
    parameter = torch.nn.Parameter(torch.ones(4, 4))
    optimizer = make_optimizer(name, [parameter])
    parameter.grad = torch.ones(4, 4)
    optimizer.step()
    assert not torch.equal(parameter.detach(), torch.ones(4, 4))


def test_only_the_head_learns_when_the_head_is_trained() -> None:
    config = StepConfig(
        model="videomae-s", frames=2, size=32, precision="fp32", trainable="head", batch=1
    )
    setup = build(config, "cpu")
    before = {name: p.detach().clone() for name, p in setup.model.named_parameters()}
    train_step(config, setup, make_tools(config, setup))
    moved = {name for name, p in setup.model.named_parameters() if not torch.equal(p, before[name])}
    assert moved == {"fc_norm.weight", "fc_norm.bias", "classifier.weight", "classifier.bias"}


def test_inference_keeps_no_graph() -> None:
    config = CONFIG.replace(mode="infer")
    setup = build(config, "cpu")
    assert not infer_step(setup, make_tools(config, setup)).requires_grad


def test_the_loss_and_the_inputs_of_a_users_file_are_used(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import torch\n"
        "def model(): return torch.nn.Linear(6, 2)\n"
        "def inputs(batch): return torch.ones(batch, 6)\n"
        "def loss(outputs): return outputs.square().mean() + 40\n",
        encoding="utf-8",
    )
    config = StepConfig(builder=f"{file}:model", batch=3, precision="fp32")
    setup = build(config, "cpu")
    assert setup.inputs.shape == (3, 6)
    assert train_step(config, setup, make_tools(config, setup)) > 40


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"precision": "fp8"}, "precision is 'fp8'; allowed are fp32, tf32, fp16"),
        ({"batch": 0}, "batch is 0; allowed are whole numbers from 1"),
        ({"optimizer": "adam"}, "optimizer is 'adam'"),
    ],
)
def test_wrong_words_are_named(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        CONFIG.replace(**changes)


def test_a_missing_builder_says_what_to_give() -> None:
    with pytest.raises(ValueError, match=r"FILE\.py:FUNCTION"):
        build(CONFIG.replace(builder="nowhere.py:net"), "cpu")
    with pytest.raises(ValueError, match="defines no function 'nothing'"):
        build(CONFIG.replace(builder=f"{TINY}:nothing"), "cpu")
    with pytest.raises(ValueError, match="needs --input"):
        build(CONFIG.replace(input=None), "cpu")
