"""Trace timm's own models and write measurements/published/timm_rtx3090.yaml.

timm publishes, for each model, the first batch of a descending ladder that trained on an RTX 3090
with 24 GB. This script traces the same step without a GPU and replays it through the model of the
caching allocator, for every step of the ladder that comes near the card's memory. It never looks
at the published step while it predicts.

    python -m tools.trace_timm TABLE.csv [--from N] [--to N]

The step is that of timm's benchmark of 2022: fp16 AMP without a gradient scaler, SGD with Nesterov
momentum 0.9 looping over parameters, gradients kept by ``zero_grad()`` of torch 1.12, attention
explicit. It ran channels-last; a trace on meta loses that layout, which changes no tensor's size.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from bench import allocator
from bench.allocator import BLOCK, Settings
from tools.step_trace import AsRun, keep_gradients, trace_module
from tools.trace_workloads import timm_family

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "measurements/published/timm_rtx3090.yaml"
GIB = 2**30
LADDER = (512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
NEAR_GIB = (15.0, 24.0)  # live tensors of the ladder steps that are replayed
SETTINGS = Settings(orders=3, probe=0.02)
SEED = 7  # order in which models are traced, so that any first part is a fair sample


def trace_model(name: str, size: int) -> tuple[AsRun, float]:
    """The step of timm's benchmark, affine in the batch, and millions of parameters."""
    import timm
    from timm.layers import set_fused_attn

    from bench.models import silent_initialisers

    set_fused_attn(False)
    with torch.device("meta"), silent_initialisers(True):
        model = timm.create_model(name, pretrained=False)
    step = trace_module(model, (3, size, size), amp=True, optimizer="nesterov", attention="eager")
    params_m = sum(p.numel() for p in model.parameters()) / 1e6
    return keep_gradients(step), params_m


def near_steps(run: AsRun) -> list[list[float]]:
    """[batch, live, counted, reserved, cap, calm] in GiB of the steps near the card's memory."""
    found = []
    for batch in LADDER:
        script = allocator.script(run, batch)
        live_gib = allocator.peak_blocks(script) * BLOCK / GIB
        if NEAR_GIB[0] <= live_gib <= NEAR_GIB[1]:
            f = allocator.measure(script, SETTINGS)
            figures = (f.allocated, f.counted, f.reserved, f.cap, f.calm)
            found.append([batch, *(round(value / GIB, 3) for value in figures)])
        elif live_gib < NEAR_GIB[0]:
            found.append([batch, round(live_gib, 3)])
            break
    return found


def record(row: dict[str, str]) -> dict[str, Any]:
    """One model of the file."""
    run, params_m = trace_model(row["model"], int(row["image_size"]))
    return {
        "model": row["model"],
        "family": timm_family(row["model"]),
        "size": int(row["image_size"]),
        "params_m": round(params_m, 2),
        "ran": int(row["largest_batch_that_ran"]),
        "steps": near_steps(run),
    }


def header() -> dict[str, Any]:
    """What the file says about itself."""
    return {
        "schema": 1,
        "about": (
            "Largest batch of a ladder that trained on an RTX 3090 24 GB (ran), and what a replay "
            "of a traced step needs at ladder steps near the card's memory. steps: [batch, live, "
            "counted, reserved, cap, calm] in GiB; the last has [batch, live] only and fits easily."
        ),
        "source": (
            "https://github.com/huggingface/pytorch-image-models/blob/main/results/"
            "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv"
        ),
        "conditions": (
            "torch 1.12, cu113, fp16 AMP, channels last, SGD with Nesterov momentum, explicit "
            "attention, cudnn.benchmark on; models at 512 left out, nothing larger was tried"
        ),
        "traced": {
            "torch": torch.__version__.split("+")[0],
            "command": "python -m tools.trace_timm TABLE.csv",
        },
        "ladder": list(LADDER),
    }


def sample(path: Path) -> list[dict[str, str]]:
    """Rows below 512, in a fixed random order."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file) if int(r["largest_batch_that_ran"]) < LADDER[0]]
    random.Random(SEED).shuffle(rows)
    return rows


def write(models: list[dict[str, Any]], target: Path = TARGET) -> None:
    """Write the file, one model a line."""
    head = yaml.safe_dump(header(), sort_keys=False, width=100)
    lines = [
        "- " + yaml.safe_dump(m, default_flow_style=True, sort_keys=False, width=10**6).strip()
        for m in sorted(models, key=lambda m: (m["model"], m["size"]))
    ]
    target.write_text(head + "models:\n" + "\n".join(lines) + "\n", encoding="utf-8")


def load(target: Path = TARGET) -> list[dict[str, Any]]:
    """Models that were traced before."""
    return yaml.safe_load(target.read_text(encoding="utf-8"))["models"] if target.exists() else []


def main(argv: Sequence[str] | None = None) -> int:
    """Trace models that the file does not have yet; it is written after each."""
    parser = argparse.ArgumentParser(description="trace timm's models for the RTX 3090 ladder")
    parser.add_argument("table", type=Path)
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--to", dest="end", type=int, default=None)
    args = parser.parse_args(argv)
    models = load()
    done = {(m["model"], m["size"]) for m in models}
    for row in sample(args.table)[args.start : args.end]:
        if (row["model"], int(row["image_size"])) in done:
            continue
        try:
            models.append(record(row))
        except Exception as error:  # a model of another timm version: name it and go on
            print(f"{row['model']}: not traced: {error!r}"[:160], flush=True)
            continue
        write(models)
        print(row["model"], models[-1]["ran"], models[-1]["steps"], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
