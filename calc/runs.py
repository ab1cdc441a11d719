"""Measured runs: what a file in `measurements/runs` holds, and how runs change an answer.

`python -m bench run` writes these files, nobody types them. One file is one model, one precision,
one card, one day, one person; its rows are the points that were measured.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import statistics
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from calc.card import slug
from calc.estimate import Range
from calc.job import Job
from calc.schema import Bounds, Pattern, Size
from calc.words import Message

Date = Annotated[str, Pattern(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", Message("problem_date"))]
Who = Annotated[
    str, Pattern(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,38}", Message("problem_who"))
]
ModelId = Annotated[str, Pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*", Message("problem_model_id"))]
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


# --- How runs are used --------------------------------------------------------------------------

AGREEMENT = 1.05
"""Two runs of a point agree if neither is more than 5 % above the other."""
MAX_MOVE = 1.15
"""One run moves an answer by at most 15 %, whatever it says."""
NEAR = 2.0
"""Nearby is a run with between half and twice the tokens x clips in one forward."""
BAND_MEMORY = 1.25
BAND_TIME = 2.5
"""A run outside these factors of the prediction merges as `review: pending`. Wide of the errors of
the formulas (memory: 90 % within 1.1, time: within 1.6, see `python -m calc accuracy`), so that an
honest odd card waits for a second run but a unit slip or another card's figure cannot slip in."""

OPTIMIZER_CLASS: Mapping[str, str] = {
    "adamw": "adam", "adamw-fused": "adam", "sgd": "sgd", "sgd-plain": "sgd",
}  # fmt: skip
"""Optimizers of one class step alike; the others are a class of their own."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A run as it lies in the repository: `file` under `measurements/runs`, and its review.

    accepted: a maintainer has listed it in `measurements/reviewed.yaml`.
    """

    file: str
    run: Run
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One row of one run. state: used, or pending (shown, not used)."""

    file: str
    run: Run
    row: Row
    state: Literal["used", "pending"] = "used"

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for runs of the same point on the same kind of card."""
        return (self.run.model, self.run.precision, self.run.card, *self.row.point)

    @property
    def allocated_gib(self) -> float | None:
        """Peak allocated memory of the whole run, first steps included."""
        if self.row.memory is None:
            return None
        return max(self.row.memory.first_allocated_mib, self.row.memory.allocated_mib) / 1024

    @property
    def reserved_gib(self) -> float | None:
        """Peak reserved memory of the whole run, first steps included."""
        if self.row.memory is None:
            return None
        return max(self.row.memory.first_reserved_mib, self.row.memory.reserved_mib) / 1024

    @property
    def step_s(self) -> float | None:
        """Median time of a step; None where it never settled."""
        if self.row.time is None or self.row.status != "ok":
            return None
        return self.row.time.median_ms / 1000


