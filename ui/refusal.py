"""Where there is no answer to the inputs: the reason, and links to what is nearest to them."""

from __future__ import annotations

import contextlib

import streamlit as st

from calc import words
from calc.profile import NotTraced
from calc.words import Refused
from ui import inputs, share
from ui.text import language, say, t


def show(error: ValueError) -> None:
    """The reason in the visitor's language; where it was not traced, what was."""
    icon = "search_off" if isinstance(error, NotTraced) else "error"
    st.error(sentence(error), icon=f":material/{icon}:")
    if isinstance(error, NotTraced):
        _nearest(error)


def sentence(error: ValueError) -> str:
    """Why there is no answer."""
    if isinstance(error, NotTraced):
        return say(error.message)
    if isinstance(error, Refused):
        return t("inputs.bad_job", problem=say(error.message))
    return t("inputs.bad_job", problem=error) if inputs.value("cards") else t("inputs.no_cards")


def _nearest(error: NotTraced) -> None:
    """Links to the nearest traced settings."""
    with contextlib.suppress(ValueError):
        queries = share.queries(inputs.job(), language(), error.nearest)
        links = [
            f"[{say(words.inputs(changes))}](?{query})"
            for changes, query in zip(error.nearest, queries, strict=True)
        ]
        st.markdown(t("inputs.nearest", links=" · ".join(links)))
