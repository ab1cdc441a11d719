"""The parts of the measurements page; `ui/pages/measurements.py` puts them in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from bench import agreement
from bench.agreement import Agreement
from bench.check import Context, describe
from calc import repository
from calc.estimate import Range
from calc.runs import Measured
from ui import accuracy_view, measured_chart, published
from ui.data import data
from ui.sections import ink
from ui.text import language, t
from ui.upload import Uploaded, check_upload

CONTEXT_S = 600
"""How long what uploads are checked against is kept: today's date is in it."""
UPLOAD_MIB = 1
ARCHITECTURE_PX = 230
"""Leaves room on a desktop for what the table is about: published, predicted, their ratio."""


@st.cache_resource(ttl=CONTEXT_S, show_spinner=False)
def _context() -> Context:
    return Context.load()


# Upload


def upload() -> None:
    """Take a run file, say what is wrong with it, or how it compares and where it belongs."""
    st.markdown(t("measurements.upload_what"))
    given = st.file_uploader(
        t("measurements.upload_label"), type=["yaml", "yml"], max_upload_size=UPLOAD_MIB,
        key="run_file",
    )  # fmt: skip
    if given is None:
        return
    found = check_upload(given.name, given.getvalue(), _context(), language())
    _verdict(found)
    if found.checked.rows:
        beside(
            found.checked.rows, "upload", lambda row: row.measured.row.checkpointing,
            t("measurements.upload_table"),
        )  # fmt: skip
    if found.is_good:
        _pull_request(found)


def _verdict(found: Uploaded) -> None:
    if found.is_good:
        st.success(t("measurements.upload_good"), icon=":material/check_circle:")
    else:
        st.error(t("measurements.upload_bad"), icon=":material/error:")
        st.code("\n".join(found.problems), language=None, wrap_lines=True)
    if found.warnings:
        st.caption(t("measurements.upload_warnings"))
        st.code("\n".join(found.warnings), language=None, wrap_lines=True)
    if found.checked.is_outside:
        st.info(t("measurements.upload_outside"), icon=":material/science:")


def beside(rows: Sequence[Agreement], key: str, by: Callable[[Agreement], str], alt: str) -> None:
    """Memory and time of measured rows against their predictions, in groups, then the table."""
    memory = [point for row in rows if (point := memory_point(row, by(row)))]
    time = [point for row in rows if (point := time_point(row, by(row)))]
    for column, points, unit in zip(st.columns(2), (memory, time), ("gib", "s"), strict=True):
        with column:
            if points:
                st.markdown(f"**{t(f'measurements.agreement_{_PLOT[unit]}')}**")
                plot(points, unit, f"{key}_{unit}", t("measurements.agreement_runs"))
    run_table(rows, alt)


def _pull_request(found: Uploaded) -> None:
    names = {"name": f"`{found.name}`", "folder": f"`{found.folder}`"}
    with st.container(horizontal=True):
        st.link_button(
            t("measurements.pull_request"), found.link, icon=":material/merge:", type="primary"
        )
        st.download_button(
            t("measurements.download"), found.content, found.name, "application/yaml",
            icon=":material/download:", on_click="ignore",
        )  # fmt: skip
    st.caption(t("measurements.pull_request_how", **names))


# Points and plots

_PLOT = {"gib": "memory", "s": "time"}


def memory_point(row: Agreement, group: str) -> dict[str, Any] | None:
    """A row's peak in GiB beside its prediction; None where either is not known."""
    if row.memory_ratio is None or row.formula_gib is None:
        return None
    return _point(row, group, row.measured.allocated_gib, row.formula_gib, row.memory_ratio)


def time_point(row: Agreement, group: str) -> dict[str, Any] | None:
    """A row's step in seconds beside its prediction; None where either is not known."""
    if row.time_ratio is None or row.formula_s is None:
        return None
    return _point(row, group, row.measured.step_s, row.formula_s, row.time_ratio)


def _point(
    row: Agreement, group: str, measured: float | None, predicted: Range, ratio: float
) -> dict[str, Any]:
    one = row.measured
    return {
        "predicted": predicted.mid, "low": predicted.low, "high": predicted.high,
        "measured": measured, "group": group, "ratio": f"{ratio:.2f}",
        "name": f"{one.run.model} {one.run.precision} {describe(one)}",
    }  # fmt: skip


def plot(points: Sequence[dict[str, Any]], unit: str, key: str, alt: str) -> None:
    """Predicted against measured; unit: gib or s."""
    words = {
        "predicted": t(f"measurements.predicted_{unit}"),
        "measured": t(f"measurements.measured_{unit}"),
        "ratio": t("measurements.ratio"),
    }
    groups = sorted({point["group"] for point in points})
    spec = measured_chart.chart(points, groups, words, ink())
    st.vega_lite_chart(spec, key=f"chart_{key}", alt=alt)


