"""What a run file must satisfy beyond its schema: provenance, physics, text, names."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.environment import card_name
from calc.card import Card
from calc.profile import ModelProfile, NotTraced, point
from calc.runs import Measured, Row, Run, job_of
from calc.schema import shown

FIRST_DAY = datetime.date(2023, 3, 15)
"""PyTorch 2.0, the oldest version `bench` runs on."""
CLOCKS_APART = datetime.timedelta(days=1)
"""A contributor's day may have begun before ours."""
ABOVE_PEAK = 1.2
"""Real clocks exceed the datasheet's: 1.16 is the largest published matmul rate over the dense peak
(RTX 5090, 242 of 209.5 TFLOPS, see measured_fp16_tflops in `measurements/cards.yaml`)."""
ODD_CARD = 0.6
"""The smallest published matmul rate is 0.66 of the dense peak (H100 PCIe, 496 of 756 TFLOPS)."""
ROUNDING_MIB = 2.0
CONSISTENT = 0.02
"""Files have five significant digits; clips/s is computed from a mean, the time is a median."""
FALLS = 0.97
"""Allocated memory that falls with a larger batch by more than 3 % is odd."""

Report = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in one file: problems refuse it, warnings are for the reviewer."""

    problems: list[str]
    warnings: list[str]

    def reporter(self, label: str, warning: bool = False) -> Report:
        """A function that notes what is wrong at a path of this file."""
        notes = self.warnings if warning else self.problems
        return lambda path, what: notes.append(f"{label}: {path}: {what}")


# --- Text -----------------------------------------------------------------------------------------

_HTML = re.compile(r"<\s*[a-zA-Z/!?]|&#?[a-zA-Z0-9]{2,8};")
_LINK = re.compile(
    r"\b(?:[a-zA-Z][a-zA-Z0-9+.-]{1,20}://|(?:javascript|vbscript|mailto):|data:\w+/)"
)
_HOST_PATH = re.compile(r"(?:^|[\s=:'\"])(/[\w.-]+/\S*|~/\S+|[A-Za-z]:\\\S+)")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
_HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def check_text(tree: Any, report: Report) -> None:
    """No HTML, no links but https, nothing invisible, no paths or addresses of a person."""
    for path, text in texts(tree):
        if found := _HTML.search(text):
            report(path, f"has HTML ({found[0]}); allowed is plain text")
        if (found := _LINK.search(text)) and found[0] != "https://":
            report(path, f"has a link that begins with {found[0]}; allowed are links with https://")
        if found := _HIDDEN.search(text):
            report(path, f"has the invisible character U+{ord(found[0]):04X}; take it out")
        if found := _HOST_PATH.search(text):
            report(path, f"names a path of your machine ({shown(found[1])}); shorten it to a name")
        if _ADDRESS.search(text):
            report(path, "has an e-mail address; take it out")


def texts(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a tree with its path, keys included."""
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield f"{path}.{key[:40]}".lstrip("."), key
            yield from texts(value, f"{path}.{key[:40]}".lstrip("."))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from texts(value, f"{path}[{index}]")


# --- Provenance -----------------------------------------------------------------------------------


def check_provenance(run: Run, today: datetime.date, report: Report, warn: Report) -> None:
    """Where, when and how it was measured."""
    _check_date(run.date, today, report)
    environment = run.environment
    if environment.device != "cuda":
        report("environment.device", "is 'cpu'; runs on a CPU are for trying out, allowed is cuda")
        return
    for name in ("gpu", "memory_total_gib", "driver", "cuda"):
        if not getattr(environment, name):
            report(f"environment.{name}", "is not given; a run on a GPU states it")
    for name in ("power_limit_w", "other_used_mib"):
        if getattr(environment, name) is None:
            warn(f"environment.{name}", "is not given; install nvidia-ml-py to record it")
    if run.calibration is None:
        warn("calibration", "is not given; odd cards cannot be told from it")
    if environment.other_processes:
        warn("environment.other_processes", f"{environment.other_processes} others used the card")


