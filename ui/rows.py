"""calc's results as rows for charts, with the sentence that says the same to a screen reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from calc.compare import OfferResult
from calc.cost import in_currency
from calc.job import Job
from calc.memory import PARTS, PHASES, StepMemory
from calc.result import missing, shortest_h
from calc.sweep import Cell, SweepPoint
from calc.words import clips
from ui import figures
from ui.charts import LETTERS
from ui.text import say, t

Rows = list[dict[str, Any]]

LABEL_SHARE = 0.09
"""A part gets its name in the bar from this share of the widest bar on."""


def part_names(results: Sequence[OfferResult]) -> dict[str, str]:
    """The parts that any offer has, in stacking order, with their names."""
    present = [
        part for part in PARTS if any(result.memory.parts_gib.get(part) for result in results)
    ]
    return {part: t(f"calculator.part_{part}") for part in present}


def parts(results: Sequence[OfferResult]) -> Rows:
    """One row for each offer and part of its peak."""
    names = part_names(results)
    widest = max(max(result.needs_gib, result.usable_gib.mid) for result in results)
    return [
        {
            "offer": result.offer.text,
            "name": name,
            "gib": result.memory.parts_gib[part],
            "order": order,
            "label": name if result.memory.parts_gib[part] > LABEL_SHARE * widest else "",
        }
        for result in results
        for order, (part, name) in enumerate(names.items())
        if result.memory.parts_gib.get(part)
    ]


def needs(result: OfferResult) -> str:
    """What decides whether an offer fits: what it needs, and what it has."""
    return t(
        "calculator.needs_value", needs=figures.gib(result.needs_gib),
        sure=figures.gib(result.sure_gib), usable=figures.gib(result.usable_gib.mid),
    )  # fmt: skip


def needed(results: Sequence[OfferResult]) -> Rows:
    """What each offer has to give, beside what it needs: more than the parts of its peak."""
    return [
        {
            **limit,
            "peak": result.memory.allocated.mid,
            "needs": result.needs_gib,
            "label": t("calculator.needs_short", needs=figures.gib(result.needs_gib),
                       usable=figures.gib(result.usable_gib.mid)),
        }
        for limit, result in zip(limits(results), results, strict=True)
    ]  # fmt: skip


def limits(results: Sequence[OfferResult]) -> Rows:
    """What each offer has to give."""
    return [
        {
            "offer": result.offer.text,
            "gib": result.usable_gib.mid,
            "label": t("calculator.usable", gib=figures.gib(result.usable_gib.mid)),
        }
        for result in results
    ]


def named_limits(results: Sequence[OfferResult]) -> Rows:
    """The same with the card's name in the label, each height once."""
    named = {row["gib"]: row for row in limits(results)}
    return [{**row, "label": f"{row['offer']}: {row['label']}"} for row in named.values()]


def memory_alt(results: Sequence[OfferResult]) -> str:
    """The memory chart in words."""
    return t("calculator.memory_alt", summary=t("common.semicolon").join(map(_memory_one, results)))


def _memory_one(result: OfferResult) -> str:
    largest = max(result.memory.parts_gib, key=lambda part: result.memory.parts_gib[part])
    return t(
        "calculator.memory_alt_one",
        offer=result.offer.text,
        peak=figures.gib(result.memory.allocated.mid),
        needs=figures.gib(result.needs_gib),
        usable=figures.gib(result.usable_gib.mid),
        part=t(f"calculator.part_{largest}"),
    )


def moments(step: StepMemory) -> Rows:
    """Memory at each moment of a step, as shares of the step."""
    return [{"at": at, "gib": gib} for at, gib in zip(step.progress, step.gib, strict=True)]


def phases(step: StepMemory) -> Rows:
    """Where the phases of a step begin and end."""
    starts = (0.0, *step.phase_ends[:2])
    return [
        {"name": t(f"calculator.{name}"), "at": start, "ends": end}
        for name, start, end in zip(PHASES, starts, step.phase_ends, strict=True)
    ]


