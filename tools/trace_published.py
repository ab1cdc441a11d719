"""Trace the published memory figures and write measurements/published/video_memory.yaml.

Each row of a table of published training memory is rebuilt (``tools/published_builders.py`` or a
library), traced without a GPU by ``bench.trace``, and replayed through ``bench.allocator``. The
result stands beside the published figure, so that ``python -m calc accuracy`` needs no torch.

    python -m tools.trace_published TABLE.csv [--only ID ...] [--again]

What the sources' software did differently from a step of today is put into the trace, and said in
each row: DDP buckets, gradients that stay from step to step (``zero_grad`` before torch 2.0), and
attention as torch up to 1.10 ran it (``old_attention``).
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
import yaml

from bench import allocator
from tools import published_builders as builders
from tools.step_trace import AsRun, Recorded, keep_gradients, trace_module, with_buckets

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "measurements/published/video_memory.yaml"
MIB = 2**20
ORDERS = 5  # address orders of the replay; the median counts

GROUPS = {
    "tsn": "ResNet-2D", "tsm": "ResNet-2D", "tsm-tad": "ResNet-2D", "c2d": "ResNet-2D",
    "i3d": "ResNet-3D", "slowonly": "ResNet-3D", "slowonly-ava": "ResNet-3D",
    "slowonly-multisports": "ResNet-3D", "tpn": "ResNet-3D", "c3d": "C3D", "video-swin": "Swin",
    "clip-vit-avion": "ViT",
}  # fmt: skip
GROUP_OF_ROW = {"tsn-25": "DenseNet", "tsn-26": "Swin", "tpn-02": "ResNet-2D"}

# Why a row whose torch is not stated is taken to be newer than 1.10. All others count as older:
# the tables were filled from 2020 to 2022.
NEW_ATTENTION = {
    "video-swin": "with the softmax of torch 1.10 Swin-L would need 97 GB, more than its card has",
    "clip-vit-avion": "torch 1.13.1 is stated",
}


# Rows whose figure is something else than the peak of allocated memory: kept, never graded.
NOT_COMPARABLE = dict.fromkeys(
    ("tsm-01", "tsn-01"),
    "the code of that column (mit-han-lab/temporal-shift-module main.py) logs no memory: the "
    "figure was read from outside and holds the context and all reserved memory",
)


@dataclass(frozen=True, slots=True)
class Step:
    """How the step of a row was run."""

    batch: int
    amp: bool
    optimizer: str
    ddp: bool
    checkpointing: bool
    keep_gradients: bool
    old_attention: bool


def group_of(row: dict[str, str]) -> str:
    """The backbone group a row is graded in."""
    return GROUP_OF_ROW.get(row["id"]) or GROUPS[row["family"]]


def step_of(row: dict[str, str]) -> Step:
    """The training step of a row, from what its source says."""
    version = row["torch_version"].split()[0].split("+")[0]
    stated = version if version[:1].isdigit() else None
    number = tuple(int(part) for part in stated.split(".")[:2]) if stated else (1, 8)
    return Step(
        batch=int(row["batch_per_gpu"]),
        amp=row["precision"].startswith("amp"),
        optimizer="adamw" if row["optimizer"].startswith("Adam") else "sgd",
        ddp=row["n_gpus"] != "1",
        checkpointing=row["checkpointing"].startswith("yes"),
        keep_gradients=number < (2, 0),
        old_attention=number < (1, 11) and row["family"] not in NEW_ATTENTION,
    )


def module_of(row: dict[str, str], step: Step) -> tuple[torch.nn.Module, tuple[int, ...]]:
    """The network of a row on meta, and the shape of one clip as it takes it."""
    size = (int(row["H"]), int(row["W"]))
    if row["family"] == "clip-vit-avion":
        with torch.device("meta"):
            return builders.ClipTowers(), (3, int(row["frames"]), *size)
    cfg = json.loads(row["arch_cfg"]) if row["arch_cfg"] else builders.BY_ID[row["id"]]
    channels = int(row["in_channels"])
    if channels != 3:
        cfg["backbone"]["in_channels"] = channels
    segments = builders.images_per_clip(row)
    with torch.device("meta"):
        module = builders.build(cfg, segments, old_torch=step.old_attention)
    if cfg["recognizer"] == "Recognizer2D":
        return module, (segments, channels, *size)
    return module, (channels, int(row["frames"]), *size)


def as_run(trace: Recorded, step: Step, module: torch.nn.Module) -> AsRun:
    """Put kept gradients and DDP's buckets into a traced step."""
    run = keep_gradients(trace) if step.keep_gradients else AsRun(trace.resident, trace.events)
    return with_buckets(run, list(module.parameters())) if step.ddp else run


def peak_parts(run: AsRun, batch: int) -> tuple[str, dict[str, float]]:
    """Phase of the live peak and its parts by category, MiB."""
    live: dict[str, float] = {}
    sizes: dict[int, tuple[str, float]] = {}
    best, phase, parts = 0.0, "forward", {}
    total = 0.0
    for event in (*run.resident, *run.events):
        if event.kind == "alloc":
            size = allocator.blocks(event.fixed_bytes + event.per_clip_bytes * batch) * 512 / MIB
            sizes[event.storage] = (event.category, size)
            live[event.category] = live.get(event.category, 0.0) + size
            total += size
        else:
            category, size = sizes.pop(event.storage)
            live[category] -= size
            total -= size
        if total > best:
            best, phase, parts = total, event.phase, dict(live)
    return phase, {name: round(size, 1) for name, size in parts.items() if size >= 0.05}


