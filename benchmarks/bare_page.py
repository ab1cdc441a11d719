"""A Streamlit page with the calculator's widgets, charts and texts, but nothing computed.

`app_speed` records what the calculator shows and has this page show the same constants: what it
takes longer than this page is ClipFit's own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import streamlit as st

UI = Path(__file__).parent.parent / "ui"
st.set_page_config(page_title="Bare", page_icon=str(UI / "icon.svg"), layout="wide")
st.html(UI / "style.css")

with open(os.environ["CLIPFIT_BARE"], encoding="utf-8") as file:
    ELEMENTS = json.load(file)


def nothing() -> None:
    """A page to be named in the navigation."""


names = ("Calculator", "All cards", "Measurements", "Guide")
pages = [st.Page(nothing, title=name, icon=":material/science:", url_path=name) for name in names]
st.navigation(pages, position="top").run()

main, side = st.container(), st.sidebar
for place, kind, words in ELEMENTS:
    getattr(side if place == "sidebar" else main, kind)(**words)
