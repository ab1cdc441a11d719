"""What measuring costs: the step of `bench run` beside a plain hand-written loop of the same step.

`python benchmarks/step_overhead.py [--device cuda] [--model ID] [--precision fp16]`. Both loops run
turn and turn about in one process, on the same model and optimizer; the ratio of their medians is
printed with its spread over the rounds. Target: at most 1.03 on a CPU, 1.01 on a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
import torch.nn.functional as F

from bench.measure import Bench
from bench.nvml import Sampler
from bench.point import Point
from bench.step import set_matmul_precision
from bench.stopwatch import step_ms

TARGET = {"cpu": 1.03, "cuda": 1.01}


def plain_step_ms(bench: Bench, steps: int) -> float:
    """Milliseconds a step of the loop that anybody would write."""
    setup, optimizer, scaler = bench.batches.setup, bench.tools.optimizer, bench.tools.scaler
    model, clips, targets = setup.model, setup.inputs, setup.targets
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(bench.point.precision)
    bench.watch.wait()
    begin = time.perf_counter()
    for _ in range(steps):
        with torch.autocast(bench.point.device, dtype, enabled=dtype is not None):
            outputs = model(clips)
            loss = F.cross_entropy(getattr(outputs, "logits", outputs), targets)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad(set_to_none=True)
    bench.watch.wait()
    return (time.perf_counter() - begin) * 1000 / steps


def bench_step_ms(bench: Bench, steps: int) -> float:
    """Milliseconds a step of the measuring loop, all of its work included."""
    begin = time.perf_counter()
    with Sampler(bench.gpu()):
        parts = bench.run_steps(steps)
    wall_ms = (time.perf_counter() - begin) * 1000 / steps
    return max(statistics.fmean(step_ms(parts)), wall_ms)


def main() -> None:
    """Print both medians and their ratio beside the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--model", default="videomae-s")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=4, help="steps of a turn")
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    point = Point(
        args.model, 16, args.size, precision=args.precision, device=args.device, attention="sdpa"
    )
    bench = Bench(point)
    set_matmul_precision(args.precision)
    bench.build()
    plain_step_ms(bench, 3), bench_step_ms(bench, 3)
    plain, measured = [], []
    for turn in range(args.rounds):
        order = (plain_step_ms, bench_step_ms) if turn % 2 else (bench_step_ms, plain_step_ms)
        for loop in order:
            (plain if loop is plain_step_ms else measured).append(loop(bench, args.steps))
    ratios = sorted(ours / theirs for ours, theirs in zip(measured, plain, strict=True))
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    print(f"{args.model} {args.precision} on {args.device}")
    print(f"{args.rounds} rounds of {args.steps} steps")
    print(f"plain loop {statistics.median(plain):8.2f} ms a step")
    print(f"bench run  {statistics.median(measured):8.2f} ms a step")
    ratio = statistics.median(ratios)
    print(f"ratio {ratio:.4f} (target {TARGET[args.device]})")
    print(f"half of the rounds {low:.4f} to {high:.4f}")


if __name__ == "__main__":
    main()
