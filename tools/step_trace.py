"""A step as old software ran it, traced by ``bench.trace``: for published figures only.

The product traces its own step (``bench.trace.trace_step``). Published figures come from other
training loops: gradients kept from step to step, optimizers looping over parameters, DDP buckets.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from bench.checkpointing import checkpoint_blocks
from bench.step import Setup, StepConfig, Tools, autocast, cross_entropy, train_step
from bench.trace import PRIME_BATCH, Event, Recorder

MIB = 2**20
BUCKET_BYTES = 25 * MIB  # bucket_cap_mb of DistributedDataParallel
FIRST_BUCKET_BYTES = MIB  # its first bucket, _DEFAULT_FIRST_BUCKET_BYTES


@dataclass(frozen=True, slots=True)
class Recorded:
    """One step. ``adopted``: position in ``events`` where a storage became a gradient."""

    resident: list[Event]
    events: list[Event]
    adopted: dict[int, int]


@dataclass(frozen=True, slots=True)
class AsRun:
    """A step with what the source's software adds; what ``bench.allocator`` replays."""

    resident: Sequence[Event]
    events: Sequence[Event]


def trace_module(
    module: nn.Module,
    shape: tuple[int, ...],
    *,
    amp: bool,
    optimizer: str,
    attention: str = "sdpa",
    checkpoint: bool = False,
) -> Recorded:
    """Trace a step of a module on meta, affine in the batch; ``shape`` is one clip."""
    precision = "fp16" if amp else "fp32"
    config = StepConfig(batch=PRIME_BATCH, precision=precision, attention=attention)
    recorder = Recorder(PRIME_BATCH)
    if checkpoint:
        for blocks in [m for m in module.modules() if isinstance(m, nn.ModuleList)]:
            checkpoint_blocks(module, blocks, lambda: contexts(config))
    module.train()
    with torch.device("meta"):
        inputs = torch.empty((PRIME_BATCH, *shape))
        targets = torch.empty((PRIME_BATCH,), dtype=torch.long)
    setup = Setup(module, inputs, targets, cross_entropy)
    trained = [p for p in module.parameters() if p.requires_grad]
    tools = Tools(loop_optimizer(optimizer, trained), None, lambda: autocast(config, "meta"))
    note_residents(recorder, setup, tools, trained)
    start = len(recorder.events)
    hooks = [p.register_post_accumulate_grad_hook(recorder.adopt) for p in trained]
    gc.collect()
    gc.disable()  # releases come when the last reference goes, as on a GPU
    try:
        with recorder:
            train_step(config, setup, tools, recorder.on_phase)
    finally:
        gc.enable()
    for hook in hooks:
        hook.remove()
    events = [event_of(recorder, *raw) for raw in recorder.events]
    adopted = {storage: at - start for storage, at in recorder.adopted.items()}
    return Recorded(events[:start], events[start:], adopted)


def event_of(recorder: Recorder, kind: str, storage: int, phase: str) -> Event:
    """The event of a recorder's note."""
    record = recorder.all[storage]
    return Event(kind, storage, record.fixed, record.per_clip, phase, record.category)


def note_residents(
    recorder: Recorder, setup: Setup, tools: Tools, trained: list[nn.Parameter]
) -> None:
    """What is there before the step: weights, inputs, optimizer state of an earlier step."""
    for tensor in (*setup.model.parameters(), *setup.model.buffers()):
        recorder.see(tensor, "weight")
    recorder.see(setup.inputs, "activation")
    recorder.see(setup.targets, "activation")
    assert tools.optimizer is not None
    for parameter in trained:
        parameter.grad = torch.empty_like(parameter)
    tools.optimizer.step()
    tools.optimizer.zero_grad(set_to_none=True)
    for state in tools.optimizer.state.values():
        for tensor in state.values():
            if isinstance(tensor, torch.Tensor) and tensor.is_meta:
                recorder.see(tensor, "optimizer")


def contexts(config: StepConfig) -> tuple[Any, Any]:
    """A checkpointed block's first run, and its second under the emulation of CUDA."""
    return nullcontext(), autocast(config, "meta")


def loop_optimizer(name: str, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimizers of torch before 2.0, which loop over parameters."""
    if name == "adamw":
        return torch.optim.AdamW(parameters, foreach=False)
    if name == "nesterov":
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, foreach=False)
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-4, foreach=False)


def bucket_sizes(gradients: Sequence[int]) -> list[int]:
    """Sizes of DDP's gradient buckets in bytes, filled from the last parameter on.

    >>> [size // MIB for size in bucket_sizes([20 * MIB, 10 * MIB, 2 * MIB])]
    [2, 30]
    """
    sizes, filling, cap = [], 0, FIRST_BUCKET_BYTES
    for size in reversed(gradients):
        filling += size
        if filling >= cap:
            sizes.append(filling)
            filling, cap = 0, BUCKET_BYTES
    return [*sizes, filling] if filling else sizes


def keep_gradients(trace: Recorded) -> AsRun:
    """The step of ``zero_grad()`` before torch 2.0: gradients stay, filled with zeros.

    A fresh gradient is there beside the kept one until it has been added to it.
    """
    grown = {e.storage: e for e in trace.events if e.storage in trace.adopted}
    kept = [e._replace(kind="alloc", storage=e.storage + 10**9) for e in grown.values()]
    done: dict[int, list[int]] = {}
    for storage, position in trace.adopted.items():
        done.setdefault(position, []).append(storage)
    events: list[Event] = []
    for position, event in enumerate((*trace.events, None)):
        for storage in done.get(position, ()):
            events.append(grown[storage]._replace(kind="free", category="temporary"))
        if event is None:
            break
        if event.storage not in grown:
            events.append(event)
        elif event.kind == "alloc":
            events.append(event._replace(category="temporary"))
    return AsRun([*trace.resident, *kept], events)


def with_buckets(run: AsRun, parameters: Sequence[nn.Parameter]) -> AsRun:
    """The step under DistributedDataParallel: one copy of the gradients, in buckets."""
    sizes = bucket_sizes([p.numel() * p.element_size() for p in parameters if p.requires_grad])
    buckets = [
        Event("alloc", 2 * 10**9 + i, size, 0, "forward", "ddp_bucket")
        for i, size in enumerate(sizes)
    ]
    return AsRun([*run.resident, *buckets], run.events)
