"""Seconds per trace of one training step: python benchmarks/trace_time.py [MODEL ...]

CPU seconds of this process, one thread, after the libraries are loaded; the target is under 5 s for
a model of 300 M parameters. Machines differ and other programs disturb, so this is no test.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.step import StepConfig
from bench.trace import trace_step

MODELS = ("video-swin-t", "videomae-b", "videomae-l", "vjepa2-l", "videomae-h", "vjepa2-g")
REPEATS = 3


def main(models: list[str]) -> None:
    """Print one line per model and way."""
    torch.set_num_threads(1)
    trace_step(StepConfig(model="video-swin-t"))  # loads the libraries
    for model in models:
        for checkpointing in ("none", "block"):
            config = StepConfig(model=model, batch=8, checkpointing=checkpointing)
            times, params = [], 0
            for _ in range(REPEATS):
                began = time.process_time()
                params = trace_step(config).params
                times.append(time.process_time() - began)
            middle = statistics.median(times)
            print(
                f"{model:14} {params / 1e6:6.0f} M  {checkpointing:5}  {middle:5.2f} s", flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODELS))
