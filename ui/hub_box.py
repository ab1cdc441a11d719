"""The Hub look-up on the calculator page: call `show()` once, after the inputs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calc import custom, hub_map
from calc.job import Job
from ui import inputs, layout
from ui.data import model_names
from ui.hub import Found, HubProblem, look_up
from ui.plain import code
from ui.text import t

KEPT_S = 3600
"""How long an answer of the Hub is kept; problems are not kept, so that a second try asks again."""

RESULT = "hub_result"


@st.cache_resource(ttl=KEPT_S, max_entries=200, show_spinner=False)
def _cached(model_id: str, available: tuple[str, ...]) -> Found:
    return look_up(model_id, available)


def _look_up() -> None:
    try:
        model_id = str(st.session_state.get("hub_id", "")).strip()
        st.session_state[RESULT] = _cached(model_id, model_names())
    except HubProblem as problem:
        st.session_state[RESULT] = problem


def _use(found: Found) -> None:
    for key, value in found.mapped.values.items():
        st.session_state[key] = value


def sentence(problem: HubProblem) -> str:
    """A problem in the visitor's language; what came from outside stands as code."""
    params = {"known": ", ".join(hub_map.KNOWN)} | {
        key: code(value) if isinstance(value, str) else value
        for key, value in problem.params.items()
    }
    return t(f"hub.{problem.word}", **params)


def show() -> None:
    """A box to type a model id into, what was read, and a button that sets the inputs."""
    layout.folded(t("hub.title"), "open_hub", _box, icon=":material/search:")


def _box() -> None:
    st.caption(t("hub.what"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            t("hub.id"), key="hub_id", placeholder="MCG-NJU/videomae-base", max_chars=200,
            persist_state="session",
        )  # fmt: skip
        st.button(t("hub.look_up"), key="hub_look_up", on_click=_look_up)
    result = st.session_state.get(RESULT)
    if isinstance(result, HubProblem):
        st.warning(sentence(result), icon=":material/search_off:")
    elif result is not None:
        _found(result)


def _found(found: Found) -> None:
    mapped = found.mapped
    word = "hub.as_custom" if mapped.model == "custom" else "hub.as_profile"
    names = {"id": found.model_id, "architecture": mapped.architecture, "model": mapped.model}
    st.markdown(t(word, **{key: code(name) for key, name in names.items()}))
    st.markdown(" ".join((_params(found), *_sliders(mapped))))
    for note in mapped.notes:
        st.caption(t(f"hub.note_{note}"))
    _table(found)
    st.button(t("hub.use"), key="hub_use", type="primary", on_click=_use, args=(found,))
    if all(inputs.value(key) == value for key, value in mapped.values.items()):
        st.success(t("hub.used"))


def _params(found: Found) -> str:
    if found.params_problem is not None:
        return t("hub.no_params", why=sentence(found.params_problem))
    dtypes = ", ".join(code(dtype) for dtype in found.dtypes)
    return t("hub.params", millions=hub_map.millions(found.params or 0), dtypes=dtypes)


def _sliders(mapped: hub_map.Mapped) -> tuple[str, ...]:
    """How many parameters the sliders make, to be held against those that were counted."""
    if mapped.model != "custom":
        return ()
    try:
        params = custom.profile(Job(**dict(mapped.values))).params  # type: ignore[arg-type]
    except ValueError:  # figures that do not divide; the calculator says which
        return ()
    return (t("hub.sliders", millions=hub_map.millions(params)),)


def _table(found: Found) -> None:
    read = found.mapped.read
    columns = {
        t("hub.column_name"): [name for name, _ in read],
        t("hub.column_value"): [str(value) for _, value in read],
    }
    alt = t("hub.table", id=found.model_id)
    st.dataframe(pd.DataFrame(columns), hide_index=True, width="content", alt=alt)
    files = ", ".join(code(name) for name, _ in found.files)
    st.caption(t("hub.read_from", files=files, commit=code(found.commit[:10])))
