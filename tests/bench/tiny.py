"""Tiny models for the tests of the measuring loop; builders of `--builder FILE.py:FUNCTION`."""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn

CLASSES = 5
LARGEST_BATCH = 5


class TinyVideoNet(nn.Module):
    """(B, 3, 4, 16, 16) -> (B, classes), a few thousand parameters, no convolution."""

    def __init__(self, width: int = 32, depth: int = 2) -> None:
        super().__init__()
        self.embed = nn.Linear(3 * 16 * 16, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, clips: Tensor) -> Tensor:
        tokens = self.embed(clips.transpose(1, 2).flatten(2))
        for block in self.blocks:
            tokens = block(tokens)
        return self.head(tokens.mean(1))


class Block(nn.Module):
    """Attention through the fused kernel, and a linear layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, 3 * width)

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.mix(self.norm(tokens)).unsqueeze(1).chunk(3, -1)
        return tokens + nn.functional.scaled_dot_product_attention(query, key, value).squeeze(1)


def net() -> nn.Module:
    """The plain tiny model."""
    return TinyVideoNet()


def out_of_memory_above_five() -> nn.Module:
    """Raises torch's real out-of-memory error in backward when the batch is larger than five."""
    model = TinyVideoNet()

    def full(module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        if len(output) > LARGEST_BATCH and output.requires_grad:
            output.register_hook(_raise_out_of_memory)

    model.embed.register_forward_hook(full)
    return model


def _raise_out_of_memory(gradient: Tensor) -> None:
    raise torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB "
        "of which 1.50 GiB is free. Process 4242 has 22.10 GiB memory in use. Of the allocated "
        "memory 20.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but "
        "unallocated."
    )


def illegal_access_at_two() -> nn.Module:
    """Fails as a broken driver does when the batch is two."""
    model = TinyVideoNet()

    def broken(module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        if len(output) == 2:
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")

    model.embed.register_forward_hook(broken)
    return model


def not_finite() -> nn.Module:
    """Its loss is no number from the fifth forward on."""
    model = TinyVideoNet()
    calls = iter(range(10**9))

    def spoil(module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return output * float("nan") if next(calls) >= 4 else output

    model.head.register_forward_hook(spoil)
    return model


def killed_at_three() -> nn.Module:
    """Its process dies without a word when the batch is three."""
    model = TinyVideoNet()

    def die(module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        if len(output) == 3:
            os.kill(os.getpid(), 9)

    model.embed.register_forward_hook(die)
    return model


def videomae() -> nn.Module:
    """A VideoMAE of two layers on (4, 3, 32, 32): mixed precision on a CPU."""
    from transformers import VideoMAEConfig, VideoMAEForVideoClassification

    config = VideoMAEConfig(
        image_size=32, num_frames=4, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, num_labels=CLASSES,
    )  # fmt: skip
    return VideoMAEForVideoClassification(config)


def out_of_memory_on_rank_one() -> nn.Module:
    """Runs out of memory on the second of two ranks only, above five clips."""
    import torch.distributed as dist

    second = dist.is_initialized() and dist.get_rank() == 1
    return out_of_memory_above_five() if second else TinyVideoNet()
