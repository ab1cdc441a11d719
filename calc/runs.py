"""Measured runs: what a file in `measurements/runs` holds, and how runs change an answer.

`python -m bench run` writes these files, nobody types them. One file is one model, one precision,
one card, one day, one person; its rows are the points that were measured.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from calc.card import slug
from calc.schema import Bounds, Pattern, Size

Date = Annotated[str, Pattern(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", "a date, yyyy-mm-dd")]
Who = Annotated[
    str,
    Pattern(
        r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,38}",
        "a GitHub handle in lower case (letters, digits, single hyphens), or anonymous",
    ),
]
ModelId = Annotated[str, Pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*", "a model id, as in video-swin-t")]
Gib = Annotated[float, Bounds(0, 4096)]
Mib = Annotated[float, Bounds(0, 4_194_304)]
Ms = Annotated[float, Bounds(0, 86_400_000)]
Percent = Annotated[float, Bounds(0, 100)]
Count = Annotated[int, Bounds(0, 1_000_000_000)]
Watts = Annotated[float, Bounds(0, 100_000)]
Mhz = Annotated[float, Bounds(0, 20_000)]

Precision = Literal["fp32", "tf32", "fp16", "bf16", "bf16-pure"]
Checkpointing = Literal["none", "block", "wrapper"]
Attention = Literal["sdpa", "eager"]
Optimizer = Literal[
    "adamw", "adamw-fused", "adamw8bit", "adafactor", "lion", "sgd", "sgd-plain", "none"
]
Status = Literal["ok", "unstable", "oom", "failed"]

UNHASHED = ("review",)
"""Keys that are not part of a file's six hex digits: what reviewers say must not rename a file."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a run was made; None is not measured. No host names, serials, users or paths.

    device: cuda, or cpu for trials (refused in measurements/runs).
    gpu: the name the driver gives; memory_total_gib: what PyTorch reports; memory_nvml_gib: what
    nvidia-smi shows; display, other_processes, other_used_mib: what else used the card.
    allocator: PYTORCH_ALLOC_CONF, "" for the default.
    """

    device: Literal["cuda", "cpu"]
    gpu: str | None
    memory_total_gib: Gib | None
    memory_nvml_gib: Gib | None
    compute_capability: str | None
    power_limit_w: Watts | None
    power_limit_default_w: Watts | None
    ecc: bool | None
    pcie_gen: Count | None
    pcie_width: Count | None
    nvlinks: Count | None
    display: bool | None
    other_processes: Count | None
    other_used_mib: Mib | None
    driver: str | None
    cuda: str | None
    cudnn: str | None
    torch: str
    python: str
    libraries: Mapping[str, str]
    os: str
    cpu: str
    cores: Count | None
    ram_gib: Annotated[float, Bounds(0, 1_000_000)] | None
    allocator: str
    cudnn_benchmark: bool
    deterministic: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """Rates of the card itself, measured once per file; they expose odd cards.

    matmul_*_tflops: square matrices, FP32 accumulate; copy_gb_s: read plus written, 10^9 bytes;
    launch_us: one empty kernel.
    """

    matmul_fp16_tflops: Annotated[float, Bounds(0, 100_000)] | None
    matmul_bf16_tflops: Annotated[float, Bounds(0, 100_000)] | None
    copy_gb_s: Annotated[float, Bounds(0, 1_000_000)] | None
    launch_us: Annotated[float, Bounds(0, 1_000_000)] | None
    matmul_fp32_tflops: Annotated[float, Bounds(0, 100_000)] | None = None
    matmul_tf32_tflops: Annotated[float, Bounds(0, 100_000)] | None = None


@dataclass(frozen=True, slots=True)
class StepTime:
    """Time of one step: `steps` were timed after `warmup_s`; parts are medians and may be None."""

    steps: Annotated[int, Bounds(1, 10_000_000)]
    median_ms: Ms
    p10_ms: Ms
    p90_ms: Ms
    clips_per_s: Annotated[float, Bounds(0, 1_000_000)]
    warmup_s: Annotated[float, Bounds(0, 86_400)] | None = None
    forward_ms: Ms | None = None
    backward_ms: Ms | None = None
    optimizer_ms: Ms | None = None
    data_wait_ms: Ms | None = None
    communication_ms: Ms | None = None


@dataclass(frozen=True, slots=True)
class PeakMemory:
    """Peaks of one process: of the first steps (cuDNN tries algorithms) and of the steady state.

    retries: times the allocator gave memory back and asked again; nvml_*: what the driver shows.
    """

    first_allocated_mib: Mib
    first_reserved_mib: Mib
    allocated_mib: Mib
    reserved_mib: Mib
    retries: Count
    nvml_process_mib: Mib | None = None
    nvml_card_mib: Mib | None = None


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The allocator's own numbers when it gave up."""

    requested_mib: Mib | None
    allocated_mib: Mib | None
    reserved_mib: Mib | None
    free_mib: Mib | None
    total_mib: Mib | None


