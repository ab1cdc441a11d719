"""Closed form of a video transformer given by sliders, in the shape of a traced profile.

The blocks are those of the library models: `joint` and `windowed` are VideoMAE's, `divided` is
TimeSformer's. What a block keeps for backward follows from its operations; what is alive besides
it at the peak was read off traces of VideoMAE-B and TimeSformer-B and is checked against the
other sizes. Unit of memory is one byte for each token and channel, `t`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc.job import Job
from calc.profile import (
    PRECISION_KEY,
    Line,
    ModelProfile,
    Point,
    Setting,
    Trainable,
    Work,
)
from calc.words import Message, Refused

MIB = 2**20
GIB = 2**30
CLASSES = 400
"""Classes of the head, as in Kinetics-400."""
WINDOW = (8, 7, 7)
"""Tokens of a window in time, height and width, as in Video Swin."""

RELATIVE = {"joint": "videomae-b", "windowed": "videomae-b", "divided": "timesformer-b"}
"""The library model whose block a pattern has."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The transformer's figures: tokens and their layout, channels, layers."""

    frames: int  # steps of time after the tubelets
    patches: int  # per step of time
    depth: int
    width: int
    heads: int
    mlp_ratio: float
    pattern: str

    @property
    def tokens(self) -> int:
        """Tokens of a clip; TimeSformer's divided attention has a class token more."""
        return self.frames * self.patches + (self.pattern == "divided")

    @property
    def scores(self) -> tuple[float, float]:
        """Attention scores of one layer: (the largest matrix, all of them), in numbers."""
        if self.pattern == "divided":
            in_time = self.patches * self.frames**2
            in_space = self.frames * (self.patches + 1) ** 2
            return self.heads * max(in_time, in_space), self.heads * (in_time + in_space)
        window = self.tokens
        if self.pattern == "windowed":
            side = min(WINDOW[1] * WINDOW[2], self.patches)
            window = min(WINDOW[0], self.frames) * side
        return self.heads * self.tokens * window, self.heads * self.tokens * window


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of one block per token and channel; `_r` is to be multiplied by the MLP ratio.

    keep: kept for backward; block_input: kept of a checkpointed block; last: after the last block;
    forward: alive besides at the end of forward; recomputed: at the end of a block's second run,
    beyond what it keeps; mlp: while the MLP goes back; once: a checkpointed block's first run.
    scores_*: per attention score; scores_less(_r): what the attention's backward no longer needs.
    """

    keep: float
    keep_r: float
    block_input: float
    last: float
    forward: float
    recomputed: float
    mlp: float
    mlp_r: float
    once: float
    once_r: float
    scores_keep: float
    scores_back: float
    scores_less: float
    scores_less_r: float
    scores_once: float
    scores_once_rest: float
    shared: float  # kept bytes that a checkpointed block's input already holds
    frozen: float  # a block's first run without any backward, beyond `once`

    def times(self, factor: float) -> Bytes:
        """All figures scaled, for a narrower dtype."""
        return Bytes(*(getattr(self, name) * factor for name in self.__slots__))


VIT_AMP = Bytes(24, 4, 2, 0, 16, 14, 2, 2, 12, 4, 6, 4, 6, 4, 6, 14, 0, 4)
VIT_BF16 = Bytes(24, 4, 2, 0, 16, 14, 2, 2, 12, 4, 6, 6, 6, 4, 6, 14, 0, 4)
VIT_FP32 = Bytes(32, 8, 4, 0, 12, 8, 4, 4, 16, 8, 4, 8, 8, 8, 8, 16, 4, 8)
DIVIDED_AMP = Bytes(36, 4, 4, 4, 20, 16, 2, 2, 24, 4, 6, 4, 6, 4, 6, 26, 0, 8)
DIVIDED_FP32 = Bytes(60, 8, 4, 8, 24, 16, 0, 4, 32, 8, 4, 8, 16, 8, 8, 28, 4, 8)
"""Autocast keeps norms' inputs in fp32 and their outputs as one half copy per linear layer. CUDA's
softmax takes fp16 scores as they are and makes an fp32 copy of bf16 ones."""

LOG_SUM_BYTES = 4.0
"""Fused attention keeps one fp32 number per head and token instead of the scores."""
NORM_BYTES = 16.0
"""Mean and deviation of a block's norms, per token."""

