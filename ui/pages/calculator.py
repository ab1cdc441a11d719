"""The calculator: the answer, the cards side by side, the charts, what to take away."""

from __future__ import annotations

import streamlit as st

from calc.job import Job
from ui import hub_box, layout, sections, share
from ui.text import t

with layout.top():
    comparison = sections.answered()
    if comparison is not None:
        sections.headline(comparison)
if comparison is not None:
    sections.model_line(comparison.job)
    sections.card_results(comparison)
    sections.sentences(comparison, "advice_title")
    left, right = st.columns(2)
    with left:
        sections.memory_figure(comparison.offers)
        sections.map_figure(comparison.job)
    with right:
        sections.timeline_figure(comparison.job, comparison.offers)
        sections.cost_figure(comparison)
    sections.sweep_figure(comparison.job)
    sections.sentences(comparison, "rules_title", "notes_title")
    sections.take_away(comparison)
hub_box.show()
sections.recipes(Job() if comparison is None else comparison.job)
st.caption(t("common.version", **share.versions()))
