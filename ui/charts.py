"""calc's results as charts: rows in, Altair charts out; no Streamlit in here.

Every encoding is a channel object (`alt.X("gib:Q")`): the keyword shorthand takes five times as
long to build. Colour never stands alone: parts are named in the bars, offers carry letters, shapes
and dashes. All colours have a contrast of 3:1 or more on the light and on the dark background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

PART_COLOURS: Mapping[str, str] = {
    "weights": "#2673c9",
    "gradients": "#1f8a4c",
    "optimizer": "#9a4fc4",
    "activations": "#c2570c",
    "temporaries": "#c63a4b",
    "ddp_buckets": "#0f8592",
    "ema": "#86701c",
    "extra": "#66707e",
    "calibration": "#b0477f",
}
OFFER_COLOURS = ("#2673c9", "#c2570c", "#1f8a4c", "#9a4fc4", "#c63a4b", "#66707e")
OFFER_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
OFFER_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 2])
LETTERS = "ABCDEF"
NONE_COLOUR = "#8f98a3"
INK = {"light": "#1b2330", "dark": "#e8ecf2"}
PAPER = {"light": "#ffffff", "dark": "#12161d"}

Rows = Sequence[Mapping[str, Any]]


def _data(rows: Rows) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def _scale(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(values[: len(names)]))


def _legend(columns: int) -> alt.Legend:
    return alt.Legend(title=None, orient="bottom", columns=columns, labelLimit=240)


def _sized(chart: Any, height: int) -> Any:
    return chart.properties(width="container", height=height)


def memory_chart(parts: Rows, limits: Rows, names: Mapping[str, str], gib: str, ink: str) -> Any:
    """Stacked parts of the peak per offer against what the card has to give.

    parts: offer, part, gib, order, label (empty where the bar is too short for one).
    limits: offer, gib, label. names: part -> name in the visitor's language.
    """
    offers = alt.Y("offer:N").sort(None).title(None).axis(alt.Axis(labelLimit=180))
    stacked = alt.X("gib:Q").stack("zero").title(gib)
    colour = alt.Color("name:N").scale(
        _scale(list(names.values()), [PART_COLOURS[part] for part in names])
    ).legend(_legend(4))  # fmt: skip
    bars = alt.Chart(_data(parts)).mark_bar(size=30, strokeWidth=1, stroke=PAPER[ink]).encode(
        offers, stacked, colour, alt.Order("order:O"),
        tooltip=[alt.Tooltip("offer:N"), alt.Tooltip("name:N"), alt.Tooltip("gib:Q").format(".2f")],
    )  # fmt: skip
    words = alt.Chart(_data(parts)).mark_text(color="white", fontSize=11).encode(
        offers, alt.X("gib:Q").stack("zero").bandPosition(0.5), alt.Text("label:N"), alt.Order("order:O")
    )  # fmt: skip
    ticks = alt.Chart(_data(limits)).mark_tick(thickness=3, size=46, color=INK[ink]).encode(
        offers, alt.X("gib:Q")
    )  # fmt: skip
    marks = alt.Chart(_data(limits)).mark_text(dy=-31, fontSize=11, color=INK[ink]).encode(
        offers, alt.X("gib:Q"), alt.Text("label:N")
    )  # fmt: skip
    height = 70 * len({row["offer"] for row in limits}) + 20
    return _sized(alt.layer(bars, words, ticks, marks), height)


def timeline_chart(
    moments: Rows, phases: Rows, limits: Rows, gib: str, progress: str, ink: str
) -> Any:
    """Memory through one step. moments: at, gib; phases: at, name; limits: offer, gib, label."""
    x = alt.X("at:Q").title(progress).scale(alt.Scale(domain=[0, 1])).axis(alt.Axis(format="%"))
    area = alt.Chart(_data(moments)).mark_area(
        color=PART_COLOURS["activations"], opacity=0.75, interpolate="step-after"
    ).encode(x, alt.Y("gib:Q").title(gib), tooltip=[alt.Tooltip("gib:Q").format(".2f")])  # fmt: skip
    borders = alt.Chart(_data(phases)).mark_rule(strokeDash=[3, 3], color=INK[ink]).encode(
        alt.X("ends:Q")
    )  # fmt: skip
    names = alt.Chart(_data(phases)).mark_text(
        align="left", baseline="top", dx=4, fontSize=11, color=INK[ink]
    ).encode(alt.X("at:Q"), alt.Text("name:N"), y=alt.value(2))  # fmt: skip
    lines = alt.Chart(_data(limits)).mark_rule(strokeWidth=2, color=INK[ink]).encode(alt.Y("gib:Q"))
    labels = alt.Chart(_data(limits)).mark_text(
        align="right", dy=-7, dx=-4, fontSize=11, color=INK[ink]
    ).encode(alt.Y("gib:Q"), alt.Text("label:N"), x=alt.value("width"))  # fmt: skip
    return _sized(alt.layer(area, borders, names, lines, labels), 260)


def tipping_chart(cells: Rows, here: Rows, offers: Sequence[str], none: str, words: Mapping[str, str],
                  ink: str) -> Any:  # fmt: skip
    """Which chosen offer is the cheapest that fits, for each batch and number of frames (or size).

    cells: batch, row, offer (or `none`), letter, usd; here: the visitor's own batch and row.
    """
    x = alt.X("batch:O").title(words["batch"]).axis(alt.Axis(labelAngle=0))
    y = alt.Y("row:O").title(words["row"]).sort("descending")
    colour = alt.Color("offer:N").scale(
        alt.Scale(domain=[*offers, none], range=[*OFFER_COLOURS[: len(offers)], NONE_COLOUR])
    ).legend(_legend(3))  # fmt: skip
    tips = [alt.Tooltip("offer:N"), alt.Tooltip("batch:O").title(words["batch"]),
            alt.Tooltip("row:O").title(words["row"]), alt.Tooltip("cost:N").title(words["cost"])]  # fmt: skip
    base = alt.Chart(_data(cells))
    tiles = base.mark_rect(stroke=PAPER[ink], strokeWidth=2).encode(x, y, colour, tooltip=tips)
    letters = base.mark_text(color="white", fontWeight="bold").encode(x, y, alt.Text("letter:N"))
    own = alt.Chart(_data(here)).mark_rect(
        filled=False, stroke=INK[ink], strokeWidth=4, cornerRadius=3
    ).encode(x, y)  # fmt: skip
    height = 34 * len({row["row"] for row in cells}) + 20
    return _sized(alt.layer(tiles, letters, own), max(height, 120))


def cost_chart(points: Rows, offers: Sequence[str], hours: str, cost: str, ink: str) -> Any:
    """Cost against time. points: offer, hours, hours_low, hours_high, cost, cost_low, cost_high."""
    base = alt.Chart(_data(points))
    colour = alt.Color("offer:N").scale(_scale(offers, OFFER_COLOURS)).legend(None)
    shape = alt.Shape("offer:N").scale(_scale(offers, OFFER_SHAPES)).legend(None)
    x = alt.X("hours:Q").title(hours).scale(alt.Scale(zero=True, nice=True))
    y = alt.Y("cost:Q").title(cost).scale(alt.Scale(zero=True, nice=True))
    tips = [alt.Tooltip("offer:N"), alt.Tooltip("time_text:N"), alt.Tooltip("cost_text:N")]
    dots = base.mark_point(size=170, filled=True, opacity=1).encode(x, y, colour, shape, tooltip=tips)
    wide = base.mark_rule(strokeWidth=2, opacity=0.7).encode(
        alt.X("hours_low:Q"), alt.X2("hours_high:Q"), alt.Y("cost:Q"), colour
    )
    high = base.mark_rule(strokeWidth=2, opacity=0.7).encode(
        alt.X("hours:Q"), alt.Y("cost_low:Q"), alt.Y2("cost_high:Q"), colour
    )
    names = base.mark_text(align="left", dx=10, dy=-10, fontSize=12, color=INK[ink]).encode(
        x, y, alt.Text("offer:N")
    )
    return _sized(alt.layer(wide, high, dots, names), 280)


def sweep_chart(points: Rows, here: Rows, offers: Sequence[str], words: Mapping[str, str], ink: str) -> Any:
    """Clips per second against the batch. points: offer, batch, clips_per_s; here: the batch chosen."""
    base = alt.Chart(_data(points))
    colour = alt.Color("offer:N").scale(_scale(offers, OFFER_COLOURS)).legend(_legend(2))
    dash = alt.StrokeDash("offer:N").scale(_scale(offers, OFFER_DASHES)).legend(_legend(2))
    shape = alt.Shape("offer:N").scale(_scale(offers, OFFER_SHAPES)).legend(_legend(2))
    x = alt.X("batch:Q").title(words["batch"]).scale(alt.Scale(type="log", base=2, nice=False))
    y = alt.Y("clips_per_s:Q").title(words["clips_per_s"]).scale(alt.Scale(zero=True))
    tips = [alt.Tooltip("offer:N"), alt.Tooltip("batch:Q"), alt.Tooltip("clips_per_s:Q").format(".3~g"),
            alt.Tooltip("how:N")]  # fmt: skip
    lines = base.mark_line(strokeWidth=2).encode(x, y, colour, dash)
    dots = base.mark_point(size=60, filled=True, opacity=1).encode(x, y, colour, shape, tooltip=tips)
    own = alt.Chart(_data(here)).mark_rule(color=INK[ink], strokeDash=[3, 3]).encode(alt.X("batch:Q"))
    return _sized(alt.layer(own, lines, dots), 280)