def cells(found: Sequence[Cell], job: Job, axis: str) -> Rows:
    """The tipping map; offers are written as letters, `none` where nothing fits."""
    letters = dict(zip(job.cards, LETTERS, strict=False))
    return [
        {
            "batch": cell.batch,
            "row": getattr(cell, axis),
            "offer": map_name(cell.offer, letters),
            "letter": letters.get(cell.offer or "", "–"),
            "cost": _cell_cost(cell, job),
        }
        for cell in found
    ]


def _cell_cost(cell: Cell, job: Job) -> str:
    if cell.usd is None:
        return say(missing(cell.offer is not None, cell.hours))
    return figures.money(cell.usd, job)


def map_name(offer: str | None, letters: dict[str, str]) -> str:
    """The legend's entry of an offer: its letter and its name."""
    return t("calculator.map_none") if offer is None else f"{letters[offer]} · {offer}"


def map_names(job: Job) -> list[str]:
    """The legend of the map, in the order of the chosen offers."""
    return [f"{letter} · {offer}" for offer, letter in zip(job.cards, LETTERS, strict=False)]


def map_alt(found: Sequence[Cell], job: Job, axis: str) -> str:
    """The tipping map in words."""
    here = next((cell for cell in found if _is_here(cell, job)), None)
    counts = Counter(cell.offer or t("calculator.map_none") for cell in found)
    summary = t("common.semicolon").join(
        t("calculator.map_alt_cells", offer=offer, cells=number, all=len(found))
        for offer, number in counts.most_common()
    )
    return t(
        "calculator.map_alt", row=t(f"calculator.map_{axis}"), here=map_here(here), offers=summary
    )


def _is_here(cell: Cell, job: Job) -> bool:
    return (cell.frames, cell.size, cell.batch) == (job.frames, job.size, job.batch)


def map_here(cell: Cell | None) -> str:
    """What the map says at the visitor's own point."""
    if cell is None or cell.offer is None:
        return t("calculator.map_nowhere")
    word = "map_here_unpriced" if cell.usd is None else "map_here"
    return t(f"calculator.{word}", offer=cell.offer)


def costs(results: Sequence[OfferResult], job: Job) -> Rows:
    """Cost against time, for the offers that have both."""
    beside_h = shortest_h(results)
    return [
        {
            "offer": result.offer.text,
            "hours": result.hours.mid,
            "hours_low": result.hours.low,
            "hours_high": result.hours.high,
            "cost": in_currency(result.usd.mid, job),
            "cost_low": in_currency(result.usd.low, job),
            "cost_high": in_currency(result.usd.high, job),
            "time_text": f"{figures.hours(result, beside_h)} "
            f"({figures.hours_ends(result, beside_h)})",
            "cost_text": f"{figures.cost(result, job)} ({figures.cost_ends(result, job)})",
        }
        for result in results
        if result.hours and result.usd
    ]


def costs_alt(rows: Rows) -> str:
    """The cost chart in words."""
    summary = t("common.semicolon").join(
        t(
            "calculator.costs_alt_one",
            offer=row["offer"],
            cost=row["cost_text"],
            hours=row["time_text"],
        )
        for row in rows
    )
    return t("calculator.costs_alt", summary=summary)


def sweep(points: Sequence[SweepPoint]) -> Rows:
    """Speed against batch."""
    return [
        {
            "offer": point.offer,
            "batch": point.batch,
            "clips_per_s": point.clips_per_s,
            "how": trains_as(point.micro_batch, point.accumulation),
        }
        for point in points
    ]


def trains_as(micro_batch: int, accumulation: int) -> str:
    """ "8 clips at once" or "2 x 4 clips, accumulated"."""
    micro = say(clips(micro_batch))
    if accumulation == 1:
        return t("calculator.trains_once", micro=micro)
    return t("calculator.trains_parts", times=accumulation, micro=micro)


def sweep_alt(points: Sequence[SweepPoint]) -> str:
    """The speed chart in words."""
    by_offer = {point.offer: [p for p in points if p.offer == point.offer] for point in points}
    summary = t("common.semicolon").join(
        t("calculator.sweep_alt_one", offer=offer, first=f"{own[0].clips_per_s:.3g}",
          low=own[0].batch, last=f"{own[-1].clips_per_s:.3g}", high=own[-1].batch)
        for offer, own in by_offer.items()
    )  # fmt: skip
    return t("calculator.sweep_alt", summary=summary)
