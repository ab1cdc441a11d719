"""Trace what users reported to fit or to run out of memory; write video_memory_user_reports.yaml.

    python -m tools.trace_reports TABLE.csv [--only ID ...]

Only reports whose model, clip and batch are named can be traced; the others are kept with the
reason. DeepSpeed's fp16 holds fp16 weights and gradients in the trace, and here 12 more bytes a
parameter: fp32 weights and Adam's two states.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import nn

from bench import allocator
from bench.allocator import Settings
from bench.models import silent_initialisers
from bench.step import StepConfig
from bench.trace import Event, trace_step
from tools import published_builders as builders
from tools.step_trace import AsRun, keep_gradients, trace_module, with_buckets

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "measurements/published/video_memory_user_reports.yaml"
GIB = 2**30
CONTEXT_GIB = 0.5  # CUDA context of one process, as calc.fit takes it
TOTAL_GIB = {  # what PyTorch reports, measured on such cards
    "GTX 1080 Ti": 10.92,
    "V100": 31.74,
    "A100": 79.15,
}
SETTINGS = Settings(orders=8)


@dataclass(frozen=True, slots=True)
class Case:
    """A report that can be traced. half: weights and step in fp16 under DeepSpeed.

    registered: a model of the product instead of `make`, under fp16 AMP with AdamW.
    """

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    batch: int
    amp: bool = False
    half: bool = False
    ddp: bool = False
    usable_gib: float | None = None
    note: str = ""
    registered: str | None = None


class PlainSwish(nn.Module):
    """x * sigmoid(x) in two operators, both saved, as mmcv wrote it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)


def x3d() -> nn.Module:
    """X3D-M of pytorchvideo with mmcv's swish."""
    from bench.models import build_model, find

    net = build_model(find("x3d-m"), 16, 224, "eager", "meta")
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if type(child).__name__ == "Swish":
                setattr(module, name, PlainSwish())
    return net


def i3d() -> nn.Module:
    """I3D ResNet-50 with temporal strides in stem and pool."""
    net = builders.ResNet3D(inflate=builders.I3D_INFLATE)
    return builders.Clips(net, 2048, 400, 0.5)


class VideoViT(nn.Module):
    """A joint space-time ViT with explicit attention, as VideoMAE's first code fine-tuned it."""

    def __init__(
        self, width: int, depth: int, heads: int, mlp: int, patch: int, old_torch: bool
    ) -> None:
        super().__init__()
        self.patches = nn.Conv3d(3, width, (2, patch, patch), (2, patch, patch))
        tokens = 8 * (224 // patch) ** 2
        self.register_buffer("position", torch.empty(1, tokens, width))
        self.blocks = nn.ModuleList(
            ExplicitBlock(width, heads, mlp, old_torch) for _ in range(depth)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 400)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x.to(self.patches.weight.dtype)).flatten(2).transpose(1, 2)
        x = x + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x.mean(1)))


