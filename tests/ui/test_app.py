"""The app as a visitor uses it, under Streamlit's own runner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlparse

import pytest
from streamlit.testing.v1 import AppTest

from calc.card import parse_offer
from calc.compare import compare
from calc.job import FIELD, FIELDS, Job
from calc.profile import NotTraced
from tests.ui.app import opened, verdict
from ui.data import card_names, data, model_names
from ui.text import CATALOGUE

PRECISIONS = FIELD["precision"].options
CHECKPOINTING = FIELD["checkpointing"].options


@pytest.fixture(scope="module")
def app() -> Iterator[AppTest]:
    """One session that many visits share; each visit sets what it needs."""
    yield opened()


def first_shape(model: str) -> tuple[int, int]:
    """A traced number of frames and size of a model."""
    if model == "custom":
        return 16, 224
    at = min(data().profile(model).points)
    return at.frames, at.size


@pytest.mark.parametrize("model", model_names())
def test_every_precision_and_checkpointing_gives_an_answer_or_says_why_not(
    app: AppTest, model: str
) -> None:
    frames, size = first_shape(model)
    app.selectbox(key="model").set_value(model)
    app.selectbox(key="frames").set_value(frames)
    app.selectbox(key="size").set_value(size)
    answers = 0
    for precision in PRECISIONS:
        for checkpointing in CHECKPOINTING:
            app.selectbox(key="precision").set_value(precision)
            app.segmented_control(key="checkpointing").set_value(checkpointing)
            app.run()
            assert not app.exception, app.exception[0].message
            assert len(app.error) <= 1
            answers += not app.error
    assert answers >= 4


def test_the_first_page_answers_the_question_of_the_title() -> None:
    app = opened()
    sentence = verdict(app)
    assert "RTX 4090 24GB" in sentence and "A100 40GB SXM4" in sentence and "$" in sentence


def test_five_charts_say_in_words_what_they_show() -> None:
    charts = opened().get("vega_lite_chart")
    assert len(charts) == 5
    assert all(len(chart.proto.alt) > 40 for chart in charts)


def test_every_input_is_on_the_page() -> None:
    app = opened()
    keys = {field.key for field in FIELDS if field.kind != "prices"}
    for key in keys:
        assert _widget(app, key) is not None, key


def _widget(app: AppTest, key: str) -> object | None:
    kinds = (
        app.selectbox,
        app.segmented_control,
        app.number_input,
        app.multiselect,
        app.toggle,
        app.slider,
    )
    found = [widget for widgets in kinds for widget in widgets if widget.key == key]
    return found[0] if found else None


def test_options_are_the_same_in_both_languages() -> None:
    english, chinese = opened("lang=en"), opened("lang=zh")
    for field in FIELDS:
        if field.kind in ("choice", "offers"):
            first, second = _widget(english, field.key), _widget(chinese, field.key)
            assert first.options == second.options  # type: ignore[union-attr]
            assert first.label != second.label or not first.label.isascii()  # type: ignore[union-attr]


ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b", re.IGNORECASE)


@pytest.mark.parametrize("page", [None, "cards", "measurements", "guide"])
def test_no_english_is_left_on_a_chinese_page(page: str | None) -> None:
    """Three words in a row are a sentence; names of cards, models and options are shorter."""
    assert any(ENGLISH.search(text) for text in _shown("en", page))
    assert [text for text in _shown("zh", page) if ENGLISH.search(text)] == []


def _shown(lang: str, page: str | None) -> list[str]:
    """All prose of a page, without code, links and what is printed in italics: names of menus."""
    app = opened(f"lang={lang}&batch=64", page)
    texts = [text.value for text in [*app.markdown, *app.caption, *app.info]]
    texts += [chart.proto.alt for chart in app.get("vega_lite_chart")]
    texts += [widget.label for widget in [*app.number_input, *app.selectbox, *app.toggle]]
    return [re.sub(r"`[^`]*`|\]\([^)]*\)|\*[^*\n]+\*", " ", text) for text in texts]


def test_what_makes_no_sense_is_disabled_but_there() -> None:
    app = opened()
    assert _widget(app, "depth").disabled  # type: ignore[union-attr]
    assert _widget(app, "interruptions_per_day").disabled  # type: ignore[union-attr]
    assert not _widget(opened("model=custom&frames=16"), "depth").disabled  # type: ignore[union-attr]
    assert not _widget(opened("price_kind=spot"), "interruptions_per_day").disabled  # type: ignore[union-attr]


def test_a_price_of_ones_own_changes_the_cost_and_says_whose_it_is() -> None:
    app = opened()
    before = [metric.value for metric in app.metric]
    app.number_input(key="usd_h_rtx-4090-24gb").set_value(9.0).run()
    assert [metric.value for metric in app.metric] != before
    assert any("$9.00/h per GPU (yours)" in text.value.replace("\\$", "$") for text in app.markdown)


def test_an_offer_of_two_cards_stands_beside_single_ones() -> None:
    app = opened("cards=A100+40GB+SXM4&cards=2x+RTX+4090+24GB")
    assert any(text.value.startswith("**2x RTX 4090 24GB**") for text in app.markdown)


def test_no_card_chosen_is_one_sentence() -> None:
    app = opened()
    app.multiselect(key="cards").set_value([]).run()
    assert not app.exception
    assert app.error[0].value == CATALOGUE["inputs.no_cards"][0]


def test_a_setting_that_was_not_traced_says_what_was() -> None:
    job = Job(frames=96)
    with pytest.raises(NotTraced) as error:
        compare(job, data())
    app = opened("frames=96")
    assert app.error[0].value == str(error.value)


@pytest.mark.parametrize("page", [None, "cards"])
@pytest.mark.parametrize("link", ["frames=96", "precision=fp32&checkpointing=wrapper&lang=zh"])
def test_a_setting_that_was_not_traced_links_to_the_nearest(link: str, page: str | None) -> None:
    app = opened(f"{link}&cards=L4+24GB", page)
    line = next(text.value for text in app.markdown if "](?" in text.value)
    links = re.findall(r"\]\(\?([^)]*)\)", line)
    assert len(links) == 3
    for query in links:
        answer = opened(query, page)
        assert not answer.error and not answer.warning
        assert answer.session_state["model"] == "video-swin-t"


def test_something_that_does_not_fit_comes_with_advice() -> None:
    app = opened("model=video-swin-b&batch=16&precision=fp32&cards=RTX+4090+24GB&micro_batch=16")
    assert any(CATALOGUE["calculator.advice_title"][0] in text.value for text in app.markdown)


def test_all_cards_are_in_the_table_cheapest_first() -> None:
    table = opened(page="cards").dataframe[0].value
    assert set(table["card"]) == set(card_names())
    costs = table["cost"].dropna()
    assert list(costs) == sorted(costs)


def test_the_table_is_filtered_by_price() -> None:
    app = opened(page="cards")
    app.number_input(key="max_price").set_value(0.6).run()
    table = app.dataframe[0].value
    assert 0 < len(table) < len(card_names())
    assert (table["price"] <= 0.6).all()


def test_the_filter_by_price_keeps_what_has_a_price_but_does_not_train() -> None:
    app = opened("model=vjepa2-g&frames=64&size=384&max_price=1", "cards")
    table = app.dataframe[0].value
    assert (table["state"] == "does not fit").any() and (table["price"] <= 1).all()


def test_a_card_that_does_not_train_has_its_price_and_no_cost() -> None:
    app = opened("model=vjepa2-g&frames=16&size=256&batch=1&precision=bf16&cards=L4+24GB")
    assert [metric.value for metric in app.metric] == ["–", "–"]
    assert any("$0.57/h per GPU" in text.value.replace("\\$", "$") for text in app.markdown)


def test_the_table_takes_two_of_each_card() -> None:
    app = opened(page="cards")
    app.segmented_control(key="count").set_value(2).run()
    assert {parse_offer(text)[1] for text in app.dataframe[0].value["card"]} == {2}


def test_a_filter_that_leaves_nothing_says_so() -> None:
    app = opened(page="cards")
    app.number_input(key="max_price").set_value(0.0).run()
    assert app.info[0].value == CATALOGUE["cards.none_left"][0]
    assert not any("0 of 0" in text.value for text in app.markdown)


def test_times_that_stand_side_by_side_have_one_unit() -> None:
    app = opened("cards=RTX+4090+24GB&cards=8x+RTX+4090+24GB&epochs=60")
    times = [metric.value for metric in app.metric if metric.label == "Time"]
    assert len(times) == 2 and float(times[0].split()[0]) > 96, "in days, if it stood alone"
    assert all(time.endswith(" h") and time in verdict(app) for time in times)


def test_inputs_stay_when_the_page_is_changed() -> None:
    app = opened("batch=3&usd_h_rtx-4090-24gb=0.2")
    app.switch_page("ui/pages/cards.py").run()
    app.switch_page("ui/pages/calculator.py").run()
    assert app.number_input(key="batch").value == 3
    assert app.number_input(key="usd_h_rtx-4090-24gb").value == 0.2


def test_advice_comes_with_a_link_that_follows_it() -> None:
    asked = "model=video-swin-b&batch=16&precision=fp32&cards=RTX+4090+24GB&micro_batch=16"
    text = next(
        text.value for text in opened(asked).markdown if "open with this change" in text.value
    )
    link = re.search(r"\(\?([^)]+)\)", text)
    assert link
    parameters = parse_qs(link[1])
    assert parameters["precision"] == ["fp16"] and "micro_batch" not in parameters
    assert not opened(link[1]).warning


def test_what_does_not_go_together_is_said_in_both_languages() -> None:
    asked = "model=custom&frames=16&width=770"
    english, chinese = opened(f"{asked}&lang=en"), opened(f"{asked}&lang=zh")
    assert "width must be a multiple of heads, as 768" in english.error[0].value
    assert "宽度必须是头数的整数倍，例如 768" in chinese.error[0].value
    assert "multiple" not in chinese.error[0].value


def test_inputs_without_an_answer_can_be_shared_and_asked_for() -> None:
    app = opened("frames=96&batch=5")
    link = parse_qs(urlparse(app.code[0].value).query)
    assert (link["frames"], link["batch"]) == (["96"], ["5"])
    ask = next(text.value for text in app.caption if "/issues/new?" in text.value)
    assert "template=card-or-model.yml" in ask and "video-swin-t" in ask


def test_a_wrong_figure_is_told_with_the_job_filled_in() -> None:
    app = opened("batch=5")
    tell = next(text.value for text in app.caption if "template=wrong-figure.yml" in text.value)
    form = parse_qs(urlparse(tell[tell.index("(") + 1 : tell.rindex(")")]).query)
    assert "batch=5" in form["link"][0]
    assert form["said"][0].startswith("A100 40GB SXM4: fits, ")


def test_a_price_for_a_card_that_is_not_chosen_waits_for_it() -> None:
    warning = opened("usd_h_l4-24gb=0.07").warning[0].value
    assert "The price of L4 24GB (usd_h_l4-24gb) counts once the card is chosen" in warning


def test_whoever_buys_is_not_filtered_by_the_price_of_an_hour() -> None:
    app = opened("price_kind=buy&max_price=2", page="cards")
    assert app.number_input(key="max_price").disabled
    assert len(app.dataframe[0].value) == len(data().cards)
    assert any(CATALOGUE["cards.caption_buy"][0] in caption.value for caption in app.caption)


def test_what_is_refused_for_its_values_is_not_asked_for_as_a_trace() -> None:
    asked = CATALOGUE["calculator.ask_model"][0].split("[")[0]
    wrong = opened("model=custom&width=770")
    missing = opened("model=videomae-b&frames=16&checkpointing=wrapper&trainable=head")
    assert not any(asked in caption.value for caption in wrong.caption)
    assert any(asked in one.value and "wrapper" in one.value for one in missing.caption)


def test_a_custom_model_is_not_said_to_be_traced() -> None:
    captions = [caption.value for caption in opened("model=custom&frames=16").caption]
    assert any("closed form" in caption for caption in captions)
    assert not any("traced at" in caption for caption in captions)


def test_the_map_calls_nothing_the_cheapest_where_no_price_is_known() -> None:
    app = opened("price_kind=buy&cards=A100+40GB+SXM4&cards=A100+40GB+PCIe")
    alts = [chart.proto.alt for chart in app.get("vega_lite_chart")]
    assert any("fits; no price is known" in alt for alt in alts)
    assert not any("is the cheapest" in alt for alt in alts)
