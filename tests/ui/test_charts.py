"""Charts: colours that can be told from the page, valid specifications, nothing by colour alone."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any

import altair as alt
import pytest

from ui import charts

WORDS = {"batch": "batch", "row": "frames", "cost": "cost", "clips_per_s": "clips/s"}
OFFERS = ("A100 40GB SXM4", "RTX 4090 24GB")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_contrast_of_black_on_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


COLOURS = [*charts.PART_COLOURS.values(), *charts.OFFER_COLOURS]


@pytest.mark.parametrize(("colour", "paper"), [*itertools.product(COLOURS, charts.PAPER.values())])
def test_a_mark_stands_out_from_the_page(colour: str, paper: str) -> None:
    assert contrast(colour, paper) >= 3


@pytest.mark.parametrize("colour", [*COLOURS, charts.NONE_COLOUR])
def test_white_letters_stand_out_from_a_mark(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3


@pytest.mark.parametrize("theme", charts.PAPER)
def test_text_stands_out_from_the_page(theme: str) -> None:
    assert contrast(charts.INK[theme], charts.PAPER[theme]) >= 7


def test_colours_are_told_apart_by_more_than_colour() -> None:
    assert len(set(charts.OFFER_SHAPES)) == len(charts.OFFER_COLOURS) == len(charts.LETTERS)
    assert len({str(dash) for dash in charts.OFFER_DASHES}) == len(charts.OFFER_COLOURS)


def _charts() -> dict[str, charts.Spec]:
    limits = [{"offer": "A", "gib": 23.0, "label": "23 GiB", "peak": 20.0, "needs": 21.0}] * 2
    parts = [{"offer": "A", "name": "Weights", "gib": 1.0, "order": 0, "label": ""}]
    phases = [
        {"name": "forward", "at": 0, "ends": 0.3},
        {"name": "optimizer", "at": 0.3, "ends": 1},
    ]
    cost = {"offer": "A", "hours": 2.0, "hours_low": 1.0, "hours_high": 3.0, "cost": 2.0,
            "cost_low": 1.0, "cost_high": 3.0, "time_text": "", "cost_text": ""}  # fmt: skip
    cells = [{"batch": 1, "row": 8, "offer": "A", "letter": "A", "cost": "$1"}]
    speed = [{"offer": "A", "batch": 1, "clips_per_s": 3.0, "how": ""}]
    return {
        "memory": charts.memory_chart(parts, limits, {"weights": "Weights"}, "GiB", "light"),
        "timeline": charts.timeline_chart(
            [{"at": 0, "gib": 1.0}], phases, limits, "GiB", "step", "dark"
        ),
        "tipping": charts.tipping_chart(
            cells, [{"batch": 1, "row": 8}], OFFERS, "none", WORDS, "light"
        ),
        "cost": charts.cost_chart([cost], OFFERS, "hours", "USD", "light"),
        "sweep": charts.sweep_chart(speed, [{"batch": 1}], OFFERS, WORDS, "light"),
    }


@pytest.mark.parametrize("name", _charts())
def test_a_chart_is_valid_vega_lite(name: str) -> None:
    spec = {key: value for key, value in _charts()[name].items() if key != "width"}
    alt.LayerChart.from_dict({**spec, "width": 300}, validate=True)


@pytest.mark.parametrize("name", _charts())
def test_a_chart_only_uses_columns_that_its_rows_have(name: str) -> None:
    for layer in _charts()[name]["layer"]:
        columns = set(layer["data"]["values"][0])
        used = {channel["field"] for channel in _channels(layer) if "field" in channel}
        assert used <= columns, layer["mark"]


def _channels(layer: dict[str, Any]) -> list[dict[str, Any]]:
    found = [value for key, value in layer["encoding"].items() if key != "tooltip"]
    return [*found, *layer["encoding"].get("tooltip", [])]


def test_a_chart_is_built_once_and_filled_anew() -> None:
    first, second = _charts()["sweep"], _charts()["sweep"]
    assert first["layer"][1]["encoding"] is second["layer"][1]["encoding"]
    assert first is not second


CONFIG = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())


@pytest.mark.parametrize("theme", charts.PAPER)
def test_the_theme_is_readable_and_the_one_the_charts_are_made_for(theme: str) -> None:
    colours = CONFIG["theme"][theme]
    assert colours["backgroundColor"] == charts.PAPER[theme]
    assert colours["textColor"] == charts.INK[theme]
    for background in (colours["backgroundColor"], colours["secondaryBackgroundColor"]):
        assert contrast(colours["textColor"], background) >= 7
        assert contrast(colours["linkColor"], background) >= 4.5
        assert contrast(colours["primaryColor"], background) >= 3
        assert contrast(colours["primaryColor"], "#ffffff") >= 3, "white text on a chosen card"
        assert contrast(colours["borderColor"], background) >= 2.5


def test_no_figure_of_use_is_sent_anywhere() -> None:
    assert CONFIG["browser"]["gatherUsageStats"] is False