def _check_date(text: str, today: datetime.date, report: Report) -> None:
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        report("date", f"is {shown(text)}; allowed are days of the calendar, yyyy-mm-dd")
        return
    if not FIRST_DAY <= day <= today + CLOCKS_APART:
        report("date", f"is {day}; allowed is from {FIRST_DAY} to today, {today}")


def check_card(run: Run, card: Card, report: Report, warn: Report) -> None:
    """That the card is the one it is said to be, and runs as such a card does."""
    environment = run.environment
    total_gib = environment.memory_total_gib
    if total_gib and not 0.85 * card.marketed_gb <= total_gib <= 1.02 * card.marketed_gb:
        allowed = f"{0.85 * card.marketed_gb:g} to {1.02 * card.marketed_gb:g} for {card.name}"
        report("environment.memory_total_gib", f"is {total_gib:g}; allowed are {allowed}")
    named = card_name(environment.gpu or "", total_gib or 0.0)
    if environment.gpu and named != card.name:
        known = "no card of cards.yaml" if named == environment.gpu else named
        report("environment.gpu", f"is {shown(environment.gpu)}, which is {known}, not {card.name}")
    if run.calibration is not None:
        _check_calibration(run, card, report, warn)


def _check_calibration(run: Run, card: Card, report: Report, warn: Report) -> None:
    assert run.calibration is not None
    rates = (
        ("matmul_fp16_tflops", run.calibration.matmul_fp16_tflops, card.dense_fp16_tflops.value),
        ("matmul_bf16_tflops", run.calibration.matmul_bf16_tflops, card.dense_bf16_tflops.value),
        ("copy_gb_s", run.calibration.copy_gb_s, card.bandwidth_gb_s.value),
    )
    for name, got, peak in rates:
        if got is None or peak is None:
            continue
        if got > ABOVE_PEAK * peak:
            allowed = f"at most {ABOVE_PEAK * peak:.4g}, {ABOVE_PEAK} x the peak of {card.name}"
            report(f"calibration.{name}", f"is {got:g}; allowed is {allowed}")
        elif got < ODD_CARD * peak:
            warn(f"calibration.{name}", f"is {got:g}, only {got / peak:.0%} of the peak")


# --- Physics --------------------------------------------------------------------------------------


def check_rows(
    run: Run, card: Card | None, profile: ModelProfile | None, report: Report, warn: Report
) -> None:
    """Every row by itself, then the rows against each other."""
    seen: dict[tuple[Any, ...], int] = {}
    for index, row in enumerate(run.rows):
        where = f"rows[{index}]"
        _check_status(row, where, report)
        _check_memory(row, run.environment.memory_total_gib, where, report)
        _check_time(row, where, report)
        _check_load(row, run.environment.power_limit_w, where, report)
        if card is not None and profile is not None:
            _check_peak(Measured("", run, row), card, profile, where, report)
        if row.point in seen:
            report(where, f"measures the same point as rows[{seen[row.point]}]; keep one of them")
        seen.setdefault(row.point, index)
    _check_growth(run, warn)


def _check_status(row: Row, where: str, report: Report) -> None:
    for name in ("time", "memory"):
        given = getattr(row, name) is not None
        if row.status in ("ok", "unstable") and not given:
            report(f"{where}.{name}", f"is missing; a row with status {row.status} has it")
        if row.status in ("oom", "failed") and row.time is not None and name == "time":
            report(f"{where}.{name}", f"is given; a row with status {row.status} has none")
    if row.status == "failed" and not row.note:
        report(f"{where}.note", "is missing; a failed row says why")
    if row.oom is not None and row.status != "oom":
        report(f"{where}.oom", f"is given; the status is {row.status}")


def _check_memory(row: Row, card_gib: float | None, where: str, report: Report) -> None:
    memory = row.memory
    if memory is None:
        return
    limit_gib = min(gib for gib in (row.memory_limit_gib, card_gib, 1e6) if gib)
    for first in ("first_", ""):
        allocated = getattr(memory, f"{first}allocated_mib")
        reserved = getattr(memory, f"{first}reserved_mib")
        path = f"{where}.memory.{first}reserved_mib"
        if allocated > reserved + ROUNDING_MIB:
            report(path, f"is {reserved:g}; allowed is at least what is allocated, {allocated:g}")
        if reserved > limit_gib * 1024 + ROUNDING_MIB:
            report(path, f"is {reserved:g}; allowed is at most the card's {limit_gib * 1024:.0f}")
    if row.status in ("ok", "unstable") and memory.allocated_mib <= 0:
        report(f"{where}.memory.allocated_mib", "is 0; training takes memory")


