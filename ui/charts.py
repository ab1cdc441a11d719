"""calc's results as charts: rows in, Vega-Lite specifications out; no Streamlit in here.

Each chart is built by Altair once for its words and colours and kept; a rerun only puts the rows
in, which is many times faster than building it anew. Every encoding is a channel object
(`alt.X("gib:Q")`): the keyword shorthand takes five times as long to build. Colour never stands
alone: parts are named in the bars, offers carry letters, shapes and dashes. All colours have a
contrast of 3:1 or more on the light and on the dark background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
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
NONE_COLOUR = "#7f8894"
INK = {"light": "#1b2330", "dark": "#e8ecf2"}
PAPER = {"light": "#ffffff", "dark": "#12161d"}
KEPT = 256
"""Built charts kept: languages x themes x choices of cards; a few kB each."""

Rows = Sequence[Mapping[str, Any]]
Spec = dict[str, Any]
Names = tuple[str, ...]


def of(name: str) -> alt.Chart:
    """A chart of rows that `filled` puts in later."""
    return alt.Chart(alt.NamedData(name))


def built(height: int, *layers: alt.Chart) -> Spec:
    """The layers as one specification, validated."""
    parts = [layer.to_dict() for layer in layers]
    for part in parts:
        part.pop("$schema", None)
        part.pop("config", None)
    return {"layer": parts, "width": "container", "height": height}


def filled(spec: Spec, height: int | None = None, **rows: Rows) -> Spec:
    """The specification with its rows."""
    layers = [{**layer, "data": {"values": rows[layer["data"]["name"]]}} for layer in spec["layer"]]
    return {**spec, "layer": layers, "height": height or spec["height"]}


def scale(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    """Names in their order, each with its colour, shape or dash; these repeat if there are more."""
    return alt.Scale(domain=list(names), range=[values[i % len(values)] for i in range(len(names))])


def _legend(columns: int) -> alt.Legend:
    return alt.Legend(
        title=None, orient="bottom", columns=columns, labelLimit=240,
        symbolStrokeWidth=0,  # a dashed line's symbol would have notches
    )  # fmt: skip


def memory_chart(parts: Rows, limits: Rows, names: Mapping[str, str], gib: str, ink: str) -> Spec:
    """Stacked parts of the peak per offer against what the card has to give.

    parts: offer, name, gib, order, label (empty where the bar is too short for one).
    limits: offer, gib, peak, needs, label. names: part -> name in the visitor's language.
    """
    spec = _memory(tuple(names), tuple(names.values()), gib, ink)
    return filled(spec, 78 * len(limits) + 40 + 24 * len(names), parts=parts, limits=limits)


@lru_cache(KEPT)
def _memory(keys: Names, names: Names, gib: str, ink: str) -> Spec:
    offers = alt.Y("offer:N").sort(None).title(None).axis(alt.Axis(labelLimit=150))
    stacked = alt.X("gib:Q").stack("zero").title(gib)
    colours = scale(names, [PART_COLOURS[key] for key in keys])
    tips = [alt.Tooltip("offer:N"), alt.Tooltip("name:N"), alt.Tooltip("gib:Q").format(".2f")]
    bars = of("parts").mark_bar(size=30, strokeWidth=1, stroke=PAPER[ink]).encode(
        offers, stacked, alt.Color("name:N").scale(colours).legend(_legend(2)),
        alt.Order("order:Q"), tooltip=tips,
    )  # fmt: skip
    words = of("parts").mark_text(color="white", fontSize=11).encode(
        offers, stacked.bandPosition(0.5), alt.Text("label:N"), alt.Order("order:Q"),
        alt.Detail("name:N"),
    )  # fmt: skip
    ticks = of("limits").mark_tick(thickness=3, size=46, color=INK[ink]).encode(
        offers, alt.X("gib:Q")
    )  # fmt: skip
    marks = of("limits").mark_text(dy=-31, fontSize=11, color=INK[ink]).encode(
        offers, alt.X("gib:Q"), alt.Text("label:N")
    )  # fmt: skip
    gaps = of("limits").mark_rule(strokeWidth=2, strokeDash=[3, 2], color=INK[ink]).encode(
        offers, alt.X("peak:Q"), alt.X2("needs:Q")
    )  # fmt: skip
    return built(160, bars, words, gaps, ticks, marks)


def timeline_chart(
    moments: Rows, phases: Rows, limits: Rows, gib: str, progress: str, ink: str
) -> Spec:
    """Memory through one step. moments: at, gib; phases: name, at, ends; limits: gib, label."""
    spec = _timeline(gib, progress, ink)
    by_height = sorted(limits, key=lambda limit: limit["gib"])  # neighbours have not one corner
    return filled(
        spec, moments=moments, phases=phases[:-1], last=phases[-1:], limits=limits,
        left=by_height[::2], right=by_height[1::2],
    )  # fmt: skip


@lru_cache(KEPT)
def _timeline(gib: str, progress: str, ink: str) -> Spec:
    x = alt.X("at:Q").title(progress).scale(alt.Scale(domain=[0, 1])).axis(alt.Axis(format="%"))
    area = of("moments").mark_area(
        color=PART_COLOURS["activations"], opacity=0.75, interpolate="step-after"
    ).encode(
        x, alt.Y("gib:Q").title(gib), tooltip=[alt.Tooltip("gib:Q").format(".2f")]
    )  # fmt: skip
    text: dict[str, Any] = {"baseline": "bottom", "dy": -4, "fontSize": 11, "color": INK[ink]}
    names = of("phases").mark_text(align="left", dx=4, **text).encode(
        alt.X("at:Q"), alt.Text("name:N"), y=alt.datum(0)
    )  # fmt: skip
    last = of("last").mark_text(align="right", dx=-4, **text).encode(
        alt.X("ends:Q"), alt.Text("name:N"), y=alt.datum(0)
    )  # fmt: skip
    borders = of("phases").mark_rule(strokeDash=[3, 3], color=INK[ink]).encode(alt.X("ends:Q"))
    lines = of("limits").mark_rule(strokeWidth=2, color=INK[ink]).encode(alt.Y("gib:Q"))
    left = of("left").mark_text(align="left", dx=4, **text).encode(
        alt.Y("gib:Q"), alt.Text("label:N"), x=alt.value(0)
    )  # fmt: skip
    right = of("right").mark_text(align="right", dx=-4, **text).encode(
        alt.Y("gib:Q"), alt.Text("label:N"), x=alt.value("width")
    )  # fmt: skip
    return built(300, area, borders, names, last, lines, left, right)


def tipping_chart(
    cells: Rows, here: Rows, offers: Sequence[str], none: str, words: Mapping[str, str], ink: str
) -> Spec:
    """Which chosen offer is the cheapest that fits, for each batch and number of frames (or size).

    cells: batch, row, offer (or `none`), letter, cost; here: the visitor's own batch and row.
    words: batch, row, cost: titles.
    """
    spec = _tipping(tuple(offers), none, words["batch"], words["row"], words["cost"], ink)
    height = 36 * len({row["row"] for row in cells}) + 170 + 12 * len(offers)
    return filled(spec, height, cells=cells, here=here)


@lru_cache(KEPT)
def _tipping(offers: Names, none: str, batch: str, row: str, cost: str, ink: str) -> Spec:
    x = alt.X("batch:O").title(batch).axis(alt.Axis(labelAngle=0))
    y = alt.Y("row:O").title(row).sort("descending")
    colours = alt.Scale(domain=[*offers, none], range=[*OFFER_COLOURS[: len(offers)], NONE_COLOUR])
    tips = [alt.Tooltip("offer:N"), alt.Tooltip("batch:O").title(batch),
            alt.Tooltip("row:O").title(row), alt.Tooltip("cost:N").title(cost)]  # fmt: skip
    tiles = of("cells").mark_rect(stroke=PAPER[ink], strokeWidth=2).encode(
        x, y, alt.Color("offer:N").scale(colours).legend(_legend(2)), tooltip=tips
    )  # fmt: skip
    letters = of("cells").mark_text(color="white", fontWeight="bold").encode(
        x, y, alt.Text("letter:N")
    )  # fmt: skip
    own = of("here").mark_rect(
        filled=False, stroke=INK[ink], strokeWidth=4, cornerRadius=3
    ).encode(x, y)  # fmt: skip
    return built(250, tiles, letters, own)


def cost_chart(points: Rows, offers: Sequence[str], hours: str, cost: str, ink: str) -> Spec:
    """Cost against time. points: offer, hours, hours_low, hours_high, cost, cost_low, cost_high."""
    return filled(_cost(tuple(offers), hours, cost, ink), points=points)


@lru_cache(KEPT)
def _cost(offers: Names, hours: str, cost: str, ink: str) -> Spec:
    colour = alt.Color("offer:N").scale(scale(offers, OFFER_COLOURS)).legend(None)
    shape = alt.Shape("offer:N").scale(scale(offers, OFFER_SHAPES)).legend(None)
    x = alt.X("hours:Q").title(hours).scale(alt.Scale(zero=True, nice=True))
    y = alt.Y("cost:Q").title(cost).scale(alt.Scale(zero=True, nice=True))
    tips = [alt.Tooltip("offer:N"), alt.Tooltip("time_text:N"), alt.Tooltip("cost_text:N")]
    wide = of("points").mark_rule(strokeWidth=2, opacity=0.7).encode(
        alt.X("hours_low:Q"), alt.X2("hours_high:Q"), y, colour
    )  # fmt: skip
    high = of("points").mark_rule(strokeWidth=2, opacity=0.7).encode(
        x, alt.Y("cost_low:Q"), alt.Y2("cost_high:Q"), colour
    )  # fmt: skip
    dots = of("points").mark_point(size=170, filled=True, opacity=1).encode(
        x, y, colour, shape, tooltip=tips
    )  # fmt: skip
    names = of("points").mark_text(
        align="left", dx=10, dy=-10, fontSize=12, color=INK[ink]
    ).encode(x, y, alt.Text("offer:N"))  # fmt: skip
    return built(320, wide, high, dots, names)


def sweep_chart(
    points: Rows, here: Rows, offers: Sequence[str], words: Mapping[str, str], ink: str
) -> Spec:
    """Clips per second against the batch.

    points: offer, batch, clips_per_s, how; here: the batch chosen; words: batch, clips_per_s.
    """
    spec = _sweep(tuple(offers), words["batch"], words["clips_per_s"], ink)
    return filled(spec, points=points, here=here)


@lru_cache(KEPT)
def _sweep(offers: Names, batch: str, speed: str, ink: str) -> Spec:
    colour = alt.Color("offer:N").scale(scale(offers, OFFER_COLOURS)).legend(_legend(2))
    dash = alt.StrokeDash("offer:N").scale(scale(offers, OFFER_DASHES)).legend(None)
    shape = alt.Shape("offer:N").scale(scale(offers, OFFER_SHAPES)).legend(_legend(2))
    x = alt.X("batch:Q").title(batch).scale(alt.Scale(type="log", base=2, nice=False))
    y = alt.Y("clips_per_s:Q").title(speed).scale(alt.Scale(zero=True))
    tips = [alt.Tooltip("offer:N"), alt.Tooltip("batch:Q"), alt.Tooltip("how:N"),
            alt.Tooltip("clips_per_s:Q").format(".3~g")]  # fmt: skip
    lines = of("points").mark_line(strokeWidth=2).encode(x, y, colour, dash)
    dots = of("points").mark_point(size=60, filled=True, opacity=1).encode(
        x, y, colour, shape, tooltip=tips
    )  # fmt: skip
    own = of("here").mark_rule(color=INK[ink], strokeDash=[3, 3]).encode(alt.X("batch:Q"))
    return built(320, own, lines, dots)
