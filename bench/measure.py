"""Measure one point: first steps, warm-up, steady state. Runs in a process of its own.

The step is `bench.step.train_step`, the one that `bench trace` traces.
"""

from __future__ import annotations

import dataclasses
import math
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bench import distributed, failure
from bench.environment import device_uuid
from bench.isolate import sentence
from bench.nvml import Gpu, Sampler, open_gpu
from bench.point import Measured, Point
from bench.step import (
    Setup,
    StepConfig,
    build,
    infer_step,
    make_tools,
    set_matmul_precision,
    train_step,
)
from bench.stopwatch import Stopwatch, part_ms, percentile, steady_steps, step_ms, warm_up
from calc.runs import Learning, Load, PeakMemory, Row, StepTime

MIB = 2**20
FIRST_STEPS = 3  # cuDNN tries algorithms and the optimizer's state appears; most runs die here
LOSSES_KEPT = 20

Tell = Callable[[Any], None]


def measure(point: Point, tell: Tell) -> Measured:
    """The row of one point on one GPU or the CPU; an error becomes a row too."""
    return _measure(point, tell, rank=0, local_rank=0)


def measure_together(where: tuple[Point, distributed.Place], tell: Tell) -> Measured:
    """The same as one process of several; rank 0's row is the one that counts."""
    point, place = where
    distributed.join(place, point.device)
    return _measure(point, tell, place.rank, place.local_rank)


def _measure(point: Point, tell: Tell, rank: int, local_rank: int) -> Measured:
    torch.manual_seed(rank)
    bench = Bench(point, local_rank)
    try:
        return Measured(bench.row(tell))
    except Exception as error:  # every failure of a point is a result of the measurement
        return failed(point, error, bench.watch.part, bench.steps_done)


def failed(point: Point, error: Exception, part: str, step: int) -> Measured:
    """The row of a point that failed."""
    where = f"in {part} of step {step}" if part else "while building"
    match failure.kind(error):
        case "oom":
            oom = failure.out_of_memory(str(error))
            return Measured(point.row("oom", oom=oom, note=f"ran out of memory {where}"))
        case kind:
            row = point.row("failed", note=f"{where}: {sentence(error)}")
            return Measured(row, broken=kind == "broken")


def config_of(point: Point) -> StepConfig:
    """What `bench.step` is asked to build."""
    names = {field.name for field in dataclasses.fields(StepConfig)}
    shared = {key: value for key, value in _shallow(point).items() if key in names}
    return StepConfig(**shared)


def _shallow(point: Point) -> dict[str, Any]:
    return {field.name: getattr(point, field.name) for field in dataclasses.fields(point)}


@dataclass(slots=True)
class Batches:
    """What each step gets: one fixed synthetic batch, or decoded clips that are waited for."""

    setup: Setup
    clips: Iterator[torch.Tensor] | None

    def next(self) -> Setup:
        """The set-up with the step's inputs."""
        if self.clips is None:
            return self.setup
        return self.setup._replace(inputs=next(self.clips))


