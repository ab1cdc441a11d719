"""Every figure ClipFit is held against, and a place to check one's own."""

from __future__ import annotations

import streamlit as st

from ui import measured, share
from ui.text import t

st.title(t("measurements.title"), anchor=False)
st.markdown(t("measurements.intro"))
st.header(t("measurements.agreement"), anchor="agreement", divider="gray")
measured.agreement_plot()
st.header(t("measurements.upload"), anchor="upload", divider="gray")
measured.upload()
st.header(t("measurements.runs"), anchor="runs", divider="gray")
measured.measured_runs()
st.header(t("measurements.published"), anchor="published", divider="gray")
measured.published_table()
st.caption(t("common.version", **share.versions()))
