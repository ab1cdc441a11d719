"""Links: every value in, the same job out; what cannot be used is named."""

from __future__ import annotations

import math
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import MODEL_VERSION
from calc.job import FIELDS, Job
from tests.ui.app import opened, verdict
from ui import share
from ui.data import card_names, data_version, model_names

SWIN = "model=video-swin-b&frames=16&size=224&batch=4&precision=bf16&checkpointing=block"

# Links as they were shared with model version 1: they must open as the job beside them for ever.
GOLDEN = {
    "": Job(),
    "model=video-swin-t&frames=16&batch=16": Job(frames=16, batch=16),
    f"{SWIN}&cards=2x+RTX+4090+24GB&cards=A100+80GB+PCIe": Job(
        model="video-swin-b", frames=16, batch=4, precision="bf16", checkpointing="block",
        cards=("2x RTX 4090 24GB", "A100 80GB PCIe"),
    ),
    "model=timesformer-b&frames=8&optimizer=sgd&clip_grad=true&epochs=15": Job(
        model="timesformer-b", frames=8, optimizer="sgd", clip_grad=True, epochs=15
    ),
    "price_kind=spot&usd_h_rtx-4090-24gb=0.3&interruptions_per_day=2": Job(
        price_kind="spot", prices=(("RTX 4090 24GB", 0.3),), interruptions_per_day=2.0
    ),
    "price_kind=buy&usd_buy_a100-40gb-sxm4=5000&currency=CNY&cny_per_usd=7.2&years=2": Job(
        price_kind="buy", buy_prices=(("A100 40GB SXM4", 5000.0),), currency="CNY",
        cny_per_usd=7.2, years=2.0,
    ),
    "micro_batch=2&loader_clips_per_s=40&ema=true&os=windows&other_gib=1.5": Job(
        micro_batch=2, loader_clips_per_s=40.0, ema=True, os="windows", other_gib=1.5
    ),
    "model=custom&depth=24&width=1024&heads=16&pattern=divided&patch=14&tubelet=1": Job(
        model="custom", depth=24, width=1024, heads=16, pattern="divided", patch=14, tubelet=1
    ),
}  # fmt: skip


def shared_link(app: object) -> dict[str, list[str]]:
    """The parameters of the link that the page offers."""
    codes = [code.value for code in app.code if "?" in code.value]  # type: ignore[attr-defined]
    return parse_qs(codes[0].split("?", 1)[1])


@pytest.mark.parametrize("link", GOLDEN)
def test_a_link_of_version_1_still_opens_the_same_job(link: str) -> None:
    app = opened(link)
    assert not app.warning
    assert shared_link(app) == parse_qs(share.query(GOLDEN[link], "en") + "&map=frames")


def test_the_shared_link_holds_every_input_and_both_versions() -> None:
    prices = (("RTX 4090 24GB", 0.3),)
    parameters = dict(
        share.parameters(
            Job(prices=prices, buy_prices=prices, micro_batch=2, loader_clips_per_s=9.0), "zh"
        )
    )
    inputs = {field.key for field in FIELDS if field.kind != "prices"}
    assert inputs <= set(parameters)
    assert parameters["usd_h_rtx-4090-24gb"] == "0.3"
    assert parameters["lang"] == "zh"
    assert parameters["v"] == MODEL_VERSION
    assert parameters["data"] == data_version()


def test_the_shared_link_opens_the_very_page() -> None:
    first = opened(f"{SWIN}&lang=zh&epochs=7&map=size")
    link = "&".join(
        f"{key}={value}" for key, values in shared_link(first).items() for value in values
    )
    second = opened(link)
    assert verdict(second) == verdict(first)
    assert second.button_group(key="map").value == "size"
    assert not second.warning


NUMBERS = [field for field in FIELDS if field.kind in ("int", "number")]


@given(st.sampled_from(NUMBERS), st.data())
def test_a_number_survives_its_way_through_a_link(field: object, draw: st.DataObject) -> None:
    low, high = field.minimum, field.maximum  # type: ignore[attr-defined]
    whole = field.kind == "int"  # type: ignore[attr-defined]
    hundredths = st.integers(math.ceil(low * 100), int(high * 100)).map(lambda n: n / 100)
    number = draw.draw(st.integers(int(low), int(high)) if whole else hundredths)
    text = share.as_text(number)
    assert share.accepted(field, [text], number)  # type: ignore[arg-type]
    assert float(text) == number


