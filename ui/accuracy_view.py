"""How close the figures are: the tables of `python -m calc accuracy` on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from calc import accuracy_ladder, accuracy_reports, accuracy_speed
from calc.accuracy_memory import Summary
from calc.accuracy_speed import Score
from calc.card import slug
from ui import published
from ui.text import CATALOGUE, t


def _table(columns: Mapping[str, list[str]], alt: str) -> None:
    st.table(pd.DataFrame(dict(columns)), hide_index=True, border="horizontal", alt=alt)


# Memory


def memory_table() -> None:
    """Errors of peak memory by backbone group and precision, with n beside every figure."""
    groups = {name: found for name, found in published.by_group().items() if found}
    overall = published.overall()
    if overall is None:
        st.caption(t("measurements.published_none"))
        return
    rows = {**groups, t("measurements.all_rows"): overall}
    _table(_memory_columns(rows), t("measurements.accuracy_alt"))
    low, high = overall.coverage
    words = {"n": overall.n, "covered": overall.covered, "low": low, "high": high}
    st.caption(t("measurements.accuracy_caption", **words))
    _ladder()
    _reports()
    st.caption(t("measurements.not_validated"))


def _memory_columns(rows: Mapping[str, Summary]) -> dict[str, list[str]]:
    return {
        t("measurements.column_family"): list(rows),
        "n": [str(found.n) for found in rows.values()],
        t("measurements.column_median"): [f"{found.median:.1%}" for found in rows.values()],
        t("measurements.column_p90"): [f"{found.p90:.1%}" for found in rows.values()],
        t("measurements.column_worst"): [f"{found.worst:.1%}" for found in rows.values()],
        t("measurements.column_under"): [f"{found.under:.0%}" for found in rows.values()],
        t("measurements.column_covered"): [f"{f.covered} / {f.n}" for f in rows.values()],
    }


def _ladder() -> None:
    """The largest batch on a 24 GB card, against what really ran."""
    found = accuracy_ladder.report()
    if found is not None:
        held_out = found["held_out"]
        words = {key: getattr(held_out, key) for key in ("n", "exact", "too_large", "within_one")}
        st.caption(t("measurements.ladder", **words))


def _reports() -> None:
    """What users reported, "it fits" or "out of memory", against the trace of the same step."""
    found = accuracy_reports.report()
    decided = [report.right for report in found or () if report.right is not None]
    if found and decided:
        words = {"right": sum(decided), "decided": len(decided), "all": len(found)}
        st.caption(t("measurements.reports", **words))


# Speed


@st.cache_resource(show_spinner=False)
def _speed_report() -> dict[str, Any]:
    return accuracy_speed.report()


def speed_table(key: str) -> None:
    """Errors of speed; graded when asked for, since it takes some seconds the first time."""
    if not st.toggle(t("measurements.speed_show"), key=f"{key}_speed_accuracy"):
        return
    with st.spinner(t("measurements.speed_grading")):
        found = _speed_report()
    scores = {name: one for name, one in found["scores"].items() if one is not None}
    _table(_speed_columns(scores), t("measurements.speed_alt"))
    shown = "speed_shown" if found["traceable"]["shown"] else "speed_not_shown"
    words = {key: found["traceable"][key] for key in ("n", "needed")}
    st.caption(t(f"measurements.{shown}", **words))


def _speed_columns(scores: Mapping[str, Score]) -> dict[str, list[str]]:
    return {
        t("measurements.column_claim"): [_claim(name) for name in scores],
        "n": [str(one.n) for one in scores.values()],
        t("measurements.column_median"): [f"{one.median:.0%}" for one in scores.values()],
        t("measurements.column_mean"): [f"{one.mean:.0%}" for one in scores.values()],
        t("measurements.column_p90"): [f"{one.p90:.0%}" for one in scores.values()],
        t("measurements.column_worst"): [f"{one.worst:.0%}" for one in scores.values()],
        t("measurements.column_covered"): [_covered(one) for one in scores.values()],
    }


def _claim(name: str) -> str:
    """A claim in the visitor's language; as calc calls it where there is no translation."""
    key = "measurements.claim_" + slug(name).replace("-", "_")
    return t(key) if key in CATALOGUE else name


def _covered(one: Score) -> str:
    return t("common.unknown") if one.covered is None else f"{one.covered} / {one.n}"
