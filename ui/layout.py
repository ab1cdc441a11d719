"""Where things stand on a page about a job: the answer, the inputs below it, then the rest.

The inputs are drawn here, the same ones for each such page: an input that each page drew itself
would start from its default on the next page. Most of a rerun's time is spent on what did not
change, in the browser more than in Python, so three things keep it short:

- what stands in the middle of the page is a fragment: moving the batch makes neither the header
  nor the sidebar again;
- once the inputs hold values the answer is made before them;
- what is folded is made when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import inputs
from ui.text import Language, language, use_language

SIDEBAR_SHOWS = "sidebar_shows"
"""Where a session keeps what its sidebar was last drawn with."""


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page about a job. show: draws it, except the inputs; cards: with the choice of cards."""

    show: Callable[[], None]
    cards: bool


_page: ContextVar[JobPage | None] = ContextVar("page", default=None)
_top: ContextVar[DeltaGenerator] = ContextVar("top")


def job_page(show: Callable[[], None], *, cards: bool) -> None:
    """Say that this run's page is about a job; `draw` draws it."""
    _page.set(JobPage(show, cards))


def top() -> DeltaGenerator:
    """The place above the inputs."""
    return _top.get()


def draw() -> None:
    """Draw this run's page, if it is about a job, with the inputs in the middle and the sidebar.

    Drawing an input can change its value: the first time it reads the address, which may hold more
    for later (a price for a card that is chosen only then). The script runs again after that.
    """
    page = _page.get()
    _page.set(None)
    if page is None:
        return
    st.session_state.pop(SIDEBAR_SHOWS, None)
    asked = inputs.read(page.cards)
    _middle(page, language())
    inputs.sidebar()
    held = inputs.read(page.cards)
    if held != asked:
        st.rerun()
    st.session_state[SIDEBAR_SHOWS] = inputs.beside(held or {})


@st.fragment
def _middle(page: JobPage, lang: Language) -> None:
    """The page without its sidebar; `alone` if only this runs, since an input in it changed."""
    alone = SIDEBAR_SHOWS in st.session_state
    if alone:
        use_language(lang)
        inputs.read(page.cards)
    asked = inputs.known()
    _top.set(st.container())
    controls, rest = st.container(), st.container()
    try:
        if asked is not None:
            with rest:
                page.show()
    finally:  # whatever the page comes to, its inputs stay
        with controls:
            inputs.main_controls(page.cards)
    if alone:
        _whole_if_needed(page, asked)


def _whole_if_needed(page: JobPage, asked: Mapping[str, Any] | None) -> None:
    """Run the whole script where the sidebar or the answer was made for other inputs than these.

    So it is after a choice of cards, since the sidebar has a price for each, and after the custom
    model was chosen or left.
    """
    held = inputs.read(page.cards)
    if held != asked or inputs.beside(held or {}) != st.session_state[SIDEBAR_SHOWS]:
        st.rerun()


def folded(label: str, key: str, show: Callable[[], None], icon: str | None = None) -> None:
    """A part of the page that is made when it is opened: closed, it costs a rerun nothing."""
    part = st.expander(label, key=key, icon=icon, on_change="rerun")
    if part.open:
        with part:
            show()
