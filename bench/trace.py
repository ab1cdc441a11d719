"""Trace one training step on meta tensors: every allocation, every release, and the work done.

    trace = trace_step(StepConfig(model="video-swin-t", batch=8, precision="fp16"))
    allocated_mib(trace)                      # peak of live tensors

The step is `bench.step.train_step`, the very code a GPU is measured with. A dispatch mode watches
each operator: a result in a storage not seen before is an allocation, a weak reference on the
storage reports its release. The optimizer has stepped once before, so its state is there.

Batch. With ``affine=True`` the step runs at batch 10007, a prime. A byte count it divides
belongs to the clips, any other is fixed, so one trace holds for every batch:
``bytes(b) = fixed + per_clip * b``.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bench.step import Setup, StepConfig, Tools, autocast, build, infer_step, make_tools, train_step

aten = torch.ops.aten

PRIME_BATCH = 10007  # larger than any dimension of a model: 101 is 1 + 10 * 10 tokens
MIB = 2**20
ROUNDING = 512  # kMinBlockSize of c10/cuda/CUDACachingAllocator.h, bytes
CATEGORIES = ("weight", "gradient", "optimizer", "activation", "temporary")


class Event(NamedTuple):
    """An allocation or a release; at batch b the storage has
    ``round_up(fixed_bytes + per_clip_bytes * b, 512)`` bytes.
    """

    kind: str  # alloc | free
    storage: int  # unique per allocation
    fixed_bytes: int
    per_clip_bytes: int
    phase: str  # forward | backward | optimizer
    category: str  # one of CATEGORIES

    def bytes_at(self, batch: int) -> int:
        """Bytes at `batch`, as the caching allocator counts them."""
        return -(-(self.fixed_bytes + self.per_clip_bytes * batch) // ROUNDING) * ROUNDING


@dataclass(slots=True)
class Work:
    """Work of one class of operators, affine in batch: FLOPs and bytes read plus written."""

    flops: int = 0
    flops_per_clip: int = 0
    bytes: int = 0
    bytes_per_clip: int = 0
    kernels: int = 0


@dataclass(slots=True)
class Trace:
    """One step. `resident`: storages alive when it began. `adopted`: position in `events` at which
    a storage became a parameter's gradient. `work`: by class and dtype, of forward and backward.
    `batch` is None for an affine trace.
    """

    config: StepConfig
    resident: list[Event]
    events: list[Event]
    adopted: dict[int, int]
    work: dict[str, Work]
    params: int
    trained_params: int
    trained_tensors: int
    batch: int | None = None
    optimizer_kernels: int = 0


class ShapeCache:
    """Runs operators on meta tensors, and a repeated one from memory.

    Layers repeat, and PyTorch spends most of a trace working out the same shapes in Python. Only
    operators whose results are new tensors of a plain layout are remembered.
    """

    def __init__(self) -> None:
        self._known: dict[Any, list[tuple[Any, ...] | None] | None] = {}

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """`func(*args, **kwargs)`, or tensors just like those it returned before."""
        key = self._key(func, args, kwargs)
        layouts = self._known.get(key) if key is not None else None
        if layouts is not None:
            outputs = [layout and _empty(layout) for layout in layouts]
            return outputs[0] if len(outputs) == 1 else tuple(outputs)
        result = func(*args, **kwargs)
        if key is not None and key not in self._known:
            self._known[key] = _layouts(result, args)
        return result

    def _key(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func.is_view or func._schema.is_mutable or func in FREE:
            return None
        try:
            key = (func, _print_of(args), _print_of(tuple(kwargs.items())))
            hash(key)
        except TypeError:
            return None
        return key


def _print_of(tree: Any) -> Any:
    """What the shape of a result can depend on; TypeError for a tensor with data."""
    if isinstance(tree, Tensor):
        if not tree.is_meta:
            raise TypeError("a tensor with data")
        return (tree.shape, tree.stride(), tree.dtype)
    if isinstance(tree, tuple | list):
        return tuple(_print_of(item) for item in tree)
    return tree.__class__, tree  # 1, 1.0 and True are equal, and give different dtypes


def _layouts(result: Any, args: Any) -> list[tuple[Any, ...] | None] | None:
    """Shape, strides and dtype of each result; None where one is no plain new tensor."""
    items = result if isinstance(result, tuple) else (result,)
    storages = [t.untyped_storage()._cdata for t in tree_leaves(args) if isinstance(t, Tensor)]
    layouts: list[tuple[Any, ...] | None] = []
    for item in items:
        if item is None:
            layouts.append(None)
            continue
        if not isinstance(item, Tensor) or not item.is_meta:
            return None
        storage = item.untyped_storage()
        layout = (item.shape, item.stride(), item.dtype)
        if (
            storage._cdata in storages
            or storage.nbytes() != _empty(layout).untyped_storage().nbytes()
        ):
            return None
        storages.append(storage._cdata)
        layouts.append(layout)
    return layouts


def _empty(layout: tuple[Any, ...]) -> Tensor:
    size, stride, dtype = layout
    return torch.empty_strided(size, stride, dtype=dtype, device="meta")


@dataclass(slots=True)
class _Storage:
    """A storage while it lives, and what is known of it."""

    id: int
    fixed: int
    per_clip: int
    phase: str
    category: str = "temporary"
    watcher: Any = None  # weak reference


class Recorder(TorchDispatchMode):
    """Watches operators; `phase` is set from outside.

    divisor: the prime batch of an affine trace, else None and everything is fixed.
    """

    def __init__(self, divisor: int | None) -> None:
        super().__init__()
        self.divisor, self.phase = divisor, "resident"
        self.events: list[tuple[str, int, str]] = []  # kind, storage id, phase
        self.all: dict[int, _Storage] = {}
        self.live: dict[int, _Storage] = {}  # by address of the StorageImpl
        self.adopted: dict[int, int] = {}
        self.work: dict[str, Work] = {}
        self.optimizer_kernels = 0
        self.shapes = ShapeCache()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = self.shapes.run(func, args, kwargs or {})
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        for tensor in outputs:
            self.see(tensor)
        if not func.is_view and func not in FREE:
            self._count(func, args, outputs)
        return result

    def see(self, tensor: Tensor, category: str = "temporary") -> _Storage:
        """The storage of `tensor`; a new one is recorded as allocated now."""
        storage = tensor.untyped_storage()
        address = storage._cdata
        if address not in self.live:
            fixed, per_clip = self.split(storage.nbytes())
            record = _Storage(len(self.all), fixed, per_clip, self.phase, category)
            record.watcher = weakref.ref(storage, lambda _: self._gone(address))
            self.live[address] = self.all[record.id] = record
            self.events.append(("alloc", record.id, self.phase))
        return self.live[address]

    def _gone(self, address: int) -> None:
        record = self.live.pop(address)
        record.watcher = None
        self.events.append(("free", record.id, self.phase))

    def split(self, amount: int) -> tuple[int, int]:
        """(fixed, per clip) of an amount counted at the prime batch."""
        if self.divisor and amount and amount % self.divisor == 0:
            return 0, amount // self.divisor
        return amount, 0

    def adopt(self, parameter: Tensor) -> None:
        """A gradient was handed to its parameter."""
        assert parameter.grad is not None
        record = self.see(parameter.grad)
        record.category = "gradient"
        self.adopted.setdefault(record.id, len(self.events))

    def keep(self, since: int = 0) -> None:
        """Temporaries alive now are saved for backward, if they came after storage `since`."""
        for record in self.live.values():
            if record.category == "temporary" and record.id >= since:
                record.category = "activation"

    def _count(self, func: Any, args: Any, outputs: list[Tensor]) -> None:
        if self.phase == "optimizer":
            self.optimizer_kernels += 1
            return
        inputs = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
        kind, flops, kernels = work_of(func, args, inputs, outputs)
        work = self.work.setdefault(kind, Work())
        fixed, per_clip = self.split(flops)
        work.flops += fixed
        work.flops_per_clip += per_clip
        work.kernels += kernels
        for tensor in {id(t): t for t in (*inputs, *outputs)}.values():
            whole = min(tensor.numel() * tensor.itemsize, tensor.untyped_storage().nbytes())
            fixed, per_clip = self.split(whole)
            work.bytes += fixed
            work.bytes_per_clip += per_clip

    def on_phase(self, phase: str) -> None:
        """`Phase` callback of the step: what survives forward is an activation."""
        if phase == "backward":
            self.keep()
        self.phase = phase


IN_PLACE = {"adamw-fused": "adamw"}
"""Optimizers whose kernel meta lacks: the state of the other one, and a step without copies."""

FREE = {  # no kernel: shapes, empty memory, host scalars
    aten.empty.memory_format, aten.empty_like.default, aten.empty_strided.default,
    aten.new_empty.default, aten.new_empty_strided.default, aten._unsafe_view.default,
    aten._local_scalar_dense.default, aten.lift_fresh.default, aten._reshape_alias.default,
}  # fmt: skip
MATMULS = {aten.mm, aten.addmm, aten.bmm, aten.baddbmm}
CONVS = {aten.convolution, aten.convolution_backward}
FUSED_FORWARD = {
    aten._scaled_dot_product_flash_attention,
    aten._scaled_dot_product_efficient_attention,
}
FUSED_BACKWARD = {
    aten._scaled_dot_product_flash_attention_backward,
    aten._scaled_dot_product_efficient_attention_backward,
}
HALF = (torch.float16, torch.bfloat16)


def work_of(
    func: Any, args: Any, inputs: list[Tensor], outputs: list[Tensor]
) -> tuple[str, int, int]:
    """Class, FLOPs (a multiply-add is two) and kernels of one operator call."""
    op = func.overloadpacket
    if op in MATMULS:
        left, right = inputs[-2:]
        flops = 2 * left.numel() * right.shape[-1]
        return f"gemm_{_dtype(left)}", flops, 1
    if op in CONVS:
        return _conv(op is aten.convolution_backward, args, outputs)
    if op in FUSED_FORWARD:
        query, key, value = args[:3]
        rows = query.shape[0] * query.shape[1] * query.shape[2] * key.shape[2]
        return f"attention_{_dtype(query)}", 2 * rows * (query.shape[3] + value.shape[3]), 1
    if op in FUSED_BACKWARD:  # scores again, then gradients of q, k, scores and v: five products
        query, key, value = args[1:4]
        rows = query.shape[0] * query.shape[1] * query.shape[2] * key.shape[2]
        return f"attention_{_dtype(query)}", 2 * rows * (3 * query.shape[3] + 2 * value.shape[3]), 3
    return "memory", 0, 1


def _conv(backward: bool, args: Any, outputs: list[Tensor]) -> tuple[str, int, int]:
    """A convolution: forward is one product, backward one for each gradient asked for."""
    weight = args[2] if backward else args[1]
    transposed, groups = (args[7], args[9]) if backward else (args[6], args[8])
    source, result = (args[1], args[0]) if backward else (args[0], outputs[0])
    grid = source if transposed else result  # one weight product at each of its positions
    products = sum(args[10][:2]) if backward else 1
    flops = products * 2 * (grid.numel() // grid.shape[1]) * weight.numel()
    return f"{'conv' if groups == 1 else 'dwconv'}_{_dtype(weight)}", flops, products


def _dtype(tensor: Tensor) -> str:
    return "half" if tensor.dtype in HALF else "fp32"


# Running a step under the recorder


def trace_step(config: StepConfig, affine: bool = False) -> Trace:
    """Trace one step of `config`, at its batch or (`affine`) for every batch."""
    run = config.replace(batch=PRIME_BATCH) if affine else config
    recorder = Recorder(PRIME_BATCH if affine else None)
    setup = build(run, "meta", _recompute_contexts(run, recorder))
    trained = [p for p in setup.model.parameters() if p.requires_grad]
    tools = make_tools(run.replace(optimizer=IN_PLACE.get(run.optimizer, run.optimizer)), setup)
    _prepare(run, recorder, setup, tools, trained)
    hooks = [p.register_post_accumulate_grad_hook(recorder.adopt) for p in trained]
    with _no_collection(), recorder:
        if config.mode == "infer":
            recorder.phase = "forward"
            setup.model.eval()
            infer_step(setup, tools)
        else:
            train_step(run, setup, tools, recorder.on_phase)
    for hook in hooks:
        hook.remove()
    return _finish(config, recorder, setup, trained, None if affine else config.batch)


def _prepare(
    config: StepConfig,
    recorder: Recorder,
    setup: Setup,
    tools: Tools,
    trained: list[nn.Parameter],
) -> None:
    """Note what is there before the step: weights, inputs, optimizer state of an earlier step."""
    for tensor in (*setup.model.parameters(), *setup.model.buffers()):
        recorder.see(tensor, "weight")
    for tensor in tree_leaves((setup.inputs, setup.targets)):
        if isinstance(tensor, Tensor):
            recorder.see(tensor, "activation")
    if tools.optimizer is None:
        return
    for parameter in trained:
        parameter.grad = torch.empty_like(parameter)
    step = _answering(tools.optimizer.step)
    step()
    tools.optimizer.zero_grad(set_to_none=True)
    tools.optimizer.step = _nothing if config.optimizer in IN_PLACE else step
    for tensor in tree_leaves(list(tools.optimizer.state.values())):
        if isinstance(tensor, Tensor):
            recorder.see(tensor, "optimizer")


def _recompute_contexts(config: StepConfig, recorder: Recorder) -> Callable[[], tuple[Any, Any]]:
    """Contexts of a checkpointed block: its second run needs the emulation of CUDA again."""

    @contextmanager
    def again() -> Iterator[None]:
        since = len(recorder.all)
        with autocast(config, "meta"):
            try:
                yield
            finally:
                recorder.keep(since)

    @contextmanager
    def first() -> Iterator[None]:
        yield

    return lambda: (first(), again())


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the garbage collector, releases come when the last reference goes, as on a GPU."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _finish(
    config: StepConfig,
    recorder: Recorder,
    setup: Setup,
    trained: list[nn.Parameter],
    batch: int | None,
) -> Trace:
    events: list[Event] = []
    resident: list[Event] = []
    for kind, number, phase in recorder.events:
        record = recorder.all[number]
        event = Event(kind, number, record.fixed, record.per_clip, phase, record.category)
        (resident if phase == "resident" else events).append(event)
    start = len(resident)
    return Trace(
        config=config,
        resident=resident,
        events=events,
        adopted={number: at - start for number, at in recorder.adopted.items()},
        work=recorder.work,
        params=sum(p.numel() for p in setup.model.parameters()),
        trained_params=sum(p.numel() for p in trained),
        trained_tensors=len(trained),
        batch=batch,
        optimizer_kernels=recorder.optimizer_kernels,
    )


class _HostNumbers(torch.overrides.TorchFunctionMode):
    """Answers where an optimizer asks a meta tensor for its value (Adafactor, step counters)."""

    ANSWERS: ClassVar[dict[str, Any]] = {
        "item": 1.0, "__float__": 1.0, "__bool__": False, "__int__": 1
    }  # fmt: skip

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in self.ANSWERS and isinstance(args[0], Tensor) and args[0].is_meta:
            return self.ANSWERS[name]
        return func(*args, **(kwargs or {}))


def _answering(step: Callable[[], Any]) -> Callable[[], None]:
    def answered() -> None:
        with _HostNumbers():
            step()

    return answered


def _nothing() -> None:
    """The step of an optimizer that works in place."""