BAD = {
    "frames=7": ("frames", "7", "32"),
    "batch=0": ("batch", "0", "8"),
    "batch=nan": ("batch", "nan", "8"),
    "batch=many": ("batch", "many", "8"),
    "batch=99999": ("batch", "99999", "8"),
    "batch=inf": ("batch", "inf", "8"),
    "clips=1e400": ("clips", "1e400", "240000"),
    "micro_batch=-Infinity": ("micro_batch", "-Infinity", "nothing"),
    "cards=foo&cards=T4+16GB": ("cards", "foo + T4 16GB", "T4 16GB is used instead"),
    "model=video+swin-t": ("model", "video swin-t", "video-swin-t"),
    "precision=FP16": ("precision", "FP16", "fp16"),
    "cards=RTX+9090": ("cards", "RTX 9090", "A100 40GB SXM4"),
    "ema=perhaps": ("ema", "perhaps", "false"),
    "years=-1": ("years", "-1", "3"),
    "loader_clips_per_s=fast": ("loader_clips_per_s", "fast", "nothing"),
    "usd_h_rtx-4090-24gb=free": ("usd_h_rtx-4090-24gb", "free", "nothing"),
    "lang=fr": ("lang", "fr", "en"),
    "lang=": ("lang", "nothing is not possible", "en is used instead"),
    "price_kind=": ("price_kind", "nothing is not possible", "on_demand is used instead"),
    "checkpointing=": ("checkpointing", "nothing is not possible", "none is used instead"),
    "map=": ("map", "nothing is not possible", "frames is used instead"),
    "map=zz": ("map", "zz", "frames is used instead"),
    "cards=T4+16GB&cards=T4+16GB&cards=foo": ("T4 16GB + T4 16GB + foo", "each once", "2x to 8x"),
    "&".join(f"cards={count}x+L4+24GB" for count in range(2, 9)): (
        "8x L4 24GB`", "7x L4 24GB is used", "up to 6",
    ),
}


@pytest.mark.parametrize("link", BAD)
def test_a_bad_value_is_named_with_what_is_used_instead(link: str) -> None:
    warning = opened(link).warning[0].value
    assert all(word in warning for word in BAD[link]), warning


def test_a_bad_value_is_named_in_chinese_too() -> None:
    assert "每段帧数（frames）：`7` 不可用，改用 32" in opened("frames=7&lang=zh").warning[0].value


@pytest.mark.parametrize("link", ["cards=", "micro_batch=", "usd_h_rtx-4090-24gb="])
def test_a_link_that_asks_for_nothing_is_not_called_bad(link: str) -> None:
    assert not opened(link).warning


BAD_FILTERS = {
    "count=": ("count", "nothing is not possible", "1 is used instead"),
    "count=3": ("GPUs per offer", "3", "1 is used instead", "1, 2, 4, 8"),
    "max_price=-2": ("max_price", "-2", "nothing is used"),
    "max_price=nan": ("max_price", "nan", "nothing is used"),
    "max_price=1e400": ("max_price", "1e400", "nothing is used"),
    "only_trains=perhaps": ("only_trains", "perhaps", "false is used"),
}


@pytest.mark.parametrize("link", BAD_FILTERS)
def test_a_bad_filter_of_all_cards_is_named(link: str) -> None:
    warning = opened(link, "cards").warning[0].value
    assert all(word in warning for word in BAD_FILTERS[link]), warning


@pytest.mark.parametrize(
    ("link", "page"),
    [("map=size", None), ("count=2&max_price=0.5&only_trains=true", "cards"), ("map=x", "cards")],
)
def test_what_is_shown_otherwise_is_not_called_bad(link: str, page: str | None) -> None:
    assert not opened(link, page).warning


def test_a_card_named_twice_is_chosen_once() -> None:
    app = opened("cards=T4+16GB&cards=L4+24GB&cards=T4+16GB")
    assert app.multiselect(key="cards").value == ["T4 16GB", "L4 24GB"] and not app.warning


def test_cards_in_a_link_to_all_cards_are_not_called_bad() -> None:
    app = opened("cards=L4+24GB&frames=7", "cards")
    assert "frames" in app.warning[0].value and "L4 24GB" not in app.warning[0].value


def test_the_choice_of_language_is_named_in_the_language() -> None:
    app = opened("lang=zh")
    assert app.button_group(key="lang").label == "语言"
    app.number_input(key="batch").set_value(4).run()
    assert app.button_group(key="lang").label == "语言"


def test_nothing_in_a_link_is_read_as_markdown() -> None:
    picture = "![x](http://example.com/a.png)"
    warning = opened(urlencode({"frames": picture, picture: "1", "v": picture})).warning[0].value
    assert warning.count(picture) == warning.count(f"`{picture}`") == 3


def test_all_bad_values_are_named_at_once() -> None:
    warning = opened("frames=7&size=225&nonsense=1").warning[0].value
    assert warning.count("\n- ") == 3
    assert "nonsense" in warning


def test_parameters_of_other_programs_are_left_alone() -> None:
    assert not opened("utm_source=mail&embed=true&fbclid=1").warning


def test_a_link_of_another_version_says_that_results_may_differ() -> None:
    warning = opened("v=0&data=00000000").warning[0].value
    assert "version `0`" in warning and "00000000" in warning and "may differ" in warning


def test_the_warning_goes_when_the_first_input_is_changed() -> None:
    app = opened("frames=7")
    app.number_input(key="batch").set_value(4).run()
    assert not app.warning


def test_no_option_of_a_link_needs_care_in_an_address() -> None:
    """`+` decodes to a space: a name that holds one would load the default."""
    names = [*card_names(), *model_names()]
    options = [str(option) for field in FIELDS for option in field.options]
    assert not [name for name in names + options if set(name) & set("+&#%?=")]