@dataclass(frozen=True, slots=True)
class RunBook:
    """All measured rows, and those that may be used by model and precision, oldest first."""

    rows: tuple[Measured, ...] = ()
    usable: Mapping[tuple[str, str], tuple[Measured, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """Runs that say something about a job on a card, oldest first, and how near they are.

    exact: this very point on this card. nearby: on this card, tokens x clips within a factor of
    two. other: exact or nearby, but on the cards named in `cards`.
    """

    kind: Literal["exact", "nearby", "other"]
    rows: tuple[Measured, ...]

    @property
    def cards(self) -> tuple[str, ...]:
        """Cards the runs were made on."""
        return tuple(dict.fromkeys(row.run.card for row in self.rows))

    @property
    def files(self) -> tuple[str, ...]:
        """Files the rows are in."""
        return tuple(dict.fromkeys(row.file for row in self.rows))

    @property
    def basis(self) -> str:
        """`measured` for this very point on this card, else `corrected`."""
        return "measured" if self.kind == "exact" else "corrected"


def book(stored: Iterable[Stored]) -> RunBook:
    """Every row with its state, and an index of the usable ones."""
    rows = [Measured(entry.file, entry.run, row) for entry in stored for row in entry.run.rows]
    accepted = {entry.file for entry in stored if entry.accepted}
    by_point: dict[tuple[Any, ...], list[Measured]] = defaultdict(list)
    for measured in rows:
        by_point[measured.key].append(measured)
    judged = [_with_state(measured, by_point[measured.key], accepted) for measured in rows]
    usable: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for measured in sorted(judged, key=lambda one: (one.run.date, one.file)):
        if measured.state == "used" and _says_something(measured):
            usable[measured.run.model, measured.run.precision].append(measured)
    return RunBook(tuple(judged), {key: tuple(group) for key, group in usable.items()})


def _with_state(one: Measured, same_point: list[Measured], accepted: set[str]) -> Measured:
    """Pending rows are used once a maintainer or a second contributor's run confirms them."""
    if one.run.review == "none" or one.file in accepted:
        return one
    confirmed = any(other.run.who != one.run.who and agree(one, other) for other in same_point)
    return one if confirmed else dataclasses.replace(one, state="pending")


def _says_something(one: Measured) -> bool:
    trained = one.row.mode == "train" and one.run.environment.device == "cuda"
    return trained and one.row.status in ("ok", "unstable") and one.row.memory is not None


def agree(one: Measured, other: Measured) -> bool:
    """Whether two runs of a point say the same within 5 %, in memory and in time."""
    pairs = ((one.allocated_gib, other.allocated_gib), (one.step_s, other.step_s))
    known = [(a, b) for a, b in pairs if a and b]
    return bool(known) and all(max(a, b) <= AGREEMENT * min(a, b) for a, b in known)


def find(
    job: Job,
    card: str,
    runs: RunBook,
    gpus: int = 1,
    batch: int | None = None,
    attention: str | None = None,
) -> Found | None:
    """The nearest runs for one forward of `batch` clips per GPU (the job's batch if None).

    attention: what really runs, where the library has only one kind. None: only the formula.
    """
    rows = runs.usable.get((job.model, job.precision))
    if not rows:
        return None
    clips = batch or max(1, -(-job.batch // gpus))
    wanted = (job.checkpointing, attention or job.attention, job.trainable, job.sharding, gpus)
    optimizer = OPTIMIZER_CLASS.get(job.optimizer, job.optimizer)
    same = [one for one in rows if _same_kind(one.row, wanted, optimizer)]
    near = [one for one in same if _near(one, job, clips)]
    here = [one for one in near if one.run.card == card]
    exact = [one for one in here if _exact(one.row, job, clips)]
    for kind, group in (("exact", exact), ("nearby", here), ("other", near)):
        if group:
            return Found(kind, tuple(group))  # type: ignore[arg-type]
    return None


def _same_kind(row: Row, wanted: tuple[Any, ...], optimizer: str) -> bool:
    """Same way of training; how many clips and frames is another question."""
    sharding = row.sharding if row.gpus > 1 else wanted[3]
    way = (row.checkpointing, row.attention, row.trainable, sharding, row.gpus)
    return way == wanted and OPTIMIZER_CLASS.get(row.optimizer, row.optimizer) == optimizer


def _near(one: Measured, job: Job, clips: int) -> bool:
    asked = job.frames * job.size**2 * clips
    got = one.row.frames * one.row.size**2 * one.row.batch
    return asked <= NEAR * got and got <= NEAR * asked


def _exact(row: Row, job: Job, clips: int) -> bool:
    same = (row.frames, row.size, row.batch) == (job.frames, job.size, clips)
    return same and row.optimizer == job.optimizer and row.memory_limit_gib is None


def job_of(one: Measured) -> Job:
    """The job that a row measured; ValueError where a Job cannot express it."""
    row = one.row
    return Job(
        model=one.run.model, precision=one.run.precision, frames=row.frames, size=row.size,
        batch=row.clips_per_step, micro_batch=row.batch, checkpointing=row.checkpointing,
        attention=row.attention, optimizer=row.optimizer, trainable=row.trainable,
        sharding=row.sharding, clip_grad=row.clip_grad, ema=row.ema, bucket_view=row.bucket_view,
        channels_last=row.channels_last,
        expandable_segments="expandable_segments:true" in one.run.environment.allocator.lower(),
    )  # fmt: skip


def correct(formula: Range, ratios: Sequence[float], exact: bool, repeats: float) -> Range:
    """The formula's range, moved by runs. ratios: measured / formula at each run, oldest first.

    mid moves with the median, each run by at most 15 %. Measured exactly, the range is the spread
    of the runs and of their repeatability (1.02 is 2 %); else it stays as wide as the formula's.
    Either way it covers what every run says.

    >>> correct(Range(8.0, 10.0, 13.0), [1.1], exact=False, repeats=1.02)
    Range(low=8.8, mid=11.0, high=14.3)
    >>> correct(Range(8.0, 10.0, 13.0), [1.1], exact=True, repeats=1.02).mid
    11.0
    >>> round(correct(Range(8.0, 10.0, 13.0), [2.0], exact=True, repeats=1.02).mid, 3)
    11.5
    """
    if not ratios:
        return formula
    move = moved(ratios)
    mid = formula.mid * move
    low, high = formula.low * move, formula.high * move
    if exact:
        low, high = mid / repeats, mid * repeats
    said = [formula.mid * ratio for ratio in ratios]
    return Range(round(min(low, *said), 12), round(mid, 12), round(max(high, *said), 12))


def moved(ratios: Sequence[float]) -> float:
    """The factor by which runs move an answer: the median so far, at most 15 % a run.

    >>> moved([1.1]), moved([2.0]), moved([1.1, 1.1, 9.0])
    (1.1, 1.15, 1.1)
    """
    move, seen = 1.0, list[float]()
    for ratio in ratios:
        insort(seen, ratio)
        median = (seen[(len(seen) - 1) // 2] + seen[len(seen) // 2]) / 2
        move = min(max(median, move / MAX_MOVE), move * MAX_MOVE)
    return move


def ratios_of(found: Found, ratio: Callable[[Measured], float | None]) -> list[float]:
    """measured / formula of each run, oldest first: the median of a file's rows, None left out.

    Rows of one file are one run, so that a file with ten rows moves an answer no further.
    """
    by_file: dict[str, list[float]] = {file: [] for file in found.files}
    for row in found.rows:
        value = ratio(row)
        if value is not None and value > 0:
            by_file[row.file].append(value)
    return [statistics.median(values) for values in by_file.values() if values]
