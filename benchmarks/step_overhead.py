"""What measuring costs: the step of `bench run` beside a plain hand-written loop of the same step.

`python benchmarks/step_overhead.py [--device cuda] [--model ID] [--precision fp16]`. Both loops run
turn and turn about in one process, on the same model and optimizer; the median of the rounds'
ratios is printed with their middle half. Target: at most 1.03 on a CPU, 1.01 on a GPU. On a busy
machine the ratio of CPU time tells more than that of wall time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
import torch.nn.functional as F

from bench.measure import Bench
from bench.nvml import Sampler
from bench.point import Point
from bench.step import set_matmul_precision

TARGET = {"cpu": 1.03, "cuda": 1.01}


def plain_steps(bench: Bench, steps: int) -> None:
    """The loop that anybody would write."""
    setup, optimizer, scaler = bench.batches.setup, bench.tools.optimizer, bench.tools.scaler
    model, clips, targets = setup.model, setup.inputs, setup.targets
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(bench.point.precision)
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


def bench_steps(bench: Bench, steps: int) -> None:
    """The measuring loop, with everything it does beside the step."""
    with Sampler(bench.gpu()):
        bench.run_steps(steps)


def step_ms(loop: Callable[[Bench, int], None], bench: Bench, steps: int) -> tuple[float, float]:
    """Milliseconds of wall time and of CPU time a step."""
    bench.watch.wait()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    loop(bench, steps)
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    return wall_s * 1000 / steps, cpu_s * 1000 / steps


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
    plain_steps(bench, 3)
    bench_steps(bench, 3)
    rounds = [
        turn(bench, args.steps, plain_first=bool(number % 2)) for number in range(args.rounds)
    ]
    print(f"{args.model} {args.precision} on {args.device}, {args.rounds} x {args.steps} steps")
    for place, name in enumerate(("wall time", "CPU time")):
        ratios = sorted(ours[place] / plain[place] for plain, ours in rounds)
        plain_ms = statistics.median(plain[place] for plain, _ in rounds)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        print(
            f"{name}: plain loop {plain_ms:.1f} ms a step, bench / plain "
            f"{statistics.median(ratios):.4f} ({low:.4f} to {high:.4f})"
        )
    print(f"target: {TARGET[args.device]}")


def turn(
    bench: Bench, steps: int, plain_first: bool
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both loops once: (wall, CPU) of the plain one, and of the measuring one."""
    if plain_first:
        plain = step_ms(plain_steps, bench, steps)
        return plain, step_ms(bench_steps, bench, steps)
    ours = step_ms(bench_steps, bench, steps)
    return step_ms(plain_steps, bench, steps), ours


if __name__ == "__main__":
    main()
