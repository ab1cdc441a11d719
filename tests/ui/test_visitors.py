"""Many visitors at once: each gets the answer to their own job, in their own language."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from calc.compare import compare
from calc.job import Job
from calc.words import render
from tools.serve import serve
from tools.visitor import Visitor
from ui.data import data
from ui.figures import as_markdown

VISITORS = 50 if os.environ.get("CLIPFIT_LONG") else 8
CHANGES = 5


def expected(batch: int, lang: str) -> str:
    return as_markdown(render(compare(Job(batch=batch), data()).verdict, lang))


async def visit(url: str, number: int) -> None:
    """Open the page, change the batch a few times, and hold each answer against calc's."""
    lang, batch = ("en", "zh")[number % 2], 1 + number
    visitor = await Visitor.open(url, f"lang={lang}&batch={batch}")
    assert visitor.headline() == expected(batch, lang)
    for turn in range(CHANGES):
        batch = 1 + (number * CHANGES + 7 * turn) % 96
        await visitor.set_number("batch", batch)
        assert visitor.headline() == expected(batch, lang)
    await visitor.close()


async def visit_together(url: str) -> None:
    await asyncio.gather(*(visit(url, number) for number in range(VISITORS)))


def test_nobody_gets_somebody_elses_answer() -> None:
    """In a thread of its own: Playwright keeps an event loop running in this one."""
    with serve() as served, ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(visit_together(served.url))).result()
