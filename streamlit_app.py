"""ClipFit's app: page settings, language and navigation. The pages are in `ui/pages`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui import inputs, share
from ui.text import t

SIDEBAR_PX = 270

st.set_page_config(
    page_title="ClipFit",
    page_icon=":material/movie:",
    layout="wide",
    initial_sidebar_state=SIDEBAR_PX,
)
share.remember()

with st.container(horizontal=True, vertical_alignment="center", key="header"):
    title = st.empty()
    inputs.language_choice()
title.markdown(f"**ClipFit** · {t('common.tagline')}", width="stretch")

PAGES = ("calculator", "cards", "measurements", "guide")
ICONS = dict(zip(PAGES, ("calculate", "view_list", "science", "menu_book"), strict=True))

st.navigation(
    [
        st.Page(
            f"ui/pages/{name}.py",
            title=t(f"common.page_{name}"),
            icon=f":material/{ICONS[name]}:",
            url_path=None if name == "calculator" else name,
            default=name == "calculator",
        )
        for name in PAGES
        if Path(__file__).with_name("ui").joinpath("pages", f"{name}.py").exists()
    ],
    position="top",
).run()
