"""The place above the inputs, where a page says its answer.

The inputs are drawn by the entry script, the same ones for every page that has a job: an input
that each page drew itself would start from its default on the next page.
"""

from __future__ import annotations

from contextvars import ContextVar

from streamlit.delta_generator import DeltaGenerator

_top: ContextVar[DeltaGenerator] = ContextVar("top")


def reserve(place: DeltaGenerator) -> None:
    """Keep a place above the inputs for this run's page."""
    _top.set(place)


def top() -> DeltaGenerator:
    """The place above the inputs."""
    return _top.get()