def _check_time(row: Row, where: str, report: Report) -> None:
    time = row.time
    if time is None:
        return
    path = f"{where}.time"
    if not 0 < time.p10_ms <= time.median_ms <= time.p90_ms:
        given = f"{time.p10_ms:g} / {time.median_ms:g} / {time.p90_ms:g}"
        report(f"{path}.median_ms", f"p10 / median / p90 are {given}; allowed is 0 < rising")
        return
    clips_per_s = row.clips_per_step / time.median_ms * 1000
    if abs(time.clips_per_s - clips_per_s) > CONSISTENT * clips_per_s:
        allowed = f"batch x accumulation x gpus / median = {clips_per_s:.4g}"
        report(f"{path}.clips_per_s", f"is {time.clips_per_s:g}; allowed is {allowed} within 2 %")
    parts = [part for part in (time.forward_ms, time.backward_ms, time.optimizer_ms) if part]
    if sum(parts) > (1 + 3 * CONSISTENT) * time.p90_ms:
        report(f"{path}.forward_ms", f"the parts take {sum(parts):.4g} ms, longer than the step")


def _check_load(row: Row, limit_w: float | None, where: str, report: Report) -> None:
    power_w = row.load.power_w if row.load else None
    if power_w and limit_w and power_w > 1.15 * limit_w:
        report(f"{where}.load.power_w", f"is {power_w:g}; the card's limit is {limit_w:g}")


def _check_peak(
    one: Measured, card: Card, profile: ModelProfile, where: str, report: Report
) -> None:
    """No step is faster than its matrix work at the card's peak rate."""
    if one.row.time is None or one.row.mode != "train":
        return
    least_ms = 1000 * (least_step_s(one, card, profile) or 0.0) / ABOVE_PEAK
    if 0 < one.row.time.median_ms < least_ms:
        allowed = f"at least {least_ms:.4g}: the work at {ABOVE_PEAK} x the peak of {card.name}"
        report(f"{where}.time.median_ms", f"is {one.row.time.median_ms:g}; allowed is {allowed}")


def least_step_s(one: Measured, card: Card, profile: ModelProfile) -> float | None:
    """Seconds that the traced matrix work takes at the dense peak; None if it was not traced."""
    try:
        work = point(job_of(one), profile).work
    except (NotTraced, ValueError):
        return None
    seconds = 0.0
    for name, part in work.items():
        rate = _peak_tflops(name, one.run.precision, card)
        gflop = part.gflop + part.gflop_per_clip * one.row.batch
        seconds += gflop * one.row.accumulation / 1000 / rate if rate else 0.0
    return seconds or None


def _peak_tflops(work: str, precision: str, card: Card) -> float | None:
    """Dense peak for a class of work, e.g. gemm_half; None if it does no matrix work."""
    if work.endswith("_half"):
        half = card.dense_fp16_tflops if precision == "fp16" else card.dense_bf16_tflops
        return half.value
    if work.endswith("_fp32"):
        return (card.fp32_tflops if precision == "fp32" else card.dense_tf32_tflops).value
    return None


def _check_growth(run: Run, warn: Report) -> None:
    """Memory grows with the batch."""
    groups: dict[tuple[Any, ...], list[tuple[int, float]]] = {}
    for row in run.rows:
        if row.memory is not None and row.status == "ok":
            setting = tuple(value for index, value in enumerate(row.point) if index != 2)
            groups.setdefault(setting, []).append((row.batch, row.memory.allocated_mib))
    for ladder in groups.values():
        ladder.sort()
        for (small, less), (large, more) in pairwise(ladder):
            if more < FALLS * less:
                what = f"falls from {less:g} MiB at batch {small} to {more:g} at batch {large}"
                warn("rows", f"allocated memory {what}")
