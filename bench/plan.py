"""From the command line to the points to measure, in the order they are measured."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.point import Limits, Point
from calc.job import FIELD


@dataclass(frozen=True, slots=True)
class Preset:
    """Lists that a preset stands for; any of them can be given on the command line instead."""

    model: tuple[str, ...]
    batch: tuple[int, ...]
    precision: tuple[str, ...]
    checkpointing: tuple[str, ...]


STANDARD_MODELS = (
    "video-swin-t", "video-swin-s", "video-swin-b", "timesformer-b",
    "videomae-b", "videomae-l", "mvit-v2-s", "r2plus1d-18",
)  # fmt: skip

PRESETS = {
    "quick": Preset(("video-swin-t",), (1, 4, 8), ("fp16",), ("none",)),
    "standard": Preset(STANDARD_MODELS, (1, 2, 4, 8), ("fp16", "bf16", "fp32"), ("none", "block")),
    "full": Preset(
        (*STANDARD_MODELS, "videomae-s", "videomae-h", "vivit-b", "r3d-18", "mc3-18", "s3d"),
        (1, 2, 4, 8, 16, 32, 64),
        ("fp16", "bf16", "tf32", "fp32", "bf16-pure"),
        ("none", "block"),
    ),
}

# A point takes at least its start and two seconds of steady state, at most start, 30 s of warm-up
# and 10 s of steady state, seconds.
POINT_S = (8.0, 50.0)

AMPERE = 8.0  # compute capability from which bf16 and tf32 run on tensor cores
NEEDS_AMPERE = ("bf16", "bf16-pure", "tf32")


def add_point_arguments(parser: argparse.ArgumentParser, many: bool) -> None:
    """Flags that say what is measured; `many`: lists are allowed."""
    several = "+" if many else None
    choices = {key: FIELD[key].options for key in ("precision", "checkpointing")}
    parser.add_argument("--model", nargs=several, help="model ids, as in video-swin-t")
    parser.add_argument("--builder", metavar="FILE.py:FUNCTION", help="your own model instead")
    parser.add_argument("--input", metavar="3,32,224,224", help="shape of one clip for --builder")
    parser.add_argument(
        "--frames", nargs=several, type=int, help="frames of a clip; default: the model's own"
    )
    parser.add_argument(
        "--size", nargs=several, type=int, help="edge in pixels; default: the model's own"
    )
    if many:
        parser.add_argument("--batch", nargs="+", type=int, help="clips of one forward, per GPU")
    for key, options in choices.items():
        parser.add_argument(f"--{key}", nargs=several, choices=options, metavar="|".join(options))
    parser.add_argument(
        "--attention", choices=FIELD["attention"].options, help="where the model offers it"
    )
    parser.add_argument("--optimizer", choices=FIELD["optimizer"].options, default="adamw")
    parser.add_argument("--trainable", choices=FIELD["trainable"].options, default="full")
    parser.add_argument("--channels-last", action="store_true", help="memory format of tensors")
    parser.add_argument("--accumulation", type=int, default=1, help="forwards per optimizer step")
    parser.add_argument("--clip-grad", action="store_true", help="clip the gradients' norm to 1")
    parser.add_argument("--memory-gib", type=float, help="most memory PyTorch may take, GiB")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags that say how long a point is measured."""
    usual = Limits()
    group = parser.add_argument_group(
        "how long a point is measured (leave alone for contributions)"
    )
    group.add_argument("--warm-up-s", type=float, default=usual.warm_up_s, help="longest warm-up")
    group.add_argument("--steps", type=int, default=usual.steps, help="steps of the steady state")
    group.add_argument("--least-s", type=float, default=usual.least_s, help="its shortest time")
    group.add_argument("--seconds", type=float, default=usual.seconds, help="its longest time")


def limits(args: argparse.Namespace) -> Limits:
    """How long each point is measured."""
    return Limits(args.warm_up_s, args.steps, args.least_s, args.seconds)


def points(args: argparse.Namespace, device: str, gpus: int = 1) -> list[Point]:
    """All points of a command line; those of one file stand together, batches rise."""
    preset = PRESETS[args.preset]
    lists = (
        [builder_name(args.builder)] if args.builder else _list(args.model, preset.model),
        _list(args.precision, preset.precision),
        _list(args.frames, (None,)),
        _list(args.size, (None,)),
        _list(args.checkpointing, preset.checkpointing),
        sorted(_list(args.batch, preset.batch)),
    )
    names = ("model", "precision", "frames", "size", "checkpointing", "batch")
    settings = (dict(zip(names, values, strict=True)) for values in itertools.product(*lists))
    return [point(args, device, gpus, **setting) for setting in settings]


def _list(given: Sequence[Any] | None, usual: Sequence[Any]) -> list[Any]:
    """What was given, each once and in its order, else the preset's."""
    return list(dict.fromkeys(given if given else usual))


