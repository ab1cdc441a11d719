"""What a run file must satisfy beyond its schema: provenance, physics, text, names."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.environment import card_name
from calc.card import Card
from calc.problem import Problem, reporter
from calc.profile import ModelProfile, NotTraced, point
from calc.runs import Measured, Row, Run, job_of
from calc.schema import Report, shown
from calc.words import Message

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


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in one file: problems refuse it, warnings are for the reviewer."""

    problems: list[Problem]
    warnings: list[Problem]

    def reporter(self, label: str, warning: bool = False) -> Report:
        """A function that notes what is wrong at a path of this file."""
        return reporter(label, self.warnings if warning else self.problems)


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
            report(path, Message("problem_html", {"found": found[0]}))
        if (found := _LINK.search(text)) and found[0] != "https://":
            report(path, Message("problem_link", {"start": found[0]}))
        if found := _HIDDEN.search(text):
            report(path, Message("problem_invisible", {"code": ord(found[0])}))
        if found := _HOST_PATH.search(text):
            report(path, Message("problem_path", {"path": shown(found[1])}))
        if _ADDRESS.search(text):
            report(path, Message("problem_mail"))


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
        report("environment.device", Message("problem_cpu"))
        return
    for name in ("gpu", "memory_total_gib", "driver", "cuda"):
        if not getattr(environment, name):
            report(f"environment.{name}", Message("problem_not_given"))
    for name in ("power_limit_w", "other_used_mib"):
        if getattr(environment, name) is None:
            warn(f"environment.{name}", Message("problem_not_recorded"))
    if run.calibration is None:
        warn("calibration", Message("problem_no_calibration"))
    if environment.other_processes:
        others = {"n": environment.other_processes}
        warn("environment.other_processes", Message("problem_others", others))


def _check_date(text: str, today: datetime.date, report: Report) -> None:
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        report("date", Message("problem_no_such_day", {"date": shown(text)}))
        return
    if not FIRST_DAY <= day <= today + CLOCKS_APART:
        days = {"day": day, "first": FIRST_DAY, "today": today}
        report("date", Message("problem_day", days))


def check_card(run: Run, card: Card, report: Report, warn: Report) -> None:
    """That the card is the one it is said to be, and runs as such a card does."""
    environment = run.environment
    total_gib = environment.memory_total_gib
    low, high = 0.85 * card.marketed_gb, 1.02 * card.marketed_gb
    if total_gib and not low <= total_gib <= high:
        what = {"total": total_gib, "low": low, "high": high, "card": card.name}
        report("environment.memory_total_gib", Message("problem_total", what))
    named = card_name(environment.gpu or "", total_gib or 0.0)
    if environment.gpu and named != card.name:
        given = {"gpu": shown(environment.gpu), "named": named, "card": card.name}
        unknown = named == environment.gpu
        key = "problem_unknown_gpu" if unknown else "problem_other_gpu"
        report("environment.gpu", Message(key, given))
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
            what = {"got": got, "most": ABOVE_PEAK * peak, "factor": ABOVE_PEAK, "card": card.name}
            report(f"calibration.{name}", Message("problem_fast_card", what))
        elif got < ODD_CARD * peak:
            slow = {"got": got, "share": got / peak}
            warn(f"calibration.{name}", Message("problem_slow_card", slow))


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
            report(where, Message("problem_same_point", {"first": seen[row.point]}))
        seen.setdefault(row.point, index)
    _check_growth(run, warn)


def _check_status(row: Row, where: str, report: Report) -> None:
    status = {"status": row.status}
    for name in ("time", "memory"):
        given = getattr(row, name) is not None
        if row.status in ("ok", "unstable") and not given:
            report(f"{where}.{name}", Message("problem_status_needs", status))
        if row.status in ("oom", "failed") and row.time is not None and name == "time":
            report(f"{where}.{name}", Message("problem_status_has_none", status))
    if row.status == "failed" and not row.note:
        report(f"{where}.note", Message("problem_no_note"))
    if row.oom is not None and row.status != "oom":
        report(f"{where}.oom", Message("problem_status", status))


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
            what = {"reserved": reserved, "allocated": allocated}
            report(path, Message("problem_reserved_low", what))
        if reserved > limit_gib * 1024 + ROUNDING_MIB:
            what = {"reserved": reserved, "limit": limit_gib * 1024}
            report(path, Message("problem_reserved_high", what))
    if row.status in ("ok", "unstable") and memory.allocated_mib <= 0:
        report(f"{where}.memory.allocated_mib", Message("problem_no_memory"))


def _check_time(row: Row, where: str, report: Report) -> None:
    time = row.time
    if time is None:
        return
    path = f"{where}.time"
    if not 0 < time.p10_ms <= time.median_ms <= time.p90_ms:
        given = {"p10": time.p10_ms, "median": time.median_ms, "p90": time.p90_ms}
        report(f"{path}.median_ms", Message("problem_percentiles", given))
        return
    clips_per_s = row.clips_per_step / time.median_ms * 1000
    if abs(time.clips_per_s - clips_per_s) > CONSISTENT * clips_per_s:
        clips = {"given": time.clips_per_s, "right": clips_per_s}
        report(f"{path}.clips_per_s", Message("problem_clips", clips))
    parts = sum(part for part in (time.forward_ms, time.backward_ms, time.optimizer_ms) if part)
    if parts > (1 + 3 * CONSISTENT) * time.p90_ms:
        report(f"{path}.forward_ms", Message("problem_parts", {"parts": parts}))


def _check_load(row: Row, limit_w: float | None, where: str, report: Report) -> None:
    power_w = row.load.power_w if row.load else None
    if power_w and limit_w and power_w > 1.15 * limit_w:
        what = Message("problem_power", {"power": power_w, "limit": limit_w})
        report(f"{where}.load.power_w", what)


def _check_peak(
    one: Measured, card: Card, profile: ModelProfile, where: str, report: Report
) -> None:
    """No step is faster than its matrix work at the card's peak rate."""
    if one.row.time is None or one.row.mode != "train":
        return
    least_ms = 1000 * (least_step_s(one, card, profile) or 0.0) / ABOVE_PEAK
    if 0 < one.row.time.median_ms < least_ms:
        limit = {"least": least_ms, "factor": ABOVE_PEAK, "card": card.name}
        what = Message("problem_fast_step", {"median": one.row.time.median_ms, **limit})
        report(f"{where}.time.median_ms", what)


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
                what = {"less": less, "small": small, "more": more, "large": large}
                warn("rows", Message("problem_falls", what))
