"""A comparison as JSON and as a table for the terminal."""

from __future__ import annotations

import dataclasses
import math
import unicodedata
from collections.abc import Sequence
from typing import Any

from calc import rules
from calc.compare import Comparison
from calc.estimate import Range
from calc.job import FIELDS
from calc.result import OfferResult, missing
from calc.words import Message, money, render

KINDS = ("allocated", "reserved", "cap", "calm")


def as_json(answer: Comparison, lang: str = "en") -> dict[str, Any]:
    """The stable JSON of `compare --json`; unknown is None, never 0."""
    return {
        "model_version": answer.model_version,
        "data_version": answer.data_version,
        "job": {field.key: getattr(answer.job, field.key) for field in FIELDS},
        "verdict": render(answer.verdict, lang),
        "rules": [_plain(rule, lang) for rule in answer.rules],
        "offers": [_offer(result, lang) for result in answer.offers],
        "advice": [_advice(piece, lang) for piece in answer.advice],
        "notes": [render(note, lang) for note in answer.notes],
    }


def _offer(result: OfferResult, lang: str) -> dict[str, Any]:
    memory = result.memory
    return {
        "card": result.offer.card.name,
        "count": result.offer.count,
        "fit": result.fit.state,
        "memory_gib": {kind: _plain(getattr(memory, kind), lang) for kind in KINDS},
        "usable_gib": result.usable_gib.mid,
        "needs_gib": result.needs_gib,
        "sure_gib": result.sure_gib,
        "parts_gib": dict(memory.parts_gib),
        "phase": memory.phase,
        "max_batch": result.max_batch,
        "micro_batch": result.micro_batch,
        "accumulation": result.accumulation,
        "clips_per_step": result.clips_per_step,
        "clips_per_s": _plain(result.clips_per_s, lang),
        "needs_clips_per_s": result.needs_clips_per_s,
        "hours": _plain(result.hours, lang),
        "usd": _plain(result.usd, lang),
        "kwh": _plain(result.kwh, lang),
        "price": _plain(result.price, lang),
        "basis": dict(result.basis),
    }


def _advice(piece: Any, lang: str) -> dict[str, Any]:
    return {
        "offer": piece.offer,
        "changes": dict(piece.changes),
        "micro_batch": piece.fit.micro_batch,
        "accumulation": piece.fit.accumulation,
        "time_factor": _plain(piece.time_factor, lang),
        "text": render(piece.text, lang),
    }


def _plain(value: Any, lang: str) -> Any:
    """Dataclasses as dicts, messages as sentences, infinity as None."""
    if isinstance(value, Message):
        return render(value, lang)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name), lang) for name in names}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def table(answer: Comparison, lang: str = "en") -> str:
    """The verdict, a line per offer, then rules, advice and notes."""
    head = [render(Message("column_" + name), lang) for name in COLUMNS]
    rows = [head, *(_row(answer, result, lang) for result in answer.offers)]
    lists = [
        ("list_rules", rules.lines(answer.rules)),
        ("list_advice", [piece.text for piece in answer.advice]),
        ("list_notes", list(answer.notes)),
    ]
    blocks = [render(answer.verdict, lang), _aligned(rows)]
    blocks += [_listed(key, found, lang) for key, found in lists if found]
    return "\n\n".join(blocks)


COLUMNS = (
    "offer", "fit", "peak", "needs", "usable", "max_batch", "runs_as", "speed",
    "hours", "cost", "basis",
)  # fmt: skip


def _row(answer: Comparison, result: OfferResult, lang: str) -> list[str]:
    job = answer.job
    no_cost = render(missing(result.trains, result.hours), lang)
    unknown = render(missing(result.trains, None), lang)
    runs_as = f"{result.accumulation} x {result.micro_batch}" if result.trains else "-"
    return [
        result.offer.text,
        render(Message("state_" + result.fit.state), lang),
        _spread(result.memory.allocated, ".1f"),
        f"{result.needs_gib:.1f} ({result.sure_gib:.1f})",
        f"{result.usable_gib.mid:.1f}",
        str(result.max_batch),
        runs_as,
        _spread(result.clips_per_s, ".3g") if result.clips_per_s else unknown,
        _spread(result.hours, ".0f") if result.hours else unknown,
        _cost(result.usd, job.currency, job.cny_per_usd) if result.usd else no_cost,
        _basis(result, lang),
    ]


def _basis(result: OfferResult, lang: str) -> str:
    words = dict.fromkeys(value for value in result.basis.values() if value)
    return " / ".join(render(Message("basis_" + word), lang) for word in words)


def _spread(value: Range, form: str) -> str:
    return f"{value.mid:{form}} ({value.low:{form}}-{value.high:{form}})"


def _cost(usd: Range, currency: str, cny_per_usd: float) -> str:
    low, mid, high = (money(value, currency, cny_per_usd) for value in (usd.low, usd.mid, usd.high))
    return f"{mid} ({low}-{high})"


def _listed(key: str, messages: Sequence[Message], lang: str) -> str:
    lines = [render(Message(key), lang), *(f"- {render(message, lang)}" for message in messages)]
    return "\n".join(lines)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to the widest cell, East Asian characters counted as two."""
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_padded(row, widths).rstrip() for row in rows)


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = zip(row, widths, strict=True)
    return "  ".join(cell + " " * (width - _width(cell)) for cell, width in cells)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


