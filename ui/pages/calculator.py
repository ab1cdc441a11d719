"""The calculator: the answer, the cards side by side, the charts, what to take away."""

from __future__ import annotations

import streamlit as st

from calc.job import Job
from ui import hub_box, layout, sections, share
from ui.text import t


def show() -> None:
    """The page, except its inputs."""
    with layout.top():
        comparison = sections.answered()
        if comparison is not None:
            sections.headline(comparison)
    if comparison is None:
        sections.unanswered()
    else:
        sections.results(comparison)
    hub_box.show()
    sections.recipes(Job() if comparison is None else comparison.job)
    st.caption(t("common.version", **share.versions()))


layout.job_page(show, cards=True)
