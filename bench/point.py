"""One point of a measurement: a model at one setting, and how long to measure it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a point is measured.

    warm_up_s: longest warm-up; a point that is not steady by then is measured but marked unstable.
    steps, seconds: the steady state lasts until both `steps` steps and `least_s` are over, or until
    `seconds` are over (five steps at least).
    """

    warm_up_s: float = 30.0
    steps: int = 20
    least_s: float = 2.0
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Point:
    """What is measured. Words and units are those of `calc.job.Job`.

    batch: clips of one GPU; input: shape of one clip for a builder's model, e.g. (3, 32, 224, 224).
    builder: FILE.py:FUNCTION of a user's own model, else None and `model` is a model id.
    memory_cap_gib: most memory PyTorch's allocator may take, None for the whole card.
    parallel: none | ddp | fsdp; gpus: how many take part.
    video_dir: folder of clips to decode, None for synthetic tensors.
    """

    model: str
    frames: int | None = None
    size: int | None = None
    batch: int = 1
    precision: str = "fp16"
    checkpointing: str = "none"
    attention: str = "sdpa"
    optimizer: str = "adamw"
    trainable: str = "full"
    clip_grad: bool = False
    mode: str = "train"
    device: str = "cuda"
    builder: str | None = None
    input: tuple[int, ...] | None = None
    memory_cap_gib: float | None = None
    parallel: str = "none"
    gpus: int = 1
    video_dir: str | None = None
    workers: int = 4
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in ("frames", "size", "batch", "gpus"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; allowed are whole numbers from 1")

    @property
    def identity(self) -> dict[str, object]:
        """The setting of a row: what makes it the same point as another row of the same file."""
        return {
            "frames": self.frames,
            "size": self.size,
            "batch": self.batch,
            "gpus": self.gpus,
            "checkpointing": self.checkpointing,
            "attention": self.attention,
            "optimizer": self.optimizer,
            "trainable": self.trainable,
            "clip_grad": self.clip_grad,
            "memory_cap_gib": self.memory_cap_gib,
            "real_clips": self.video_dir is not None,
        }

    def replace(self, **changes: object) -> Point:
        """This point with some settings changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def text(self) -> str:
        """The point in a few words, for the plan and the progress bar.

        >>> Point("video-swin-t", 32, 224, 8).text()
        'video-swin-t fp16 32x224 batch 8'
        """
        shape = f"{self.frames}x{self.size}" if self.frames else "x".join(map(str, self.input or ()))
        words = [self.model, self.precision, shape, f"batch {self.batch}"]
        defaults = {"checkpointing": "none", "optimizer": "adamw", "trainable": "full"}
        words += [getattr(self, key) for key, usual in defaults.items() if getattr(self, key) != usual]
        words += ["infer"] if self.mode == "infer" else []
        words += [f"{self.parallel} {self.gpus} GPUs"] if self.gpus > 1 else []
        words += [f"cap {self.memory_cap_gib:g} GiB"] if self.memory_cap_gib else []
        return " ".join(words)
