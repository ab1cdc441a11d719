"""All cards for the job: one sortable table, filters, CSV."""

from __future__ import annotations

import streamlit as st

from ui import inputs, layout, share, table
from ui.text import t


def show() -> None:
    """The page, except its inputs."""
    with layout.top():
        link_problems = st.container()
        st.markdown(f"### {t('cards.title')}")
        intro = st.empty()
    inputs.card_filters()
    job = table.job_of_all(inputs.view("count"))
    if job is not None:
        table.show(job, intro)
    with link_problems:
        share.report()
    st.caption(t("common.version", **share.versions()))


layout.job_page(show, cards=False)
