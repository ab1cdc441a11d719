"""One point of a measurement: a model at one setting, and how long to measure it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from calc.runs import Row


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a point is measured.

    warm_up_s: longest warm-up; a point that is not steady by then is measured but marked unstable.
    steps, least_s, seconds: the steady state has `steps` steps or more, so that it lasts `least_s`,
    but fewer (five at least) where it would last longer than `seconds`.
    """

    warm_up_s: float = 30.0
    steps: int = 20
    least_s: float = 2.0
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Point:
    """What is measured. Words and units are those of `calc.job.Job`.

    batch: clips of one GPU in one forward; accumulation: forwards per optimizer step.
    input: shape of one clip for a builder's model, e.g. (3, 32, 224, 224).
    builder: FILE.py:FUNCTION of a user's own model, else None and `model` is a model id.
    memory_limit_gib: most memory PyTorch's allocator may take, None for the whole card.
    parallel: none | ddp | fsdp; gpus: how many take part.
    video_dir: folder of clips to decode, None for synthetic tensors.
    """

    model: str
    frames: int
    size: int
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
    device: str = "cuda"
    builder: str | None = None
    input: tuple[int, ...] | None = None
    memory_limit_gib: float | None = None
    parallel: str = "none"
    gpus: int = 1
    video_dir: str | None = None
    workers: int = 4
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in ("frames", "size", "batch", "accumulation", "gpus"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} is {value}; allowed are whole numbers from 1")

    def row(self, status: str, **results: object) -> Row:
        """A row of this point."""
        return Row(
            frames=self.frames,
            size=self.size,
            batch=self.batch,
            checkpointing=self.checkpointing,
            attention=self.attention,
            optimizer="none" if self.mode == "infer" else self.optimizer,
            status=status,
            mode=self.mode,
            trainable=self.trainable,
            gpus=self.gpus,
            sharding="ddp" if self.parallel == "none" else self.parallel,
            clip_grad=self.clip_grad,
            channels_last=self.channels_last,
            accumulation=self.accumulation,
            data="synthetic" if self.video_dir is None else "clips",
            memory_limit_gib=self.memory_limit_gib,
            **results,
        )

    def replace(self, **changes: object) -> Point:
        """This point with some settings changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def as_tree(self) -> dict[str, Any]:
        """This point as JSON takes it."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_tree(tree: dict[str, Any]) -> Point:
        """The point that `as_tree` gave.

        >>> point = Point("net", 8, 112, input=(3, 8, 112, 112))
        >>> Point.from_tree(point.as_tree()) == point
        True
        """
        shape = tree["input"] and tuple(tree["input"])
        return Point(**{**tree, "input": shape, "limits": Limits(**tree["limits"])})

    def text(self) -> str:
        """The point in a few words, for the plan and the progress bar.

        >>> Point("video-swin-t", 32, 224, 8).text()
        'video-swin-t fp16 32x224 batch 8'
        """
        words = [self.model, self.precision, f"{self.frames}x{self.size}", f"batch {self.batch}"]
        defaults = {"checkpointing": "none", "optimizer": "adamw", "trainable": "full"}
        words += [
            getattr(self, key) for key, usual in defaults.items() if getattr(self, key) != usual
        ]
        words += ["infer"] if self.mode == "infer" else []
        words += [f"{self.parallel} {self.gpus} GPUs"] if self.gpus > 1 else []
        words += [f"cap {self.memory_limit_gib:g} GiB"] if self.memory_limit_gib else []
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the process of a point sends back; `broken`: trust this card no longer."""

    row: Row
    broken: bool = False