MEMORY_BYTES: Mapping[tuple[str, str], tuple[float, float, float]] = {
    ("vit", "amp"): (178.0, 10.0, 37.5),
    ("vit", "fp32"): (145.0, 20.0, 38.6),
    ("vit", "bf16-pure"): (72.5, 10.0, 19.3),
    ("divided", "amp"): (495.0, 10.0, 37.5),
    ("divided", "fp32"): (678.0, 20.0, 38.6),
    ("divided", "bf16-pure"): (339.0, 10.0, 19.3),
}
"""Bytes that norms, copies and elementwise operations of a block move in forward and backward per
token and channel, the same per MLP ratio, and per score of explicit attention (traces of
VideoMAE-B and TimeSformer-B)."""

KERNELS: Mapping[str, tuple[float, float, float]] = {
    "vit": (53.0, 18.0, 18.0), "divided": (115.0, 73.0, 33.0),
}  # fmt: skip
"""Kernels of one block in forward and backward: memory-bound under AMP, the same without casts,
matrix products (same traces). Explicit attention adds those below."""
SCORE_KERNELS = (13.0, 6.0)


def profile(job: Job) -> ModelProfile:
    """Profile of the job's transformer with the one point that the job asks for.

    >>> profile(Job(model="custom", frames=16)).params  # VideoMAE-B
    86534800
    """
    shape = shape_of(job)
    key = PRECISION_KEY[job.precision]
    params = parameters(shape, job)
    head = shape.width * CLASSES + CLASSES
    trainable = {"full": Trainable(params, _tensors(shape)), "head": Trainable(head, 2)}
    at = Setting(job.frames, job.size, key, job.checkpointing, job.attention, job.trainable)
    width = {"fp32": 4, "amp": 4, "bf16-pure": 2}
    return ModelProfile(
        model="custom",
        title=f"Transformer ({shape.depth} x {shape.width})",
        family="timesformer" if shape.pattern == "divided" else "vit",
        source="closed form",
        attention=("sdpa", "eager"),
        params=params,
        trainable=trainable,
        weights_mib={name: size * params / MIB for name, size in width.items()},
        gradients_mib={
            part: {name: size * count.params / MIB for name, size in width.items()}
            for part, count in trainable.items()
        },
        traced={},
        points={at: _point(shape, job, key)},
    )