class Bench:
    """One point while it is measured."""

    def __init__(self, point: Point, local_rank: int = 0) -> None:
        self.point = point
        self.local_rank = local_rank
        self.config = config_of(point)
        self.watch = Stopwatch(point.device, "forward" if point.mode == "infer" else "optimizer")
        self.new_losses: list[torch.Tensor] = []
        self.losses: list[float] = []
        self.steps_done = 0
        self.optimizer_steps = 0
        self.first_skipped: int | None = None
        self.backend: str | None = None

    def row(self, tell: Tell) -> Row:
        """Build, run, and put the figures together."""
        tell("building")
        self._limit_memory()
        set_matmul_precision(self.point.precision)
        self.build()
        tell("first steps")
        self.backend = self._first_steps()
        first = self._peaks()
        tell("warming up")
        limits = self.point.limits
        warm = warm_up(self._timed_steps, limits.warm_up_s, self._agree)
        tell("measuring")
        self._reset_peaks()
        with Sampler(self.gpu()) as sampler:
            steps = self.run_steps(steady_steps(warm.step_ms, limits))
        self.batches.clips = None  # ends the decoding processes
        learning = self._learning()
        bad = first_non_finite(self.losses) is not None
        clips = len(steps) * self._clips_per_step()
        return self.point.row(
            "failed" if bad else "ok" if warm.steady else "unstable",
            sdpa_backend=self.backend,
            time=None if bad else self._time(steps, warm.seconds),
            memory=self._memory(first),
            load=load_of(sampler, clips),
            learning=learning,
            note="the loss is not finite" if bad else "",
        )

    # Building

    def _limit_memory(self) -> None:
        limit_gib = self.point.memory_limit_gib
        if limit_gib is None or self.point.device != "cuda":
            return
        total = torch.cuda.get_device_properties(self.local_rank).total_memory
        torch.cuda.set_per_process_memory_fraction(
            min(1.0, limit_gib * 2**30 / total), self.local_rank
        )

    def build(self) -> None:
        setup = build(self.config, self.point.device)
        if self.point.gpus > 1:
            setup = setup._replace(model=distributed.wrap(setup.model, self.point.parallel))
        if self.point.mode == "infer":
            setup.model.eval()
        self.tools = make_tools(self.config, setup)
        if self.tools.optimizer is not None:
            self.tools.optimizer.register_step_post_hook(self._count_optimizer_step)
        self.batches = Batches(setup, self._clips(setup))

    def _clips(self, setup: Setup) -> Iterator[torch.Tensor] | None:
        if self.point.video_dir is None:
            return None
        from bench.clips import batches

        return batches(self.point, setup.inputs)

    def _count_optimizer_step(self, *_: Any) -> None:
        self.optimizer_steps += 1

    # Steps

    def step(self) -> None:
        """One step, each of its parts marked where it ends."""
        setup = self.batches.next()
        self.watch.mark("data")
        if self.point.mode == "infer":
            infer_step(setup, self.tools)
            self.watch.mark("forward")
        else:
            before = self.optimizer_steps
            self.new_losses.append(train_step(self.config, setup, self.tools, self._on_phase))
            self.watch.mark("optimizer")
            if self.optimizer_steps == before and self.first_skipped is None:
                self.first_skipped = self.steps_done
        self.steps_done += 1

    def _on_phase(self, phase: str) -> None:
        ended = {"backward": "forward", "optimizer": "backward"}.get(phase)
        if ended is None:
            self.watch.part = "forward"
            return
        self.watch.mark(ended)
        self.watch.part = phase

    def _first_steps(self) -> str | None:
        """The steps where memory peaks are unlike later ones; returns the attention kernel seen."""
        self._reset_peaks()
        self.watch.restart()
        with AttentionKernel() as seen:
            self.step()
        for _ in range(FIRST_STEPS - 1):
            self.step()
        self._read_losses()
        return seen.name

    def _timed_steps(self, count: int) -> list[float]:
        return step_ms(self.run_steps(count))

    def run_steps(self, count: int) -> list[dict[str, float]]:
        self.watch.restart()
        for _ in range(count):
            self.step()
        steps = self.watch.steps()
        self._read_losses()
        return steps

    def _read_losses(self) -> None:
        """From the GPU to numbers, so that they take no memory there."""
        if self.new_losses:
            self.losses += torch.stack(self.new_losses).float().tolist()
            self.new_losses.clear()

    def _agree(self, answer: Any) -> Any:
        """Ranks decide together."""
        return distributed.agreed(answer) if self.point.gpus > 1 else answer

    # Figures

    def _reset_peaks(self) -> None:
        if self.point.device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()

    def _peaks(self) -> tuple[float, float] | None:
        """Peak allocated and reserved since the reset, MiB; the largest of all ranks."""
        if self.point.device != "cuda":
            return None
        peaks = torch.cuda.max_memory_allocated() / MIB, torch.cuda.max_memory_reserved() / MIB
        return distributed.largest(peaks) if self.point.gpus > 1 else peaks

    def _memory(self, first: tuple[float, float] | None) -> PeakMemory | None:
        steady = self._peaks()
        if first is None or steady is None:
            return None
        gpu = self.gpu()
        process_mib = gpu.processes().get(os.getpid()) if gpu else None
        return PeakMemory(
            *first,
            *steady,
            retries=torch.cuda.memory_stats()["num_alloc_retries"],
            nvml_process_mib=process_mib,
            nvml_card_mib=gpu.memory_mib()[1] if gpu else None,
        )

    def gpu(self) -> Gpu | None:
        return open_gpu(device_uuid(self.local_rank)) if self.point.device == "cuda" else None

    def _clips_per_step(self) -> int:
        """Clips of this GPU in one step."""
        return self.point.batch * self.point.accumulation

    def _time(self, steps: Sequence[dict[str, float]], warmup_s: float) -> StepTime:
        times = step_ms(steps)
        median_ms = statistics.median(times)
        return StepTime(
            steps=len(times),
            median_ms=median_ms,
            p10_ms=percentile(times, 0.1),
            p90_ms=percentile(times, 0.9),
            clips_per_s=self._clips_per_step() * self.point.gpus / median_ms * 1000,
            warmup_s=warmup_s,
            forward_ms=part_ms(steps, "forward"),
            backward_ms=part_ms(steps, "backward"),
            optimizer_ms=part_ms(steps, "optimizer"),
            data_wait_ms=part_ms(steps, "data") if self.point.video_dir else None,
        )

    def _learning(self) -> Learning | None:
        """Loss over all steps, and what the gradient scaler did."""
        if not self.losses:
            return None
        scaler = self.tools.scaler
        bad = first_non_finite(self.losses)
        return Learning(
            loss=course(self.losses) if self.point.video_dir is None else (),
            non_finite_step=self.first_skipped if bad is None else bad,
            scale=scaler.get_scale() if scaler else None,
            skipped_steps=self.steps_done - self._optimizer_steps() if scaler else None,
        )

    def _optimizer_steps(self) -> int:
        """Steps that were not skipped; a fused optimizer is called for those too, and counts."""
        state = next(iter(self.tools.optimizer.state.values()), {}) if self.tools.optimizer else {}
        counted = state.get("step")
        return self.optimizer_steps if counted is None else int(counted)


