"""python -m bench validate: is the trace right about this GPU?

Every case (model x precision x checkpointing x attention x batch) is run for a dozen steps in a
process of its own and compared with its trace: allocated and reserved memory, the smallest limit
that runs (cap) and that runs without retries (calm), and what autocast saves for backward, tensor
by tensor. Results are kept after each case, so the command can be stopped, killed and repeated: it
goes on where it was, and stops by itself after --minutes.

Without a GPU, --device cpu compares what a CPU can: the tensors that PyTorch's own CPU autocast
saves, and the live memory of a step on real tensors, with the same step traced on meta.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from bench import allocator
from bench.allocator import Settings
from bench.autocast import CPU, CudaOnMeta
from bench.environment import card_of, collect, pick_device
from bench.isolate import call
from bench.step import (
    AUTOCAST,
    Setup,
    StepConfig,
    Tools,
    build,
    forward,
    make_tools,
    set_matmul_precision,
    train_step,
)
from bench.trace import Recorder, trace_step

MIB = 2**20
STEPS = 12  # a limit that survives two steps can fail in the third
MAX_MINUTES = 10.0
CASE_LIMIT_S = 240.0
LIMIT_SHARES = (1.10, 1.06, 1.03, 1.00, 0.98)  # of the predicted cap, largest first
MODELS = ("video-swin-t", "videomae-b", "timesformer-b", "mvit-v2-s", "r3d-18", "tsn-r50")
BOTH_ATTENTIONS = ("videomae-b",)
REPLAY = Settings(orders=8)


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison."""

    model: str
    precision: str
    checkpointing: str = "none"
    attention: str = "sdpa"
    batch: int = 2
    device: str = "cuda"
    builder: str | None = None
    input: tuple[int, ...] | None = None

    @property
    def key(self) -> str:
        """Name of the case in the file of results."""
        model = self.builder or self.model
        words = (model, self.precision, self.checkpointing, self.attention, f"b{self.batch}")
        return " ".join(words)

    def config(self) -> StepConfig:
        """The step of the case."""
        return StepConfig(
            model=self.model,
            batch=self.batch,
            precision=self.precision,
            checkpointing=self.checkpointing,
            attention=self.attention,
            builder=self.builder,
            input=self.input,
        )


# --- Cases ----------------------------------------------------------------------------------------


def cases(
    models: Sequence[str],
    precisions: Sequence[str],
    checkpointing: Sequence[str],
    batches: Sequence[int],
    device: str,
) -> list[Case]:
    """Every case, small batches of every model first, so that a short run sees each model."""
    return [
        Case(model, precision, how, attention, batch, device)
        for batch in batches
        for how in checkpointing
        for precision in precisions
        for model in models
        for attention in (("sdpa", "eager") if model in BOTH_ATTENTIONS else ("sdpa",))
    ]


# --- In the process of a case ---------------------------------------------------------------------


def run_case(case: Case, tell: Callable[[Any], None]) -> dict[str, Any]:
    """Everything about one case; figures in MiB."""
    set_matmul_precision(case.precision)
    if case.device == "cpu":
        return {"live": live_on_cpu(case), "saved": saved_on_cpu(case)}
    predicted = predict(case)
    tell(f"{case.key}: predicted {predicted['allocated_mib']:.0f} MiB")
    measured = run_steps(case, None)
    found = {"predicted": predicted, "measured": measured, "saved": saved_on_gpu(case)}
    if measured["survived"] and case.batch > 1:
        found["limits"] = [
            run_steps(case, share * predicted["cap_mib"]) | {"share_of_cap": share}
            for share in LIMIT_SHARES
        ]
    return found


def predict(case: Case) -> dict[str, float]:
    """The figures of the trace, MiB."""
    f = allocator.footprint(trace_step(case.config()), case.batch, REPLAY)
    figures = {
        "live_mib": f.allocated,
        "allocated_mib": f.counted,
        "reserved_mib": f.reserved,
        "cap_mib": f.cap,
        "calm_mib": f.calm,
    }
    return {name: round(value / MIB, 1) for name, value in figures.items()}


def run_steps(case: Case, limit_mib: float | None) -> dict[str, Any]:
    """A dozen real steps under a limit: peaks of the first and of the steady ones, retries."""
    torch.cuda.empty_cache()
    total_mib = torch.cuda.get_device_properties(0).total_memory / MIB
    share = 1.0 if limit_mib is None else min(1.0, limit_mib / total_mib)
    torch.cuda.set_per_process_memory_fraction(share)
    retries_before = torch.cuda.memory_stats().get("num_alloc_retries", 0)
    result: dict[str, Any] = {"survived": True, "limit_mib": limit_mib}
    try:
        result |= _steps(case)
    except torch.OutOfMemoryError:
        result["survived"] = False
    retries = torch.cuda.memory_stats().get("num_alloc_retries", 0)
    result["retries"] = retries - retries_before
    gc.collect()
    return result