def shape_of(job: Job) -> Shape:
    """Tokens and layers of a job; Refused where its figures do not divide."""
    if job.checkpointing == "wrapper":
        raise Refused(Message("custom_wrapper"))
    _must_divide("size", job.size, "patch", job.patch)
    _must_divide("frames", job.frames, "tubelet", job.tubelet)
    _must_divide("width", job.width, "heads", job.heads)
    patches = (job.size // job.patch) ** 2
    steps = job.frames // job.tubelet
    return Shape(steps, patches, job.depth, job.width, job.heads, job.mlp_ratio, job.pattern)


def _must_divide(name: str, whole: int, by: str, part: int) -> None:
    if whole % part:
        names = {"name": Message("input_" + name), "by": Message("input_" + by)}
        found = {**names, "whole": whole, "part": part}
        raise Refused(Message("must_divide", {**found, "next": whole - whole % part or part}))


def parameters(shape: Shape, job: Job) -> int:
    """Parameters, head included: exactly VideoMAE's and TimeSformer's at their figures."""
    width = shape.width
    embedding = 3 * job.tubelet * job.patch**2 * width + width
    positions = 0
    if shape.pattern == "divided":
        positions = (shape.patches + 1 + shape.frames + 1) * width
    return embedding + positions + shape.depth * _block_params(shape) + 2 * width + _head(shape)


def _head(shape: Shape) -> int:
    return shape.width * CLASSES + CLASSES


def _block_params(shape: Shape) -> int:
    """Parameters of one block: matrices, biases and norms."""
    width, hidden = shape.width, round(shape.mlp_ratio * shape.width)
    others = 16 if shape.pattern == "divided" else 8
    return _matrices(shape) + others * width + hidden


def _matrices(shape: Shape) -> int:
    """Parameters of one block's matrices: 5 of attention in time, 4 in space, the MLP."""
    attention = 9 if shape.pattern == "divided" else 4
    return attention * shape.width**2 + 2 * shape.width * round(shape.mlp_ratio * shape.width)


def _tensors(shape: Shape) -> int:
    return 9 + 20 * shape.depth if shape.pattern == "divided" else 6 + 15 * shape.depth


# --- Memory -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sizes:
    """Everything the lines are made of. MiB; per clip unless it says weights.

    unit: t; keep: what one block keeps; scores: one MiB per byte and score of the largest matrix.
    """

    unit: float
    keep: float
    scores: float
    clip: float  # the clip, with its half copy under autocast
    clip_alone: float
    cast: float  # weights of all blocks in half precision, 0 without autocast
    block_cast: float
    gradients: float  # weights
    block_gradients: float
    mlp_gradients: float
    head_gradients: float


def bytes_of(shape: Shape, job: Job, key: str) -> Bytes:
    """The table for a pattern and a precision."""
    divided = shape.pattern == "divided"
    if key == "amp" and not divided:
        return VIT_BF16 if job.precision == "bf16" else VIT_AMP
    if key == "amp":
        return DIVIDED_AMP
    return (DIVIDED_FP32 if divided else VIT_FP32).times(0.5 if key == "bf16-pure" else 1.0)


def _sizes(shape: Shape, job: Job, key: str) -> Sizes:
    """What the lines of a job are made of."""
    table = bytes_of(shape, job, key)
    grad_bytes = 2 if key == "bf16-pure" else 4
    cast_bytes = 2 if key == "amp" else 0
    unit = shape.tokens * shape.width / MIB
    largest, total = (count / MIB for count in shape.scores)
    kept_scores = table.scores_keep * total
    if job.attention == "sdpa":
        kept_scores = LOG_SUM_BYTES * shape.heads * shape.tokens / MIB
    keep = (table.keep + table.keep_r * shape.mlp_ratio) * unit + kept_scores
    pixels = 3 * job.frames * job.size**2 / MIB
    matrix = 2 * shape.width * round(shape.mlp_ratio * shape.width) / 2
    params = parameters(shape, job)
    return Sizes(
        unit=unit,
        keep=keep + NORM_BYTES * shape.tokens / MIB,
        scores=0.0 if job.attention == "sdpa" else largest,
        clip=pixels * (grad_bytes + cast_bytes),
        clip_alone=pixels * grad_bytes,
        cast=cast_bytes * (params - _head(shape)) / MIB,
        block_cast=cast_bytes * _matrices(shape) / MIB,
        gradients=grad_bytes * params / MIB,
        block_gradients=grad_bytes * _block_params(shape) / MIB,
        mlp_gradients=grad_bytes * matrix / MIB,
        head_gradients=grad_bytes * _head(shape) / MIB,
    )


def _point(shape: Shape, job: Job, key: str) -> Point:
    table, sizes = bytes_of(shape, job, key), _sizes(shape, job, key)
    if job.trainable == "head":
        step = _head_lines(shape, table, sizes)
    elif job.checkpointing == "block":
        step = _checkpointed(shape, table, sizes)
    else:
        step = _whole(shape, table, sizes)
    gradients = sizes.head_gradients if job.trainable == "head" else sizes.gradients
    accumulate = tuple(_accumulated(line, gradients, sizes.mlp_gradients) for line in step)
    return Point(step, accumulate, _work(shape, job, key))


def _whole(shape: Shape, table: Bytes, sizes: Sizes) -> tuple[Line, ...]:
    """Everything is kept: ends of forward, the last MLP, the last attention, the step."""
    kept = sizes.clip + shape.depth * sizes.keep + table.last * sizes.unit
    first = sizes.head_gradients + sizes.mlp_gradients
    cast = sizes.cast - sizes.block_cast / 3
    lines = [
        Line("forward", 0, sizes.cast, kept, 0, table.forward * sizes.unit),
        Line("backward", first, cast, kept, 0, _mlp(shape, table) * sizes.unit),
    ]
    if sizes.scores:
        more = first + sizes.mlp_gradients
        lines.append(Line("backward", more, cast, kept, 0, _attention(shape, table, sizes)))
    return (*lines, _optimizer(sizes))


def _checkpointed(shape: Shape, table: Bytes, sizes: Sizes) -> tuple[Line, ...]:
    """Each block keeps its input: the last block's second run, the first block's, the step."""
    inputs = table.block_input * sizes.unit
    kept = sizes.clip + shape.depth * inputs + table.last * sizes.unit
    once = max(
        (table.once + table.once_r * shape.mlp_ratio) * sizes.unit,
        table.scores_once * sizes.scores + table.scores_once_rest * sizes.unit,
    )
    block = sizes.keep - table.shared * sizes.unit + _recomputed(shape, table, sizes)
    most = sizes.gradients - sizes.block_gradients
    return (
        Line("forward", 0, sizes.cast, kept, 0, once),
        Line("backward", sizes.head_gradients, sizes.block_cast, kept, 0, block),
        Line("backward", most, sizes.block_cast, sizes.clip + inputs, 0, block),
        _optimizer(sizes),
    )


def _head_lines(shape: Shape, table: Bytes, sizes: Sizes) -> tuple[Line, ...]:
    """A frozen backbone keeps nothing: one block at a time."""
    once = max(
        (table.once + table.once_r * shape.mlp_ratio) * sizes.unit,
        table.scores_once * sizes.scores + table.scores_once_rest * sizes.unit,
    )
    head = Line("optimizer", sizes.head_gradients, 0, sizes.clip_alone, 0, 0)
    return (Line("forward", 0, 0, sizes.clip_alone, 0, once + table.frozen * sizes.unit), head)


def _mlp(shape: Shape, table: Bytes) -> float:
    return table.mlp + table.mlp_r * shape.mlp_ratio


def _attention(shape: Shape, table: Bytes, sizes: Sizes) -> float:
    """MiB that backward of explicit attention adds to what is kept, the MLP being done with."""
    less = table.scores_less + table.scores_less_r * shape.mlp_ratio
    return max(0.0, table.scores_back * sizes.scores - less * sizes.unit)


def _recomputed(shape: Shape, table: Bytes, sizes: Sizes) -> float:
    """MiB a block needs beyond what it keeps while it goes back."""
    end = max(table.recomputed, _mlp(shape, table)) * sizes.unit
    return max(end, _attention(shape, table, sizes) + table.shared * sizes.unit)


def _optimizer(sizes: Sizes) -> Line:
    return Line("optimizer", sizes.gradients, 0, sizes.clip_alone, 0, 0)


def _accumulated(line: Line, gradients: float, fresh: float) -> Line:
    """The same moment with all gradients kept, and a fresh one until it is added."""
    fresh = fresh if line.phase == "backward" else 0.0
    return Line(
        line.phase, gradients, line.activations_mib, line.activations_mib_per_clip,
        line.temporaries_mib + fresh, line.temporaries_mib_per_clip,
    )  # fmt: skip


# --- Work ---------------------------------------------------------------------------------------


def _work(shape: Shape, job: Job, key: str) -> dict[str, Work]:
    """Work of forward and backward, and of the second forward under checkpointing."""
    dtype = "fp32" if key == "fp32" else "half"
    size = 4 if key == "fp32" else 2
    kind = "divided" if shape.pattern == "divided" else "vit"
    again = 1.0 if job.checkpointing == "block" else 0.0
    once = job.trainable == "head"
    work = {
        "memory": _memory_work(shape, job, kind, key, 1 / 3 if once else 1 + again / 3),
        f"conv_{dtype}": _embedding_work(shape, job, size, 1 if once else 2),
        f"gemm_{dtype}": _matrix_work(shape, job, kind, size, 1 if once else 3 + again * 2 / 3),
    }
    if job.attention == "sdpa":
        work[f"attention_{dtype}"] = _fused_work(shape, size, once, again)
    return work


def _fused_work(shape: Shape, size: int, once: bool, again: float) -> Work:
    """Fused attention: backward runs 2.5 times forward's products, from q, k, v and the output."""
    gflop = _attention_gflop(shape) * (1 if once else 3.5 + again)
    moved = _tensor_gib(shape, size) * (4 if once else 12 + 4 * again)
    return Work(0, gflop, 0, moved, shape.depth * (1 if once else 4 + again))


def _tensor_gib(shape: Shape, size: float) -> float:
    """GiB of one tensor of tokens x channels in every block."""
    return shape.depth * shape.tokens * shape.width * size / GIB


def _attention_gflop(shape: Shape) -> float:
    """Forward of both products of attention in all blocks, GFLOP per clip."""
    return shape.depth * 4 * shape.scores[1] / shape.heads * shape.width / 1e9


def _embedding_work(shape: Shape, job: Job, size: int, passes: int) -> Work:
    weights = 3 * job.tubelet * job.patch**2 * shape.width
    flop = passes * 2 * shape.frames * shape.patches * weights
    clip = 3 * job.frames * job.size**2 + shape.tokens * shape.width
    return Work(0, flop / 1e9, passes * weights * size / GIB, passes * clip * size / GIB, passes)


def _matrix_work(shape: Shape, job: Job, kind: str, size: int, passes: float) -> Work:
    weights = shape.depth * _matrices(shape)
    gflop = passes * 2 * shape.tokens * weights / 1e9
    io_gib = passes * _tensor_gib(shape, size) * _matrix_channels(shape, kind)
    if job.attention == "eager":
        gflop += passes * _attention_gflop(shape)
        io_gib += passes * 2 * shape.depth * shape.scores[1] * size / GIB
    scores = job.attention == "eager" and kind == "vit"
    kernels = KERNELS[kind][2] + (SCORE_KERNELS[1] if scores else 0.0)
    return Work(0, gflop, passes * weights * size / GIB, io_gib, kernels * shape.depth * passes / 3)


def _matrix_channels(shape: Shape, kind: str) -> float:
    """Channels that go in and out of one block's matrix products, in widths."""
    return 2 * shape.mlp_ratio + (22 if kind == "divided" else 10)


def _memory_work(shape: Shape, job: Job, kind: str, key: str, passes: float) -> Work:
    rest, per_ratio, per_score = MEMORY_BYTES[kind, key]
    moved = (rest + per_ratio * shape.mlp_ratio) * _tensor_gib(shape, 1)
    kernels = KERNELS[kind][0 if key == "amp" else 1]
    if job.attention == "eager":
        moved += per_score * shape.depth * shape.scores[1] / GIB
        kernels += SCORE_KERNELS[0] if kind == "vit" else 0.0
    casts = 12 * shape.depth * _block_params(shape) / GIB if key == "amp" else 0.0
    return Work(0, 0, casts * passes, moved * passes, kernels * shape.depth * passes)
