"""The calculator: the answer, the cards side by side, the charts, what to take away."""

from __future__ import annotations

import streamlit as st

from calc.compare import Comparison
from calc.job import Job
from ui import hub_box, layout, sections, share
from ui.text import t


def show() -> None:
    """The page, except its inputs."""
    with layout.top():
        link_problems = st.container()
        found = sections.answered()
        if isinstance(found, Comparison):
            sections.headline(found)
    if isinstance(found, Comparison):
        sections.results(found)
    else:
        sections.unanswered(found)
    with link_problems:
        share.report()
    hub_box.show()
    sections.recipes(found.job if isinstance(found, Comparison) else Job())
    st.caption(t("common.version", **share.versions()))


layout.job_page(show, cards=True)