@cache
def _traced(row_key: str, step: Step) -> tuple[AsRun, float]:
    """The step of a row, affine in the batch, and millions of parameters; same rows share it."""
    row = json.loads(row_key)
    module, shape = module_of(row, step)
    trace = trace_module(
        module, shape, amp=step.amp, optimizer=step.optimizer, checkpoint=step.checkpointing
    )
    params_m = sum(p.numel() for p in module.parameters()) / 1e6
    return as_run(trace, step, module), round(params_m, 2)


def trace_of(row: dict[str, str], step: Step) -> tuple[AsRun, float]:
    """The traced step of a row; rows that differ in their batch only are traced once."""
    names = ("family", "H", "W", "frames", "segments_2d", "in_channels")
    key = {name: row[name] for name in names}
    cfg = row["arch_cfg"] or json.dumps(builders.BY_ID.get(row["id"]))
    key |= {"id": "", "arch_cfg": "" if cfg == "null" else cfg}
    return _traced(json.dumps(key), replace(step, batch=0))


def predict(row: dict[str, str]) -> dict[str, Any]:
    """Trace and replay one row."""
    step = step_of(row)
    run, params_m = trace_of(row, step)
    script = allocator.script(run, step.batch)
    live_mib = allocator.peak_blocks(script) * allocator.BLOCK / MIB
    counted = sorted(allocator.replay(script, seed=seed).counted / MIB for seed in range(ORDERS))
    phase, parts = peak_parts(run, step.batch)
    return {
        "params_m": params_m,
        "live_mib": round(live_mib, 1),
        "rounding_mib": round(counted[len(counted) // 2] - live_mib, 1),
        "phase": phase,
        "parts_mib": parts,
        "ddp": step.ddp,
        "gradients_kept": step.keep_gradients,
        "old_attention": step.old_attention,
    }


def record(row: dict[str, str], trace: dict[str, Any] | None) -> dict[str, Any]:
    """One row of the file: the published figure with its source, and the trace."""
    return {
        "id": row["id"],
        "group": group_of(row),
        "family": row["family"],
        "arch": row["arch"],
        "frames": int(row["frames"]),
        "size": int(row["H"]),
        "channels": int(row["in_channels"]),
        "batch": int(row["batch_per_gpu"]) if row["batch_per_gpu"].isdigit() else None,
        "precision": "amp" if row["precision"].startswith("amp") else "fp32",
        "optimizer": row["optimizer"],
        "checkpointing": "block" if row["checkpointing"].startswith("yes") else "none",
        "framework": row["framework"],
        "torch": None if row["torch_version"] == "not stated" else row["torch_version"],
        "measured_mib": float(row["peak_mem_mib"]),
        "resolution_mib": float(row["resolution_of_value_mib"] or 1),
        "metric": row["metric"],
        "confidence": row["confidence"],
        "not_comparable": NOT_COMPARABLE.get(row["id"]),
        "why": row["confidence_note"],
        "note": row["note"],
        "source": f"{row['source_repo']}@{row['source_commit'][:10]} {row['source_path']}".strip(),
        "trace": trace,
    }


def header() -> dict[str, Any]:
    """What the file says about itself."""
    return {
        "schema": 1,
        "about": (
            "Published peak memory of video training, each with a trace of the same step. "
            "live_mib: live tensors at the peak; rounding_mib: what block remainders add "
            "(median of 5 address orders); their sum is what max_memory_allocated counts. "
            "Rows of low confidence are kept, not traced, never fitted nor graded."
        ),
        "traced": {
            "torch": torch.__version__.split("+")[0],
            "python": platform.python_version(),
            "date": datetime.date.today().isoformat(),
            "command": "python -m tools.trace_published TABLE.csv",
        },
        "assumptions": {
            "gradients_kept": "zero_grad() kept gradients before torch 2.0; not stated = before",
            "old_attention": (
                "torch up to 1.10 saved the input of softmax and copied operands of matmul that "
                "are not contiguous; not stated = up to 1.10"
            ),
            "new_attention": NEW_ATTENTION,
        },
    }


def write(rows: Iterable[dict[str, Any]], target: Path) -> None:
    """Write the file, one row after another."""
    text = yaml.safe_dump(
        {**header(), "rows": list(rows)}, sort_keys=False, allow_unicode=True, width=100
    )
    target.write_text(text, encoding="utf-8")


def load(target: Path) -> dict[str, dict[str, Any]]:
    """Traces made before, by row."""
    tree = yaml.safe_load(target.read_text(encoding="utf-8"))
    return {row["id"]: row["trace"] for row in tree["rows"] if row["trace"]}


def main(argv: Sequence[str] | None = None) -> int:
    """Trace what the file does not have yet; --only names rows to trace again, --again all."""
    parser = argparse.ArgumentParser(description="trace published memory figures")
    parser.add_argument("table", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args(argv)
    with args.table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    before = {} if args.again or not TARGET.exists() else load(TARGET)
    done = {row["id"]: record(row, before.get(row["id"])) for row in rows}
    for row in rows:
        known = row["id"] in before and row["id"] not in args.only
        if known or row["confidence"] == "low":
            continue
        trace = predict(row)
        done[row["id"]]["trace"] = trace
        off = (trace["live_mib"] + trace["rounding_mib"]) / float(row["peak_mem_mib"]) - 1
        print(f"{row['id']:24} {row['confidence']:6} {off:+.2%}", flush=True)
        write(done.values(), TARGET)
    write(done.values(), TARGET)
    return 0


if __name__ == "__main__":
    sys.exit(main())
