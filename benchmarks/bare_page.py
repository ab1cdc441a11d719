"""A Streamlit page with the calculator's widgets, charts and texts, but nothing computed.

`app_speed` records what the calculator shows and has this page show the same constants: what it
takes longer than this page is ClipFit's own.
"""

from __future__ import annotations

import json
import os

import streamlit as st

st.set_page_config(page_title="Bare", layout="wide")

with open(os.environ["CLIPFIT_BARE"], encoding="utf-8") as file:
    ELEMENTS = json.load(file)

main, side = st.container(), st.sidebar
for place, kind, words in ELEMENTS:
    getattr(side if place == "sidebar" else main, kind)(**words)