def load_of(sampler: Sampler, clips: int) -> Load | None:
    """The card under load, as a row has it."""
    seen = sampler.summary()
    if seen is None:
        return None
    return Load(
        utilisation_pct=seen.utilisation_pct,
        power_w=seen.power_w,
        energy_j_per_clip=None if seen.energy_j is None else seen.energy_j / clips,
        sm_mhz=seen.sm_mhz,
        memory_mhz=seen.memory_mhz,
        temperature_c=seen.temperature_c,
        throttle=seen.throttle,
    )


def first_non_finite(losses: Sequence[float]) -> int | None:
    """The first step whose loss is no number.

    >>> first_non_finite([2.0, float("nan"), 1.0]), first_non_finite([2.0])
    (1, None)
    """
    return next((step for step, loss in enumerate(losses) if not math.isfinite(loss)), None)


def course(losses: Sequence[float], kept: int = LOSSES_KEPT) -> tuple[float, ...]:
    """At most `kept` losses, evenly spread, first and last among them, without what is no number.

    >>> course([5.0, 4.0, 3.0, 2.0, 1.0], kept=3)
    (5.0, 3.0, 1.0)
    """
    finite = [loss for loss in losses if math.isfinite(loss)]
    if len(finite) <= kept:
        return tuple(finite)
    last = len(finite) - 1
    return tuple(finite[round(place * last / (kept - 1))] for place in range(kept))


class AttentionKernel(TorchDispatchMode):
    """Sees which kernel `scaled_dot_product_attention` took; `name` is None if it was not called.

    Only the first step runs under it, since it costs time for every operation.
    """

    KERNELS: ClassVar[dict[str, str]] = {
        "_scaled_dot_product_flash_attention": "flash",
        "_scaled_dot_product_flash_attention_for_cpu": "flash",
        "_scaled_dot_product_efficient_attention": "efficient",
        "_scaled_dot_product_cudnn_attention": "cudnn",
        "_scaled_dot_product_fused_attention_overrideable": "overrideable",
        "_scaled_dot_product_attention_math": "math",
    }

    def __init__(self) -> None:
        super().__init__()
        self.name: str | None = None

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.name = self.KERNELS.get(function.overloadpacket.__name__, self.name)
        return function(*args, **(kwargs or {}))