class ExplicitBlock(nn.Module):
    """Pre-norm block that stores the score matrix."""

    def __init__(self, width: int, heads: int, mlp: int, old_torch: bool) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2, self.act = nn.Linear(width, mlp), nn.Linear(mlp, width), nn.GELU()
        self.softmax = builders.OldSoftmax() if old_torch else nn.Softmax(dim=-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(n, tokens, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        q = q * q.shape[-1] ** -0.5
        y = self.softmax(q @ k.transpose(-2, -1)) @ v
        x = x + self.proj(y.transpose(1, 2).reshape(n, tokens, width))
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


class SwinBert(nn.Module):
    """Video Swin-B features into a 12-layer BERT over 784 video and 50 text tokens."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        self.swin = builders.video_swin("base", 400)
        self.swin.head = nn.Identity()
        self.swin.avgpool = nn.Identity()
        config = BertConfig(max_position_embeddings=1024)
        config._attn_implementation = "eager"
        self.bert = BertModel(config, add_pooling_layer=False)
        self.lift, self.words = nn.Linear(1024, 768), nn.Linear(768, config.vocab_size)
        self.mask = nn.Parameter(torch.empty(784, 784))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.to(self.lift.weight.dtype)
        maps = self.swin.pos_drop(self.swin.patch_embed(x))
        maps = self.swin.norm(self.swin.features(maps))
        video = self.lift(maps.flatten(1, 3))
        text = self.bert.embeddings.word_embeddings.weight[:50].expand(len(x), -1, -1)
        out = self.bert(inputs_embeds=torch.cat([text, video], 1)).last_hidden_state
        return self.words(out[:, :50]).mean(1)


def giant() -> nn.Module:
    """VideoMAE V2 ViT-g/14."""
    return VideoViT(1408, 40, 16, 6144, 14, old_torch=False)


CLIP = (3, 16, 224, 224)
CASES: Mapping[str, Case] = {
    "iss-x3d-01": Case(x3d, CLIP, 10, ddp=True),
    "iss-x3d-02": Case(x3d, CLIP, 11, ddp=True),
    "iss-i3d-01": Case(i3d, CLIP, 31, ddp=True),
    "iss-i3d-02": Case(i3d, CLIP, 32, ddp=True),
    "iss-videomae-01": Case(giant, CLIP, 2, half=True, note="num_sample 2: two clips"),
    "iss-videomae-02": Case(giant, CLIP, 6, half=True),
    "iss-videomae-03": Case(nn.Identity, CLIP, 32, registered="videomae-b-pretrain"),
    "iss-videomae-04": Case(
        lambda: VideoViT(768, 12, 12, 3072, 16, old_torch=True), CLIP, 12, half=True
    ),
    "iss-videomae-05": Case(
        lambda: VideoViT(1024, 24, 16, 4096, 16, old_torch=True), CLIP, 4, half=True
    ),
    "iss-swinbert-01": Case(
        SwinBert, (3, 32, 224, 224), 1, half=True, usable_gib=7.48,
        note="the error shows 7.44 GiB reserved and 0.04 free of 9.78: others hold the rest",
    ),
}  # fmt: skip


def trace(case: Case) -> dict[str, Any]:
    """What the case needs, GiB."""
    if case.registered:
        return trace_registered(case.registered, case.batch)
    with torch.device("meta"), silent_initialisers(True):
        module = case.make()
    module = module.half() if case.half else module
    step = trace_module(module, case.shape, amp=case.amp, optimizer="adamw", attention="eager")
    run = keep_gradients(step)
    if case.half:
        run = with_deepspeed(run, module)
    if case.ddp or case.half:
        run = with_buckets(run, list(module.parameters()))
    return figures(run, case.batch, sum(p.numel() for p in module.parameters()))


def trace_registered(model: str, batch: int) -> dict[str, Any]:
    """The same for a model of the product, with explicit attention."""
    step = StepConfig(model=model, precision="fp16", attention="eager", batch=batch)
    run = trace_step(step)
    return figures(run, batch, run.params)


def figures(run: allocator.TraceLike, batch: int, params: int) -> dict[str, Any]:
    """What a step needs at a batch, GiB."""
    f = allocator.footprint(run, batch, SETTINGS)
    return {
        "params_m": round(params / 1e6, 1),
        "allocated_gib": round(f.counted / GIB, 2),
        "cap_gib": round(f.cap / GIB, 2),
        "calm_gib": round(f.calm / GIB, 2),
        "reserved_gib": round(f.reserved / GIB, 2),
    }


def with_deepspeed(run: AsRun, module: nn.Module) -> AsRun:
    """fp32 weights and Adam's states in place of states of the weights' own type."""
    kept = [e for e in run.resident if e.category != "optimizer"]
    states = [
        Event("alloc", 3 * 10**9 + i, 12 * p.numel(), 0, "optimizer", "optimizer")
        for i, p in enumerate(module.parameters())
    ]
    return AsRun([*kept, *states], run.events)


def usable_gib(row: Mapping[str, str], case: Case | None) -> float | None:
    """Memory of the card less the context; None where the card is not named."""
    if case is not None and case.usable_gib is not None:
        return case.usable_gib
    for card, total in TOTAL_GIB.items():
        if row["gpu"].startswith(card):
            return round(total - CONTEXT_GIB, 2)
    return None


def record(row: Mapping[str, str], found: dict[str, Any] | None) -> dict[str, Any]:
    """One report of the file."""
    case = CASES.get(row["id"])
    why = case.note if case else "model, clip or batch is not stated, or not in a library"
    return {
        "id": row["id"],
        "model": row["model"],
        "gpu": f"{row['gpu']} {row['gpu_memory_gib']} GB".strip(),
        "usable_gib": usable_gib(row, case),
        "frames": row["frames"],
        "size": row["size"],
        "batch": row["batch_per_gpu"],
        "precision": row["precision"],
        "checkpointing": row["checkpointing"],
        "outcome": row["outcome"],
        "confidence": row["confidence"],
        "kind": row["kind"],
        "note": row["note"],
        "why": why,
        "source": row["url"],
        "trace": found,
    }


def load() -> dict[str, dict[str, Any]]:
    """Traces made before, by report."""
    if not TARGET.exists():
        return {}
    tree = yaml.safe_load(TARGET.read_text(encoding="utf-8"))
    return {row["id"]: row["trace"] for row in tree["rows"] if row["trace"]}


def write(rows: list[dict[str, Any]]) -> None:
    """Write the file."""
    head = {
        "schema": 1,
        "about": "Users' reports of training that fitted or ran out of memory, and a trace of the "
        "same step where model, clip and batch are stated. usable_gib: the card's total as PyTorch "
        "reports it less 0.5 GiB of context.",
        "traced": {
            "torch": torch.__version__.split("+")[0],
            "command": "python -m tools.trace_reports TABLE.csv",
        },
    }
    text = yaml.safe_dump({**head, "rows": rows}, sort_keys=False, allow_unicode=True, width=100)
    TARGET.write_text(text, encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Trace what the file does not have yet; --only names reports to trace again."""
    parser = argparse.ArgumentParser(description="trace users' fit and out-of-memory reports")
    parser.add_argument("table", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args(argv)
    with args.table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = load()
    for row in rows:
        case = CASES.get(row["id"])
        if case and (row["id"] not in found or row["id"] in args.only):
            found[row["id"]] = trace(case)
            print(row["id"], row["outcome"], found[row["id"]], flush=True)
            write([record(r, found.get(r["id"])) for r in rows])
    write([record(r, found.get(r["id"])) for r in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