def _steps(case: Case) -> dict[str, Any]:
    config = case.config()
    setup = build(config, "cuda")
    tools = make_tools(config, setup)
    torch.cuda.reset_peak_memory_stats()
    peaks = []
    for step in range(STEPS):
        train_step(config, setup, tools)
        torch.cuda.synchronize()
        if step in (0, STEPS - 1):
            peaks.append(_peak_mib())
        if step == 1:
            torch.cuda.reset_peak_memory_stats()
            late = torch.cuda.memory_stats().get("num_alloc_retries", 0)
    steady = torch.cuda.memory_stats().get("num_alloc_retries", 0) - late
    first, last = peaks
    return {"first": first, "steady": last, "steady_retries": steady}


def _peak_mib() -> dict[str, float]:
    return {
        "allocated_mib": round(torch.cuda.max_memory_allocated() / MIB, 1),
        "reserved_mib": round(torch.cuda.max_memory_reserved() / MIB, 1),
    }


# --- Saved tensors --------------------------------------------------------------------------------


def saved_tensors(setup: Setup, tools: Tools) -> Counter[str]:
    """What a forward saves for backward: how often each dtype and shape, parameters left out.

    A storage that is saved twice counts once, as it does in memory.
    """
    parameters = {p.untyped_storage()._cdata for p in setup.model.parameters()}
    seen: dict[int, tuple[Tensor, str]] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in parameters:
            elements = storage.nbytes() // tensor.itemsize
            name = f"{str(tensor.dtype).removeprefix('torch.')} x {elements}"
            seen[storage._cdata] = (tensor, name)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = forward(setup, tools)
    found = Counter(name for _, name in seen.values())
    del loss
    return found


def difference(real: Counter[str], traced: Counter[str]) -> dict[str, Any]:
    """Saved tensors that only one side has, and how many there are in all."""
    return {
        "real": real.total(),
        "traced": traced.total(),
        "only_real": dict(sorted((real - traced).items())),
        "only_traced": dict(sorted((traced - real).items())),
    }


def saved_on_gpu(case: Case) -> dict[str, Any]:
    """CUDA's autocast against its emulation on meta."""
    config = case.config()
    sides = []
    for device in ("cuda", "meta"):
        setup = build(config, device)
        sides.append(saved_tensors(setup, make_tools(config, setup)))
    return difference(*sides)


def saved_on_cpu(case: Case) -> dict[str, Any]:
    """The CPU's autocast (bf16) against the same emulation with the CPU's lists.

    Attention is explicit: a CPU has fused kernels of its own.
    """
    config = case.config().replace(attention="eager")
    dtype = AUTOCAST.get(case.precision)
    sides = []
    for device in ("cpu", "meta"):
        setup = build(config, device)
        tools = make_tools(config.replace(precision=cpu_precision(case.precision)), setup)
        if device == "meta":
            tools = tools._replace(
                autocast=lambda: CudaOnMeta(dtype, "eager", CPU, cuda_kernels=False)
            )
        with sdpa_kernel(SDPBackend.MATH):
            sides.append(saved_tensors(setup, tools))
    return difference(*sides)


def cpu_precision(precision: str) -> str:
    """The CPU has no fp16 worth running: bf16 stands for both."""
    return "bf16" if precision == "fp16" else precision


# --- Live memory on a CPU -------------------------------------------------------------------------


def live_on_cpu(case: Case) -> dict[str, float]:
    """Peak of live tensors of a step without autocast, on real tensors and on meta, MiB."""
    config = case.config().replace(precision="fp32", attention="eager")
    return {device: round(live_peak_mib(config, device), 3) for device in ("cpu", "meta")}


def live_peak_mib(config: StepConfig, device: str) -> float:
    """Peak of what operators allocate in one step, weights and state included."""
    setup = build(config, device)
    tools = make_tools(config, setup)
    if device == "cpu":  # the emulation sends dropout and attention where CUDA does; so here
        tools = tools._replace(autocast=lambda: CudaOnMeta(None, "eager"))
    train_step(config, setup, tools)
    recorder = Recorder(None)
    for tensor in (*setup.model.parameters(), *setup.model.buffers()):
        recorder.see(tensor, "weight")
    gc.collect()
    gc.disable()
    try:
        with recorder:
            train_step(config, setup, tools, recorder.on_phase)
    finally:
        gc.enable()
    live = peak = 0
    for kind, storage, _ in recorder.events:
        size = recorder.all[storage].fixed * (1 if kind == "alloc" else -1)
        live += size
        peak = max(peak, live)
    return peak / MIB