# Published figures


def agreement_plot() -> None:
    """Every published peak of high or medium confidence beside its prediction."""
    points, overall = published.points(), published.overall()
    if overall is None:
        st.caption(t("measurements.published_none"))
        return
    alt = t("measurements.agreement_alt", rows=overall.n, median=overall.median)
    plot(points, "mib", "agreement", alt)
    st.caption(t("measurements.agreement_caption"))
    accuracy_view.memory_table()
    accuracy_view.speed_table("measurements")


def published_table() -> None:
    """All published rows with their sources: memory or speed, as chosen."""
    kinds = ("memory", "speed")
    kind = st.segmented_control(
        t("measurements.published_kind"), kinds, default="memory", required=True,
        format_func=lambda kind: t(f"measurements.published_{kind}"), key="published_kind",
    )  # fmt: skip
    columns = published.table() if kind == "memory" else published.speed_table()
    rows = len(columns["source"])
    if not rows:
        st.caption(t("measurements.published_none"))
        return
    config: dict[str, Any] = {key: t(f"measurements.column_{key}") for key in columns}
    for key, form in _FORMATS.items():
        if key in columns:
            config[key] = st.column_config.NumberColumn(config[key], format=form)
    if "arch" in columns:
        config["arch"] = st.column_config.TextColumn(config["arch"], width=ARCHITECTURE_PX)
    config["source"] = st.column_config.LinkColumn(
        config["source"], display_text=t("measurements.open")
    )
    st.dataframe(
        pd.DataFrame(columns), hide_index=True, column_config=config,
        alt=t("measurements.published_alt", rows=rows), key=f"published_{kind}",
    )  # fmt: skip


_FORMATS = {"mib": "%.0f", "formula_mib": "%.0f", "ratio": "%.3f", "throughput": "%.4g"}


# Tables


def run_table(rows: Sequence[Agreement], alt: str) -> None:
    """Measured rows beside their predictions; cells are plain text."""
    columns: dict[str, list[Any]] = {
        "card": [row.measured.run.card for row in rows],
        "model": [row.measured.run.model for row in rows],
        "precision": [row.measured.run.precision for row in rows],
        "point": [describe(row.measured) for row in rows],
        "status": [_status(row) for row in rows],
        "gib": [row.measured.allocated_gib for row in rows],
        "formula_gib": [row.formula_gib and row.formula_gib.mid for row in rows],
        "ratio_gib": [row.memory_ratio for row in rows],
        "s": [row.measured.step_s for row in rows],
        "formula_s": [row.formula_s and row.formula_s.mid for row in rows],
        "ratio_s": [row.time_ratio for row in rows],
        "date": [row.measured.run.date for row in rows],
        "who": [row.measured.run.who for row in rows],
        "torch": [row.measured.run.environment.torch for row in rows],
        "driver": [row.measured.run.environment.driver for row in rows],
        "file": [_link(row.measured) for row in rows],
    }
    numbers = ("gib", "formula_gib", "ratio_gib", "s", "formula_s", "ratio_s")
    config: dict[str, Any] = {
        key: st.column_config.NumberColumn(t(f"measurements.column_{key}"), format="%.2f")
        for key in numbers
    }
    config |= {
        key: t(f"measurements.column_{key}") for key in columns if key not in (*numbers, "file")
    }
    config["file"] = st.column_config.LinkColumn(
        t("measurements.column_file"), display_text=t("measurements.open")
    )
    st.dataframe(pd.DataFrame(columns), hide_index=True, column_config=config, alt=alt)


def _status(row: Agreement) -> str:
    words = [t(f"measurements.status_{row.measured.row.status}")]
    words += [t("measurements.pending")] if row.measured.state == "pending" else []
    words += [t("measurements.outside")] if row.outside else []
    return t("common.comma").join(words)


def _link(one: Measured) -> str | None:
    """The file on GitHub; None for an upload."""
    return repository.file_link(f"measurements/runs/{one.file}") if "/" in one.file else None


@st.cache_resource(show_spinner=False)
def stored_rows() -> tuple[Agreement, ...]:
    """Every stored row beside its prediction by formula."""
    known = data()
    return tuple(
        agreement.compare(
            one,
            known.cards.get(one.run.card),
            known.profile(one.run.model) if one.run.model in known.models else None,
        )
        for one in known.runs.rows
    )


def measured_runs() -> None:
    """The table of everything people have sent in."""
    rows = stored_rows()
    if rows:
        alt = t("measurements.runs_alt", rows=len(rows))
        beside(rows, "runs", lambda row: row.measured.run.card, alt)
    else:
        st.info(t("measurements.runs_none"), icon=":material/science:")