def point(args: argparse.Namespace, device: str, gpus: int = 1, **setting: Any) -> Point:
    """One point: `setting`, and what the flags say about all points."""
    return Point(
        **{**setting, **shape_and_attention(args, **setting)},
        optimizer=args.optimizer,
        trainable=args.trainable,
        clip_grad=args.clip_grad,
        channels_last=args.channels_last,
        accumulation=args.accumulation,
        mode=args.mode,
        device=device,
        builder=absolute_builder(args.builder),
        input=input_shape(args.input),
        memory_limit_gib=args.memory_gib,
        parallel=args.parallel if gpus > 1 else "none",
        gpus=gpus,
        video_dir=video_folder(args.video_dir),
        workers=args.workers,
        limits=limits(args),
    )


def shape_and_attention(
    args: argparse.Namespace, model: str, frames: int | None, size: int | None, **_: Any
) -> dict[str, Any]:
    """Frames, size and attention as the model will have them."""
    if args.builder:
        frames, size = clip_of(input_shape(args.input))
        return {"frames": frames, "size": size, "attention": args.attention or "sdpa"}
    from bench.models import find

    spec = find(model)
    offered = args.attention in spec.attention
    return {
        "frames": frames or spec.reference[0],
        "size": size or spec.reference[1],
        "attention": args.attention if offered else spec.attention[0],
    }


def clip_of(shape: tuple[int, ...] | None) -> tuple[int, int]:
    """Frames and size of a builder's clip, colours first or frames first.

    >>> clip_of((3, 32, 224, 224)), clip_of((16, 3, 112, 112)), clip_of((3, 64, 64))
    ((32, 224), (16, 112), (1, 64))
    """
    if shape is None or len(shape) not in (3, 4):
        raise ValueError("a builder needs --input, the shape of one clip, as in 3,32,224,224")
    if len(shape) == 3:
        return 1, shape[-1]
    return (shape[1] if shape[0] <= 4 else shape[0]), shape[-1]


def builder_name(builder: str) -> str:
    """The name of a user's model in files.

    >>> builder_name("models/My Net.py:build")
    'my-net-build'
    """
    from calc.card import slug

    path, _, function = builder.rpartition(":")
    if not path.endswith(".py") or not function:
        raise ValueError(f"builder is {builder!r}; write FILE.py:FUNCTION, as in my_model.py:build")
    return slug(f"{Path(path).stem}-{function}")


def video_folder(text: str | None) -> str | None:
    """The folder of clips, if one is given."""
    if text is not None and not Path(text).is_dir():
        raise ValueError(f"video-dir is {text!r}, which is no folder; give one with videos in it")
    return text


def absolute_builder(builder: str | None) -> str | None:
    """The builder with its full path, so that another process finds it."""
    if builder is None:
        return None
    path, _, function = builder.rpartition(":")
    if not Path(path).is_file():
        raise ValueError(f"builder is {builder!r}, but there is no file {path}")
    return f"{Path(path).resolve()}:{function}"


def input_shape(text: str | None) -> tuple[int, ...] | None:
    """The shape of one clip.

    >>> input_shape("3,32,224,224")
    (3, 32, 224, 224)
    """
    if text is None:
        return None
    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise ValueError(f"input is {text!r}; write whole numbers with commas, as in 3,32,224,224")
    return shape


def files(points: Iterable[Point]) -> list[list[Point]]:
    """The points of each file: one file per model and precision."""
    grouped: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        grouped.setdefault((point.model, point.precision), []).append(point)
    return list(grouped.values())


def left_out(point: Point, compute_capability: str | None) -> bool:
    """Whether this card cannot run the point's precision on its tensor cores."""
    old = compute_capability is not None and float(compute_capability) < AMPERE
    return old and point.precision in NEEDS_AMPERE


def describe(points: Sequence[Point]) -> list[str]:
    """The plan as lines, with the time it is expected to take."""
    parts = files(points)
    lines = [f"{part[0].model} {part[0].precision}: {_list_words(part)}" for part in parts]
    low, high = (math.ceil(len(points) * seconds / 60) for seconds in POINT_S)
    time = f"about {low} min" if low == high else f"about {low} to {high} min"
    total = f"{_counted(points, 'point')} into {_counted(parts, 'file')}, {time}"
    return [*lines, total]


def _counted(items: Sequence[object], name: str) -> str:
    """
    >>> _counted([1], "point"), _counted([], "file")
    ('1 point', '0 files')
    """
    return f"{len(items)} {name}" if len(items) == 1 else f"{len(items)} {name}s"


def _list_words(part: Sequence[Point]) -> str:
    """The settings of one file's points, each once."""
    shapes = dict.fromkeys(f"{point.frames}x{point.size}" for point in part)
    batches = dict.fromkeys(str(point.batch) for point in part)
    kept = dict.fromkeys(point.checkpointing for point in part)
    return f"{', '.join(shapes)}, batch {' '.join(batches)}, checkpointing {' '.join(kept)}"
