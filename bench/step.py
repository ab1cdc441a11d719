"""One training step, defined once: a GPU runs it to be measured, meta tensors run it to be traced.

    config = StepConfig(model="video-swin-t", frames=32, size=224, batch=8, precision="fp16")
    setup = build(config, "cuda")
    tools = make_tools(config, setup)
    train_step(config, setup, tools)

Words of the configuration are those of a job: see `StepConfig`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import noop_context_fn

from bench.autocast import CudaOnMeta
from bench.checkpointing import ContextFn, WholeModel, checkpoint_blocks
from bench.models import (
    CLASSES,
    Builder,
    ModelSpec,
    build_model,
    clip_shape,
    find,
    load_builder,
    patch_mask,
    silent_initialisers,
)

ALLOWED = {
    "precision": ("fp32", "tf32", "fp16", "bf16", "bf16-pure"),
    "checkpointing": ("none", "block", "wrapper"),
    "attention": ("sdpa", "eager"),
    "optimizer": ("adamw", "adamw-fused", "adamw8bit", "adafactor", "lion", "sgd", "sgd-plain"),
    "trainable": ("full", "head"),
    "mode": ("train", "infer"),
}
AUTOCAST = {"fp16": torch.float16, "bf16": torch.bfloat16}
MAX_NORM = 1.0  # of gradient clipping
SGD_WEIGHT_DECAY = 1e-4  # as in the recipes of mmaction2 and torchvision; 0 would save a copy
LEARNING_RATE = 1e-4  # any value does: it changes neither memory nor speed

Phase = Callable[[str], None]
LossFn = Callable[[Any, Any], Tensor]


@dataclass(frozen=True, slots=True)
class StepConfig:
    """What one step is.

    model: id of the registry; frames, size (pixels): clip shape, by default the published one.
    builder, input: a user's own model instead, FILE.py:FUNCTION, and the shape of one clip.
    batch: clips in one forward. accumulation: forwards and backwards before the optimizer steps.
    """

    model: str = "video-swin-t"
    frames: int | None = None
    size: int | None = None
    batch: int = 1
    precision: str = "fp16"
    checkpointing: str = "none"
    attention: str = "sdpa"
    optimizer: str = "adamw"
    trainable: str = "full"
    clip_grad: bool = False
    channels_last: bool = False
    accumulation: int = 1
    mode: str = "train"
    builder: str | None = None
    input: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; allowed are {', '.join(allowed)}"
                )
        for name in ("frames", "size", "batch", "accumulation"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; allowed are whole numbers from 1")

    def replace(self, **changes: Any) -> StepConfig:
        """This configuration with some words changed."""
        return dataclasses.replace(self, **changes)

    @property
    def shape(self) -> tuple[int, int]:
        """Frames and pixels of a clip of a registry model."""
        frames, size = find(self.model).reference
        return self.frames or frames, self.size or size


class Setup(NamedTuple):
    """What a step runs on. inputs: keyword arguments of the model, or its one positional input."""

    model: nn.Module
    inputs: Any
    targets: Tensor | None
    loss_fn: LossFn


class Tools(NamedTuple):
    """What a step works with beside the model; made by `make_tools`."""

    optimizer: torch.optim.Optimizer | None
    scaler: torch.amp.GradScaler | None
    autocast: Callable[[], AbstractContextManager[Any]]


# Building


def build(
    config: StepConfig, device: str = "cuda", context_fn: ContextFn = noop_context_fn
) -> Setup:
    """Model, inputs, targets and loss of `config` on `device`, ready for `train_step`.

    context_fn: contexts of a checkpointed block's first and second run; only a trace gives one.
    """
    if config.builder is not None:
        setup, blocks = _build_users(config, load_builder(config.builder), device)
    else:
        setup, blocks = _build_registered(config, find(config.model), device), None
    model, inputs = setup.model, setup.inputs
    if config.precision == "bf16-pure":
        model, inputs = model.to(torch.bfloat16), _floats_to(torch.bfloat16, inputs)
    if config.channels_last:
        model, inputs = _channels_last(model), _channels_last(inputs)
    if config.checkpointing == "block":
        checkpoint_blocks(model, blocks, context_fn)
    elif config.checkpointing == "wrapper":
        model = WholeModel(model, context_fn=context_fn)
    return Setup(model, inputs, setup.targets, setup.loss_fn)


def _build_registered(config: StepConfig, spec: ModelSpec, device: str) -> Setup:
    frames, size = config.shape
    attention = config.attention if config.attention in spec.attention else spec.attention[0]
    model = build_model(spec, frames, size, attention, device)
    if config.trainable == "head":
        freeze_all_but(model, spec.head, spec.title)
    clips = torch.rand((config.batch, *clip_shape(spec, frames, size)), device=device)
    if spec.pretraining:
        mask = patch_mask(frames, size, config.batch)
        inputs = {
            "pixel_values": clips,
            "bool_masked_pos": mask if device == "meta" else mask.to(device),
        }
        return Setup(model, inputs, None, _own_loss)
    targets = torch.randint(0, CLASSES, (config.batch,), device=device)
    return Setup(model, clips, targets, cross_entropy)


def _build_users(config: StepConfig, builder: Builder, device: str) -> tuple[Setup, Any]:
    with silent_initialisers(device == "meta"), torch.device(device):
        model = builder.make().train()
        if builder.inputs is not None:
            inputs = builder.inputs(config.batch)
        elif config.input:
            inputs = torch.rand(config.batch, *config.input)
        else:
            raise ValueError(
                "a builder needs --input, the shape of one clip, for instance 3,32,224,224"
            )
    own_loss = builder.loss
    loss_fn = cross_entropy if own_loss is None else lambda outputs, _: own_loss(outputs)
    return Setup(model, inputs, None, loss_fn), builder.blocks and builder.blocks(model)


def freeze_all_but(model: nn.Module, head: tuple[str, ...], title: str) -> None:
    """Leave gradients only for the parameters under the module names `head`."""
    if not head:
        raise ValueError(f"{title} has no classification head to train alone; use trainable full")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(any(f".{part}." in f".{name}" for part in head))


def _floats_to(dtype: torch.dtype, tree: Any) -> Any:
    if isinstance(tree, Tensor):
        return tree.to(dtype) if tree.is_floating_point() else tree
    if isinstance(tree, Mapping):
        return {key: _floats_to(dtype, value) for key, value in tree.items()}
    return tree


def _channels_last(thing: Any) -> Any:
    if isinstance(thing, nn.Module):
        return thing.to(memory_format=torch.channels_last_3d).to(memory_format=torch.channels_last)
    is_clip = isinstance(thing, Tensor) and thing.dim() == 5
    return thing.to(memory_format=torch.channels_last_3d) if is_clip else thing


# Loss


def cross_entropy(outputs: Any, targets: Tensor | None) -> Tensor:
    """A model's own `.loss`, else cross-entropy over its logits (any class where none is given)."""
    if getattr(outputs, "loss", None) is not None:
        return outputs.loss
    logits = getattr(outputs, "logits", outputs)
    logits = logits[0] if isinstance(logits, tuple | list) else logits
    if targets is None:
        shape = (logits.shape[0], *logits.shape[2:])
        targets = torch.zeros(shape, dtype=torch.long, device=logits.device)
    return F.cross_entropy(logits, targets)


