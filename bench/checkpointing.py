"""Activation checkpointing: what to use, and what does not help.

`checkpoint_blocks` is the one to use: each block of the model keeps only its input and is run a
second time in backward. Activations shrink to one tensor a block plus the inside of one block, for
about a third more time.

    from bench.checkpointing import checkpoint_blocks
    model = checkpoint_blocks(model)                     # a model of the registry, or one like it
    model = checkpoint_blocks(model, model.my_blocks)    # your own list of modules

`WholeModel` is the wrapper that articles show: one segment holds the whole model, so all of its
activations are alive when backward runs it again, and nothing is saved.

BatchNorm updates its running statistics twice in a checkpointed block; memory is not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, noop_context_fn

ContextFn = Callable[[], tuple[Any, Any]]
Model = TypeVar("Model", bound=nn.Module)

BLOCKS = frozenset(
    {
        "SwinTransformerBlock",  # torchvision Video Swin
        "MultiscaleBlock",  # torchvision MViT
        "BasicBlock",  # torchvision R3D, MC3, R(2+1)D
        "Bottleneck",  # torchvision ResNet
        "SepInceptionBlock3D",  # torchvision S3D
        "TimesformerLayer",
        "VideoMAELayer",
        "VivitLayer",
        "VJEPA2Layer",
        "ResBlock",  # pytorchvideo
    }
)
"""Classes of the registry's models that are one block each."""


def find_blocks(model: nn.Module) -> list[nn.Module]:
    """The blocks of a model: modules of a known block class, else its longest repeated list.

    >>> len(find_blocks(nn.Sequential(*(nn.Linear(2, 2) for _ in range(3)))))
    3
    """
    known = [module for module in model.modules() if type(module).__name__ in BLOCKS]
    if known:
        return known
    lists = (m for m in model.modules() if isinstance(m, nn.ModuleList | nn.Sequential))
    repeated = (list(m) for m in lists if len({type(child) for child in m}) == 1)
    return max(repeated, key=len, default=[])


def checkpoint_blocks(
    model: Model,
    blocks: Iterable[nn.Module] | None = None,
    context_fn: ContextFn = noop_context_fn,
) -> Model:
    """Checkpoint each block of `model`, in place; returns the model.

    blocks: modules to run again in backward, by default those of `find_blocks`.
    context_fn: as for ``torch.utils.checkpoint.checkpoint``; a trace enters its modes with it.
    """
    found = find_blocks(model) if blocks is None else list(blocks)
    if not found:
        raise ValueError(
            f"{type(model).__name__} has no list of blocks of one class; name them:"
            " checkpoint_blocks(model, model.my_blocks)"
        )
    for block in found:
        block.forward = partial(
            checkpoint, block.forward, use_reentrant=False, context_fn=context_fn
        )
    return model


class WholeModel(nn.Module):
    """The wrapper of articles: split the clips along dim 1, join them, checkpoint everything.

    In (B, C, T, H, W) dim 1 is colour, not time. It is here to be measured, not to be used.
    """

    def __init__(
        self, model: nn.Module, chunks: int = 3, context_fn: ContextFn = noop_context_fn
    ) -> None:
        super().__init__()
        self.model, self.chunks, self.context_fn = model, chunks, context_fn

    def forward(self, *inputs: Any, **named: Any) -> Any:
        inputs = tuple(self._split_and_join(value) for value in inputs)
        named = {name: self._split_and_join(value) for name, value in named.items()}
        return checkpoint(
            self.model, *inputs, use_reentrant=False, context_fn=self.context_fn, **named
        )

    def _split_and_join(self, value: Any) -> Any:
        """A copy of the clips; anything that is no clip as it is."""
        if not isinstance(value, Tensor) or value.dim() != 5:
            return value
        return torch.cat(value.chunk(self.chunks, dim=1), dim=1)
