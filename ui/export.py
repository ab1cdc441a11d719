"""What a visitor takes away: CSV of the table, YAML of the job, Markdown, the commands."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from typing import Any

import yaml

from calc.compare import Comparison, OfferResult
from calc.estimate import Range
from calc.job import FIELDS, Field, Job
from calc.result import shortest_h
from calc.words import render
from ui import figures
from ui.share import as_text
from ui.text import Language, text

CSV_COLUMNS = (
    "offer", "fits", "allocated_gib_low", "allocated_gib", "allocated_gib_high", "reserved_gib",
    "needs_gib", "sure_gib", "usable_gib", "max_batch", "micro_batch", "accumulation",
    "clips_per_step", "clips_per_s_low", "clips_per_s", "clips_per_s_high",
    "hours_low", "hours", "hours_high", "usd_low", "usd", "usd_high", "kwh",
    "price_usd", "price_kind", "price_date", "memory_basis", "speed_basis",
)  # fmt: skip


def row(result: OfferResult) -> dict[str, Any]:
    """One offer as a flat row, keys CSV_COLUMNS; unknown stays empty."""
    price = result.price
    return {
        "offer": result.offer.text,
        "fits": result.fit.state,
        **_ends("allocated_gib", result.memory.allocated),
        "reserved_gib": result.memory.reserved.mid,
        "needs_gib": result.needs_gib,
        "sure_gib": result.sure_gib,
        "usable_gib": result.usable_gib.mid,
        "max_batch": result.max_batch,
        "micro_batch": result.micro_batch,
        "accumulation": result.accumulation,
        "clips_per_step": result.clips_per_step,
        **_ends("clips_per_s", result.clips_per_s),
        **_ends("hours", result.hours),
        **_ends("usd", result.usd),
        "kwh": result.kwh and result.kwh.mid,
        "price_usd": price and price.usd,
        "price_kind": price and price.kind,
        "price_date": price and price.date,
        "memory_basis": result.basis["memory"],
        "speed_basis": result.basis["speed"],
    }


def _ends(name: str, value: Range | None) -> dict[str, float | None]:
    if value is None:
        return {f"{name}_low": None, name: None, f"{name}_high": None}
    return {f"{name}_low": value.low, name: value.mid, f"{name}_high": value.high}


def table_csv(results: Sequence[OfferResult]) -> str:
    """All offers as CSV, figures with four significant digits."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for result in results:
        writer.writerow({key: _short(value) for key, value in row(result).items()})
    return out.getvalue()


def _short(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def job_yaml(comparison: Comparison) -> str:
    """The job with every input, and the versions that answered it."""
    job = {field.key: _plain(getattr(comparison.job, field.key)) for field in FIELDS}
    versions = {"model_version": comparison.model_version, "data_version": comparison.data_version}
    return yaml.safe_dump({**versions, "job": job}, sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    """Tuples as lists, tuples of (card, price) as a mapping.

    >>> _plain(("L4 24GB",)), _plain((("L4 24GB", 0.4),)), _plain(8)
    (['L4 24GB'], {'L4 24GB': 0.4}, 8)
    """
    if not isinstance(value, tuple):
        return value
    return dict(value) if value and isinstance(value[0], tuple) else list(value)


def compare_command(job: Job) -> str:
    """The command line that gives this very answer; inputs at their default are left out."""
    words = ["python", "-m", "calc", "compare", "--model", job.model]
    for field in FIELDS:
        value = getattr(job, field.key)
        shown = field.group == "main" or value != field.default
        if field.key == "model" or not shown or value is None:
            continue
        words += _flags(field, value)
    return shlex.join(words)


def _flags(field: Field, value: Any) -> list[str]:
    if field.kind == "flag":
        return [field.flag]
    if field.kind == "offers":
        return [word for card in value for word in (field.flag, card)]
    if field.kind == "prices":
        return [word for card, usd in value for word in (field.flag, f"{card}={as_text(usd)}")]
    return [field.flag, as_text(value)]


def bench_command(job: Job, result: OfferResult) -> str | None:
    """The run on a GPU of this offer that would measure this very point.

    None where bench has none: a custom model, ZeRO-2, an offer that does not train the job.
    """
    count, micro = result.offer.count, result.micro_batch
    if job.model == "custom" or micro is None or (count > 1 and job.sharding == "zero2"):
        return None
    start = ["python"] if count == 1 else ["torchrun", f"--nproc-per-node={count}"]
    words = [*start, "-m", "bench", "run", "--model", job.model]
    for key in ("frames", "size", "precision", "checkpointing", "attention", "optimizer",
                "trainable"):  # fmt: skip
        words += ["--" + key, as_text(getattr(job, key))]
    words += ["--batch", str(micro), "--accumulation", str(result.accumulation)]
    words += ["--clip-grad"] if job.clip_grad else []
    words += ["--channels-last"] if job.channels_last else []
    words += ["--parallel", job.sharding] if count > 1 else []
    return shlex.join(words)


def markdown(comparison: Comparison, link: str, lang: Language) -> str:
    """A summary to paste into an issue: the answer, a table, the link and the command."""
    job, beside_h = comparison.job, shortest_h(comparison.offers)
    head = ("offer", "peak", "needs", "max_batch", "speed", "hours", "cost")
    names = [text(f"export.{key}", lang) for key in head]
    lines = [
        f"**{render(comparison.verdict, lang)}**",
        "",
        "| " + " | ".join(names) + " |",
        "|" + " --- |" * len(names),
        *(f"| {' | '.join(_cells(result, job, beside_h, lang))} |" for result in comparison.offers),
        "",
        f"`{compare_command(job)}`",
        "",
        text("export.footer", lang, link=link, model=comparison.model_version,
             data=comparison.data_version),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _cells(
    result: OfferResult, job: Job, beside_h: float | None, lang: Language
) -> list[str]:
    return [
        f"{result.offer.text}: {text(f'common.{result.answer}', lang)}",
        figures.gib_range(result.memory.allocated),
        f"{figures.gib(result.needs_gib)} / {figures.gib(result.usable_gib.mid)}",
        str(result.max_batch),
        figures.speed(result),
        figures.hours(result, beside_h),
        figures.cost(result, job),
    ]
