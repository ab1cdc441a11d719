"""How close the figures are: the table by group, on the guide and the measurements page."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from calc.accuracy_memory import Summary
from ui import published
from ui.text import t


def memory_table() -> None:
    """Errors of peak memory by backbone group and precision, with n beside every figure."""
    groups = {name: found for name, found in published.by_group().items() if found}
    overall = published.overall()
    if overall is None:
        st.caption(t("measurements.published_none"))
        return
    rows = {**groups, t("measurements.all_rows"): overall}
    st.table(
        pd.DataFrame(_columns(rows)), hide_index=True, border="horizontal",
        alt=t("measurements.accuracy_alt"),
    )  # fmt: skip
    low, high = overall.coverage
    words = {"n": overall.n, "covered": overall.covered, "low": low, "high": high}
    st.caption(t("measurements.accuracy_caption", **words))
    st.caption(t("measurements.not_validated"))


def _columns(rows: Mapping[str, Summary]) -> dict[str, list[str]]:
    return {
        t("measurements.column_family"): list(rows),
        "n": [str(found.n) for found in rows.values()],
        t("measurements.column_median"): [f"{found.median:.1%}" for found in rows.values()],
        t("measurements.column_p90"): [f"{found.p90:.1%}" for found in rows.values()],
        t("measurements.column_worst"): [f"{found.worst:.1%}" for found in rows.values()],
        t("measurements.column_under"): [f"{found.under:.0%}" for found in rows.values()],
        t("measurements.column_covered"): [f"{f.covered} / {f.n}" for f in rows.values()],
    }
