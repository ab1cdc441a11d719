"""Decoded clips instead of synthetic tensors: `bench run --video-dir DIR`.

For many people not the card but the data loader is the limit. Clips are decoded with torchcodec in
a DataLoader's worker processes, cropped to the middle square, resized, and sent to the GPU as
bytes; the time that a step waits for them is a part of its own in the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, RandomSampler

from bench.point import Point

SUFFIXES = (".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v")
NO_DECODER = (
    "torchcodec is not installed or finds no FFmpeg; run `pip install torchcodec` and install "
    "ffmpeg (on Debian and Ubuntu: `apt install ffmpeg`)"
)
ENDLESS = 10**9  # samples of a loader that has no epochs


class VideoClips(Dataset[Tensor]):
    """Clips of `frames` neighbouring frames from the videos of a folder, bytes (T, 3, S, S)."""

    def __init__(self, folder: Path, frames: int, size: int) -> None:
        self.videos = find_videos(folder)
        self.frames = frames
        self.size = size

    def __len__(self) -> int:
        return len(self.videos)

    def __getitem__(self, index: int) -> Tensor:
        video = open_video(self.videos[index])
        last = len(video) - 1
        start = int(torch.randint(max(0, last - self.frames + 1) + 1, ()))
        places = [min(start + offset, last) for offset in range(self.frames)]
        return square(video.get_frames_at(places).data, self.size)


def find_videos(folder: Path) -> list[Path]:
    """Video files below a folder, sorted; ValueError where there are none."""
    videos = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not videos:
        raise ValueError(
            f"video-dir is {str(folder)!r}, with no video in it; allowed are {', '.join(SUFFIXES)}"
        )
    return videos


def open_video(path: Path) -> Any:
    """torchcodec's decoder of a file; it needs FFmpeg's libraries, which it does not bring."""
    try:
        from torchcodec.decoders import VideoDecoder

        return VideoDecoder(path, dimension_order="NCHW", num_ffmpeg_threads=1)
    except (ImportError, RuntimeError) as error:
        if "libtorchcodec" not in str(error) and not isinstance(error, ImportError):
            raise ValueError(f"{path.name} cannot be decoded; is it a video?") from error
        raise ValueError(NO_DECODER) from error


def square(frames: Tensor, size: int) -> Tensor:
    """The middle square of (T, 3, H, W) bytes at `size` pixels.

    >>> square(torch.zeros(4, 3, 20, 30, dtype=torch.uint8), 16).shape
    torch.Size([4, 3, 16, 16])
    """
    height, width = frames.shape[-2:]
    edge = min(height, width)
    top, left = (height - edge) // 2, (width - edge) // 2
    middle = frames[..., top : top + edge, left : left + edge]
    return F.interpolate(middle, size=(size, size), mode="bilinear", antialias=True)


def batches(point: Point, example: Tensor) -> Iterator[Tensor]:
    """Endless batches in the shape, type and place of `example`, the synthetic batch."""
    if not isinstance(example, Tensor) or example.dim() != 5:
        raise ValueError(f"{point.model} takes more than clips; leave out --video-dir")
    dataset = VideoClips(Path(point.video_dir or "."), point.frames, point.size)
    loader = DataLoader(
        dataset,
        batch_size=point.batch,
        sampler=RandomSampler(dataset, replacement=True, num_samples=ENDLESS),
        num_workers=point.workers,
        pin_memory=example.is_cuda,
    )
    colours_first = example.shape[1] == 3
    for clips in loader:  # (B, T, 3, S, S)
        ordered = clips.transpose(1, 2) if colours_first else clips
        yield ordered.to(example.device, non_blocking=True).to(example.dtype).div_(255)
