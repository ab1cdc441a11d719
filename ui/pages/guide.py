"""The guide: what decides whether a model trains on a card."""

from __future__ import annotations

import streamlit as st

from ui import share
from ui.guide import SECTIONS
from ui.text import t

with st.container(width=1100, key="guide"):
    st.title(t("guide.title"), anchor=False)
    st.markdown(t("guide.intro"))
    names = [f"[{t(f'guide.{key}')}](#{key})" for key, _ in SECTIONS]
    st.markdown("\n".join(f"{number}. {name}" for number, name in enumerate(names, 1)))
    for key, show in SECTIONS:
        st.header(t(f"guide.{key}"), anchor=key, divider="gray")
        show()
    st.caption(t("common.version", **share.versions()))
