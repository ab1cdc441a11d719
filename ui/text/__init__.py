"""Every text of the app, English and Chinese side by side, one file a page.

A file of this folder defines `TEXTS: dict[str, tuple[str, str]]`, each entry (English, Chinese).
`t("guide.intro", gib=1.6)` is the entry "intro" of `ui/text/guide.py` in the visitor's language,
with `{gib}` filled in. Options that go into links (models, cards, fp16 ...) are never translated.
"""

from __future__ import annotations

import importlib
import pkgutil
from contextvars import ContextVar
from typing import Literal

import streamlit as st

from calc.words import Message, render

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def _catalogue() -> dict[str, tuple[str, str]]:
    """All texts under "file.key", read off the files of this folder."""
    texts: dict[str, tuple[str, str]] = {}
    for module in pkgutil.iter_modules(__path__):
        file = importlib.import_module(f"{__name__}.{module.name}")
        texts |= {f"{module.name}.{key}": entry for key, entry in file.TEXTS.items()}
    return texts


CATALOGUE = _catalogue()

_chosen: ContextVar[Language] = ContextVar("language", default="en")
"""The language of the run that this thread makes; a lookup in the session would cost 20 times more."""


def text(key: str, lang: Language, /, **values: object) -> str:
    """One text in one language.

    >>> text("common.fits", "en"), text("common.fits", "zh")
    ('fits', '放得下')
    """
    english, chinese = CATALOGUE[key]
    entry = chinese if lang == "zh" else english
    return entry.format(**values) if values else entry


def language() -> Language:
    """The visitor's language; English before anything was chosen."""
    return _chosen.get()


def use_language(lang: str) -> None:
    """Write everything from here to the end of the run in this language."""
    _chosen.set("zh" if lang == "zh" else "en")


def browser_language() -> Language:
    """Chinese for browsers that ask for any kind of Chinese, else English."""
    locale = st.context.locale or "en"
    return "zh" if locale.lower().startswith("zh") else "en"


def t(key: str, /, **values: object) -> str:
    """One text in the visitor's language."""
    return text(key, language(), **values)


def say(message: Message) -> str:
    """A sentence that calc computed, in the visitor's language."""
    return render(message, language())