# --- Results --------------------------------------------------------------------------------------


def load(path: Path) -> dict[str, Any]:
    """Results of earlier runs; an empty file of results where there is none."""
    if not path.exists():
        return {"schema": 1, "environment": None, "cases": {}}
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(tree, dict) or "cases" not in tree:
        raise ValueError(f"{path.name} is not a file of bench validate; give another --out")
    return tree


def store(path: Path, tree: dict[str, Any]) -> None:
    """Write all results at once: a kill leaves the old file or the new one."""
    part = path.with_suffix(".part")
    part.write_text(yaml.safe_dump(tree, sort_keys=False, width=100), encoding="utf-8")
    part.replace(path)


def errors(found: dict[str, Any]) -> dict[str, float]:
    """Relative errors of a case on a GPU: predicted over measured, less one.

    >>> errors({"predicted": {"allocated_mib": 99.0, "reserved_mib": 110.0},
    ...         "measured": {"steady": {"allocated_mib": 100.0, "reserved_mib": 100.0}}})
    {'allocated': -0.01, 'reserved': 0.1}
    """
    steady = found.get("measured", {}).get("steady")
    if not steady:
        return {}
    return {
        name: round(found["predicted"][f"{name}_mib"] / steady[f"{name}_mib"] - 1, 4)
        for name in ("allocated", "reserved")
    }


def summary(tree: dict[str, Any]) -> Iterator[str]:
    """One line a case."""
    for key, found in tree["cases"].items():
        if "error" in found:
            yield f"{key}: {found['error']}"
            continue
        parts = [f"{name} {value:+.1%}" for name, value in errors(found).items()]
        if "live" in found:
            parts.append(f"live {found['live']['meta']} of {found['live']['cpu']} MiB")
        limits = [x for x in found.get("limits", ()) if x["survived"]]
        if limits:
            parts.append(f"runs from {min(x['share_of_cap'] for x in limits):.2f} x cap on")
        saved = found["saved"]
        other = sum(saved["only_real"].values()) + sum(saved["only_traced"].values())
        parts.append(f"saved tensors {saved['real']}, {other} differ")
        yield f"{key}: {', '.join(parts)}"


# --- Command --------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `validate`."""
    parser.add_argument("--model", action="append", help=f"may repeat; default {', '.join(MODELS)}")
    parser.add_argument("--precision", action="append", choices=("fp32", "fp16", "bf16"))
    parser.add_argument("--checkpointing", action="append", choices=("none", "block", "wrapper"))
    parser.add_argument("--batch", action="append", type=int, help="may repeat; default 1 and 4")
    parser.add_argument("--minutes", type=float, default=MAX_MINUTES, help="at most 10")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path, default=Path("validate.yaml"))
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def main(args: argparse.Namespace) -> int:
    """Run what is missing within the time, keep it, and say how far off the trace was."""
    device = pick_device(args.device)
    if not 0 < args.minutes <= MAX_MINUTES:
        raise ValueError(f"--minutes is {args.minutes}; allowed is more than 0 up to 10")
    tree = load(args.out)
    tree["environment"] = tree["environment"] or _environment(device)
    wanted = cases(
        args.model or MODELS,
        args.precision or ("fp32", "fp16"),
        args.checkpointing or ("none", "block"),
        args.batch or (1, 4),
        device,
    )
    left = run_missing(wanted, tree, args.out, time.monotonic() + 60 * args.minutes)
    print(json.dumps(tree, indent=2) if args.json else "\n".join(summary(tree)))
    if left:
        print(f"{left} of {len(wanted)} cases left; run the same command again")
    return 0


def _environment(device: str) -> dict[str, Any]:
    facts = collect(device)
    return {"card": card_of(facts), **asdict(facts)}


def run_missing(wanted: Sequence[Case], tree: dict[str, Any], path: Path, until: float) -> int:
    """Run cases without a result until the time is up; returns how many are left."""
    missing = [case for case in wanted if case.key not in tree["cases"]]
    while missing and time.monotonic() < until:
        case = missing.pop(0)
        limit_s = min(CASE_LIMIT_S, max(1.0, until - time.monotonic()))
        outcome = call("bench.validate:run_case", case, limit_s, on_message=print)
        if outcome.timed_out and limit_s < CASE_LIMIT_S:
            return len(missing) + 1  # it was the time of the run that ended: try again next time
        failed = {"error": outcome.error or "ended without a result"}
        tree["cases"][case.key] = failed if outcome.result is None else outcome.result
        store(path, tree)
    return len(missing)
