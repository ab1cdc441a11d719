"""The guide: complete in both languages, and its figures are calc's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from calc import guide as figures
from ui import guide
from ui.data import data
from ui.snippets import FOLDER
from ui.text.guide import TEXTS

SCRIPT = Path(__file__).parents[2] / "streamlit_app.py"
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def page(lang: str) -> AppTest:
    app = AppTest.from_file(str(SCRIPT), default_timeout=60)
    app.query_params["lang"] = lang
    app.switch_page("ui/pages/guide.py").run()
    assert not app.exception, app.exception[0].message
    return app


@pytest.fixture(scope="module")
def english() -> AppTest:
    return page("en")


@pytest.fixture(scope="module")
def chinese() -> AppTest:
    return page("zh")


def words(app: AppTest) -> str:
    return "\n".join(text.value for text in (*app.title, *app.header, *app.markdown, *app.caption))


def test_both_languages_have_the_same_sections_tables_and_code(
    english: AppTest, chinese: AppTest
) -> None:
    for kind in ("header", "table", "code", "markdown", "caption"):
        assert len(getattr(english, kind)) == len(getattr(chinese, kind)), kind
    assert len(english.header) == len(guide.SECTIONS) == 10
    assert not CHINESE.search(words(english))
    assert all(CHINESE.search(text.value) for text in chinese.header)


def test_every_section_has_an_anchor_that_the_contents_link_to(english: AppTest) -> None:
    contents = next(text.value for text in english.markdown if text.value.startswith("1. ["))
    assert re.findall(r"\(#(\w+)\)", contents) == [key for key, _ in guide.SECTIONS]


def test_every_snippet_is_shown_as_it_is(english: AppTest) -> None:
    shown = {block.value for block in english.code}
    for path in FOLDER.glob("*_*.py"):
        if not path.stem.startswith("__"):
            assert path.read_text(encoding="utf-8").strip() in shown


def test_no_section_lacks_its_figures(english: AppTest) -> None:
    missing = TEXTS["no_figures"][0].split("{")[0]
    assert not any(text.value.startswith(missing) for text in english.caption)
    assert len(english.table) == 6


def test_swin_t_at_16_frames_passes_20_gib_only_at_batch_16() -> None:
    profile = data().profile("video-swin-t")
    found = figures.peaks(guide.SWIN.replace(frames=16), profile, guide.BATCHES)
    assert found[0][1].mid == pytest.approx(1.6, abs=0.2)
    assert figures.first_above(figures.ARTICLE_SWIN_T_16_FRAMES_GIB, found) == 16


def test_the_wrapper_saves_nothing_and_blocks_save_much() -> None:
    for job in guide.traced(guide.EXAMPLES):
        profile = data().profile(job.model)
        if guide.traced([job.replace(checkpointing="wrapper")]):
            wrapper = figures.change(job, job.replace(checkpointing="wrapper"), profile)
            assert -0.04 <= wrapper.saved <= 0.01, job.model
    swin = figures.change(
        guide.SWIN, guide.SWIN.replace(checkpointing="block"), data().profile("video-swin-t")
    )
    assert swin.saved > 0.4


def test_the_card_table_says_what_1321_is(english: AppTest) -> None:
    text = words(english)
    assert "FP8 with FP16 accumulate and 2:4 sparsity" in text
    assert "165.2 TFLOPS on the 4090 and 312 on the A100" in text
    assert "not 0.24 but 1.89 times" in text


def test_the_articles_environment_is_older_than_its_card(english: AppTest) -> None:
    launch = data().cards["RTX 4090 24GB"].launch
    assert launch == "2022-10-12"
    assert launch in words(english)


def test_the_rules_are_worked_out(english: AppTest) -> None:
    for number in (1, 2, 3):
        assert re.search(
            rf"\*\*{number}\. .*\*\* (holds|does not hold|cannot be judged)", words(english)
        )
