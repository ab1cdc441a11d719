"""python -m bench trace: peak memory and work of one training step, on a machine without a GPU."""

from __future__ import annotations

import argparse
import json
from typing import Any

import torch

from bench.allocator import Footprint, footprint
from bench.envelope import peak
from bench.models import MODELS
from bench.step import ALLOWED, StepConfig
from bench.trace import MIB, Trace, trace_step

FP32_BYTES = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `trace`; their words are those of a job."""
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--model", choices=sorted(MODELS), metavar="ID", help="a model of ClipFit")
    model.add_argument("--builder", metavar="FILE.py:FUNCTION", help="your own model")
    parser.add_argument("--input", type=_shape, metavar="3,32,224,224", help="shape of one clip")
    parser.add_argument("--batch", type=int, default=1, help="clips per GPU (default 1)")
    parser.add_argument("--frames", type=int, help="frames per clip (default: as published)")
    parser.add_argument("--size", type=int, help="pixels (default: as published)")
    parser.add_argument("--precision", default="fp16", choices=ALLOWED["precision"])
    parser.add_argument("--checkpointing", default="none", choices=ALLOWED["checkpointing"])
    parser.add_argument("--attention", default="sdpa", choices=ALLOWED["attention"])
    parser.add_argument("--optimizer", default="adamw", choices=ALLOWED["optimizer"])
    parser.add_argument("--trainable", default="full", choices=ALLOWED["trainable"])
    parser.add_argument("--clip-grad", action="store_true", help="clip the gradients' norm")
    parser.add_argument("--ddp", action="store_true", help="add the gradient buckets of DDP")
    parser.add_argument("--no-allocator", action="store_true", help="leave out reserved, cap, calm")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no shape; give whole numbers with commas, for instance 3,32,224,224"
        ) from None


def main(args: argparse.Namespace) -> int:
    """Trace and print."""
    names = ("batch", "frames", "size", "precision", "checkpointing", "attention", "optimizer")
    config = StepConfig(
        **{name: getattr(args, name) for name in (*names, "trainable", "clip_grad", "input")},
        **({"builder": args.builder} if args.builder else {"model": args.model}),
    )
    try:
        found = report(config, args.ddp, not args.no_allocator)
    except ValueError:
        raise
    except Exception as error:
        if args.builder is None:
            raise
        raise ValueError(_why(args.builder, error)) from error
    print(json.dumps(found, indent=2) if args.json else table(config, found))
    return 0


def _why(builder: str, error: Exception) -> str:
    """One sentence on a user's model that does not run on meta tensors."""
    said = str(error).strip().splitlines() or [type(error).__name__]
    hint = "a traced model may not read values of its tensors (.item(), if on a tensor, masks)"
    return f"{builder} cannot be traced: {said[0].rstrip('.')}; {hint}, and --input must fit it"


def report(config: StepConfig, ddp: bool = False, allocator: bool = True) -> dict[str, Any]:
    """Everything `trace --json` prints: MiB, million parameters, FLOPs of one step."""
    trace = trace_step(config)
    top = peak(trace, config.batch)
    parts = dict(top.parts_mib)
    if ddp:
        parts["ddp_buckets"] = _bucket_bytes(trace) / MIB
    held = footprint(trace, config.batch) if allocator else None
    if held is not None:  # remainders of blocks, which PyTorch counts as allocated
        parts["rounding"] = (held.counted - held.allocated) / MIB
    allocated_mib = sum(parts.values())
    return {
        "allocated_mib": round(allocated_mib, 1),
        **_limits(held, allocated_mib),
        "params_m": round(trace.params / 1e6, 3),
        "trainable_params_m": round(trace.trained_params / 1e6, 3),
        "parts_mib": {name: round(size, 1) for name, size in parts.items()},
        "phase": top.phase,
        "flops": sum(
            work.flops + work.flops_per_clip * config.batch for work in trace.work.values()
        ),
        "kernels": sum(work.kernels for work in trace.work.values()),
        "torch": torch.__version__,
    }


def _bucket_bytes(trace: Trace) -> int:
    """DDP keeps one copy of the gradients, in the dtype of the parameters."""
    half = trace.config.precision == "bf16-pure"
    return trace.trained_params * (FP32_BYTES // 2 if half else FP32_BYTES)


def _limits(held: Footprint | None, allocated_mib: float) -> dict[str, float | None]:
    """reserved, cap and calm in MiB, scaled to all that is allocated; None without a replay."""
    return {
        f"{name}_mib": held
        and round(allocated_mib * max(1.0, getattr(held, name) / held.counted), 1)
        for name in ("reserved", "cap", "calm")
    }


def table(config: StepConfig, found: dict[str, Any]) -> str:
    """The report for people."""
    what = config.builder or f"{config.model} {'x'.join(map(str, config.shape))}"
    head = f"{what}, batch {config.batch}, {config.precision}, {config.optimizer}"
    head += f", {found['params_m']:.1f} M parameters"
    lines = [
        head,
        f"{'allocated':>12} {found['allocated_mib']:10,.0f} MiB   peak in {found['phase']}",
    ]
    lines += [f"{name:>12} {size:10,.0f} MiB" for name, size in found["parts_mib"].items()]
    for name in ("reserved", "cap", "calm"):
        value = found[f"{name}_mib"]
        lines.append(f"{name:>12} " + (f"{value:10,.0f} MiB" if value else "not replayed"))
    lines.append(f"{'work':>12} {found['flops'] / 1e12:10,.2f} TFLOP in {found['kernels']} kernels")
    return "\n".join(lines)