@dataclass(frozen=True, slots=True)
class Load:
    """The card during the steady state."""

    utilisation_pct: Percent | None = None
    power_w: Watts | None = None
    energy_j_per_clip: Annotated[float, Bounds(0, 1e9)] | None = None
    sm_mhz: Mhz | None = None
    memory_mhz: Mhz | None = None
    temperature_c: Annotated[float, Bounds(-50, 200)] | None = None
    throttle: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Learning:
    """That it really trained: loss on one fixed batch, and what the gradient scaler did."""

    loss: tuple[float, ...]
    non_finite_step: Count | None = None
    scale: Annotated[float, Bounds(0, 1e30)] | None = None
    skipped_steps: Count | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One measured point. batch: clips per GPU in one forward; accumulation: forwards per step.

    memory_limit_gib: the cap that was put on the process, None for the whole card.
    status: ok; unstable (never settled, time and memory still given); oom; failed (note says why).
    """

    frames: Annotated[int, Bounds(1, 4096)]
    size: Annotated[int, Bounds(16, 4096)]
    batch: Annotated[int, Bounds(1, 65_536)]
    checkpointing: Checkpointing
    attention: Attention
    optimizer: Optimizer
    status: Status
    mode: Literal["train", "infer"] = "train"
    trainable: Literal["full", "head"] = "full"
    gpus: Annotated[int, Bounds(1, 4096)] = 1
    sharding: Literal["ddp", "zero2", "fsdp"] = "ddp"
    accumulation: Annotated[int, Bounds(1, 65_536)] = 1
    channels_last: bool = False
    clip_grad: bool = False
    ema: bool = False
    bucket_view: bool = False
    sdpa_backend: str | None = None
    data: Literal["synthetic", "clips"] = "synthetic"
    memory_limit_gib: Gib | None = None
    time: StepTime | None = None
    memory: PeakMemory | None = None
    oom: OutOfMemory | None = None
    load: Load | None = None
    learning: Learning | None = None
    note: str = ""

    @property
    def clips_per_step(self) -> int:
        """Clips that one optimizer step takes on all GPUs."""
        return self.batch * self.accumulation * self.gpus

    @property
    def point(self) -> tuple[Any, ...]:
        """What was asked of the card: two rows with the same point measure the same thing."""
        return (
            self.frames, self.size, self.batch, self.checkpointing, self.attention, self.optimizer,
            self.mode, self.trainable, self.gpus, self.sharding, self.accumulation,
            self.channels_last, self.clip_grad, self.ema, self.bucket_view, self.data,
            self.memory_limit_gib,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """One file of `measurements/runs`.

    bench: version of bench that wrote it; command: exactly as typed, without paths of the host.
    review: "pending" if the figures lie outside the band of the prediction: shown, not used.
    """

    schema: Literal[1]
    model: ModelId
    precision: Precision
    card: str
    date: Date
    who: Who
    licence: Literal["CC0-1.0"]
    bench: str
    command: str
    environment: Environment
    calibration: Calibration | None
    rows: Annotated[tuple[Row, ...], Size(1, 2000)]
    review: Literal["none", "pending"] = "none"
    notes: str = ""


def content_hash(tree: Mapping[str, Any]) -> str:
    """Six hex digits of what a run file says, whatever its layout; `review` does not count.

    >>> content_hash({"model": "x", "review": "pending"}) == content_hash({"model": "x"})
    True
    """
    kept = {key: value for key, value in tree.items() if key not in UNHASHED}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def file_name(tree: Mapping[str, Any]) -> str:
    """Where a run belongs under `measurements/runs`: `<card>/<model>__<precision>__...`.

    >>> file_name({"card": "RTX 4090 24GB", "model": "video-swin-t", "precision": "fp16",
    ...            "date": "2026-12-01", "who": "anonymous"})
    'rtx-4090-24gb/video-swin-t__fp16__20261201__anonymous__df9dd3.yaml'
    """
    day = str(tree["date"]).replace("-", "")
    parts = (tree["model"], tree["precision"], day, tree["who"], content_hash(tree))
    return f"{slug(str(tree['card']))}/{'__'.join(map(str, parts))}.yaml"


@dataclass(frozen=True, slots=True)
class Stored:
    """A run as it lies in the repository: `file` under `measurements/runs`, and its review.

    accepted: a maintainer has listed it in `measurements/reviewed.yaml`.
    """

    file: str
    run: Run
    accepted: bool = False