def _own_loss(outputs: Any, targets: Tensor | None) -> Tensor:
    return outputs.loss


# Optimizer, scaler, autocast


def make_tools(config: StepConfig, setup: Setup) -> Tools:
    """Optimizer, gradient scaler and autocast context for the device the model is on."""
    device = next(setup.model.parameters()).device.type
    trained = [p for p in setup.model.parameters() if p.requires_grad]
    optimizer = make_optimizer(config.optimizer, trained) if config.mode == "train" else None
    scales = config.precision == "fp16" and config.mode == "train" and device == "cuda"
    scaler = torch.amp.GradScaler(device) if scales else None
    return Tools(optimizer, scaler, lambda: autocast(config, device))


def autocast(config: StepConfig, device: str) -> AbstractContextManager[Any]:
    """Autocast of `config`: PyTorch's own, or on meta the emulation of CUDA's."""
    dtype = AUTOCAST.get(config.precision)
    if device == "meta":
        return CudaOnMeta(dtype, config.attention)
    return torch.amp.autocast(device, dtype) if dtype else nullcontext()


def make_optimizer(name: str, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimizer of a job; foreach is asked for by name, as CUDA would choose it."""
    match name:
        case "adamw":
            return torch.optim.AdamW(parameters, lr=LEARNING_RATE, foreach=True)
        case "adamw-fused":
            return torch.optim.AdamW(parameters, lr=LEARNING_RATE, fused=True)
        case "adamw8bit":
            from bitsandbytes.optim import AdamW8bit

            return AdamW8bit(parameters, lr=LEARNING_RATE)
        case "adafactor":
            return torch.optim.Adafactor(parameters, lr=LEARNING_RATE, foreach=True)
        case "lion":
            from timm.optim import Lion

            return Lion(parameters, lr=LEARNING_RATE, foreach=True)
        case "sgd":
            return _sgd(parameters, momentum=0.9)
        case _:
            return _sgd(parameters, momentum=0.0)


def _sgd(parameters: list[nn.Parameter], momentum: float) -> torch.optim.Optimizer:
    """SGD with the usual weight decay: foreach adds it to a copy of the gradients."""
    return torch.optim.SGD(
        parameters, LEARNING_RATE, momentum, weight_decay=SGD_WEIGHT_DECAY, foreach=True
    )


def set_matmul_precision(precision: str) -> None:
    """TF32 on or off for matrix products and convolutions; fp32 means IEEE fp32 for both."""
    tf32 = precision != "fp32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32


# The step


def forward(setup: Setup, tools: Tools) -> Tensor:
    """Forward and loss under autocast. Outputs die with this call, as in a training loop."""
    with tools.autocast():
        return setup.loss_fn(call(setup.model, setup.inputs), setup.targets)


def call(model: nn.Module, inputs: Any) -> Any:
    """The model's outputs: a mapping of inputs goes in by name, a tuple by position."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple | list) else model(inputs)


def train_step(
    config: StepConfig, setup: Setup, tools: Tools, on_phase: Phase = lambda phase: None
) -> Tensor:
    """One step; returns the (last) loss, detached.

    on_phase is called with forward, backward and optimizer as each begins.
    """
    for _ in range(config.accumulation):
        on_phase("forward")
        loss = forward(setup, tools)
        on_phase("backward")
        loss = loss / config.accumulation if config.accumulation > 1 else loss
        (tools.scaler.scale(loss) if tools.scaler else loss).backward()
    on_phase("optimizer")
    update(config, setup, tools)
    return loss.detach()


def update(config: StepConfig, setup: Setup, tools: Tools) -> None:
    """Unscale and clip if asked, optimizer step, gradients set to None."""
    assert tools.optimizer is not None, "the step was built with mode infer"
    if config.clip_grad:
        if tools.scaler:
            tools.scaler.unscale_(tools.optimizer)
        nn.utils.clip_grad_norm_(setup.model.parameters(), MAX_NORM)
    if tools.scaler:
        tools.scaler.step(tools.optimizer)
        tools.scaler.update()
    else:
        tools.optimizer.step()
    tools.optimizer.zero_grad(set_to_none=True)


@torch.inference_mode()
def infer_step(setup: Setup, tools: Tools) -> Any:
    """One forward without gradients; the model should be in eval mode."""
    with tools.autocast():
        return call(setup.model, setup.inputs)
