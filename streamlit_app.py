"""ClipFit's app: page settings, language, navigation and the inputs that two pages share.

The pages are in `ui/pages`.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui import heap, inputs, layout, share
from ui.text import language, t

UI = Path(__file__).parent / "ui"
SIDEBAR_PX = 270
# The pages, the first one at the root of the address, each with its icon.
ICONS = {
    "calculator": "calculate",
    "cards": "view_list",
    "measurements": "science",
    "guide": "menu_book",
}

st.set_page_config(
    page_title="ClipFit",
    page_icon=str(UI / "icon.svg"),
    layout="wide",
    initial_sidebar_state=SIDEBAR_PX,
)
share.remember()
st.html(UI / "style.css")

with st.container(horizontal=True, vertical_alignment="center", key="header"):
    title = st.empty()
    inputs.language_choice()
# Screen readers and browsers' translators go by the page's language; Streamlit always says English.
st.html(
    f"<script>document.documentElement.lang = '{language()}'</script>",
    unsafe_allow_javascript=True,
)
title.markdown(f"**ClipFit** · {t('common.tagline')}", width="stretch")

PAGES = {
    name: st.Page(
        f"ui/pages/{name}.py",
        title=t(f"common.page_{name}"),
        icon=f":material/{icon}:",
        url_path=None if name == "calculator" else name,
        default=name == "calculator",
    )
    for name, icon in ICONS.items()
}
page = st.navigation(list(PAGES.values()), position="top")

page.run()
layout.draw()
heap.settle(page.url_path)
