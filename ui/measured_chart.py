"""Predicted against measured, as a Vega-Lite specification; no Streamlit in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import altair as alt

from ui.charts import INK, KEPT, Rows, Spec, built, filled, of, scale

COLOURS = (
    "#2673c9", "#c2570c", "#1f8a4c", "#9a4fc4", "#c63a4b", "#0f8592", "#86701c", "#66707e",
    "#b0477f", "#4a63d8",
)  # fmt: skip
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "arrow",
    "wedge", "triangle-right",
)  # fmt: skip


def chart(points: Rows, groups: Sequence[str], words: Mapping[str, str], ink: str) -> Spec:
    """Points around the diagonal, both axes logarithmic, in one unit.

    points: predicted, low, high, measured, group, name, ratio (as text). groups: in the order of
    the legend. words: predicted, measured, ratio: names of axes and tooltip.
    """
    spec = _chart(tuple(groups), words["predicted"], words["measured"], words["ratio"], ink)
    figures = [row[key] for row in points for key in ("predicted", "measured")]
    ends = [{"at": min(figures, default=1)}, {"at": max(figures, default=1)}]
    return filled(spec, points=points, diagonal=ends)


@lru_cache(KEPT)
def _chart(groups: tuple[str, ...], predicted: str, measured: str, ratio: str, ink: str) -> Spec:
    log = alt.Scale(type="log", nice=False, padding=12)
    x = alt.X("predicted:Q").title(predicted).scale(log)
    y = alt.Y("measured:Q").title(measured).scale(log)
    legend = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=110, symbolOpacity=1)
    colour = alt.Color("group:N").scale(scale(groups, COLOURS)).legend(legend)
    shape = alt.Shape("group:N").scale(scale(groups, SHAPES)).legend(legend)
    tips = [
        alt.Tooltip("name:N"), alt.Tooltip("predicted:Q").format(".3~g").title(predicted),
        alt.Tooltip("measured:Q").format(".3~g").title(measured),
        alt.Tooltip("ratio:N").title(ratio),
    ]  # fmt: skip
    points = of("points")
    diagonal = of("diagonal").mark_line(
        color=INK[ink], strokeDash=[4, 4], opacity=0.7
    ).encode(alt.X("at:Q").scale(log), alt.Y("at:Q").scale(log))  # fmt: skip
    wide = points.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
        alt.X("low:Q").scale(log), alt.X2("high:Q"), y, colour
    )
    dots = points.mark_point(size=70, filled=True, opacity=0.95).encode(
        x, y, colour, shape, tooltip=tips
    )
    return built(420, diagonal, wide, dots)
