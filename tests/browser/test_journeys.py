"""What visitors do, in a real Chromium: open, change, share, export; two languages, two themes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
PHONE = {"width": 390, "height": 844}
CHARTS = "[data-testid='stVegaLiteChart'] svg"
VERDICT = "[data-testid='stMain'] h3"


def verdict(page: Page) -> str:
    """The sentence on top."""
    return page.locator(VERDICT).first.inner_text()


def set_batch(page: Page, batch: int) -> None:
    """Type a batch as a visitor does, and wait for the new answer."""
    before = page.locator("[data-testid='stCode']").first.inner_text()
    box = page.locator(".st-key-batch input")
    box.fill(str(batch))
    box.press("Enter")
    expect(page.locator("[data-testid='stCode']").first).not_to_have_text(before)
    settle(page)


def test_first_visit_answers_at_once(visit: Visit) -> None:
    page = visit()
    assert "RTX 4090 24GB" in verdict(page) and "$" in verdict(page)
    expect(page.locator(CHARTS)).to_have_count(5)
    box = page.locator(VERDICT).first.bounding_box()
    assert box is not None and box["y"] + box["height"] < 400, "the answer is above the fold"
    assert page.title() == "Calculator" or "ClipFit" in page.title()


def test_change_and_share_into_a_fresh_tab(visit: Visit, visit_at: Visit) -> None:
    page = visit("/?frames=16")
    set_batch(page, 3)
    assert "batch=3" in page.url
    link = page.locator("[data-testid='stCode'] code").first.inner_text()
    asked = parse_qs(urlparse(link).query)
    assert (asked["batch"], asked["frames"]) == (["3"], ["16"])
    fresh = visit_at(link)
    assert verdict(fresh) == verdict(page)
    assert fresh.locator(".st-key-batch input").input_value() == "3"
    expect(fresh.locator("[data-testid='stAlert']")).to_have_count(0)


def test_a_bad_link_is_answered_in_words(visit: Visit) -> None:
    page = visit("/?frames=7&batch=999999&v=0")
    alert = page.locator("[data-testid='stAlert']").first
    for word in ("frames", "7", "batch", "999999", "version 0"):
        expect(alert).to_contain_text(word)
    assert verdict(page)


def test_a_recipe_opens_with_the_visitors_cards(visit: Visit) -> None:
    page = visit("/?batch=5&cards=L4+24GB")
    page.locator("summary", has_text="published recipe").click()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="TimeSformer, Kinetics-400").click()
    settle(popup.value)
    expect(popup.value.locator(".st-key-batch input")).to_have_value("8")
    expect(popup.value.get_by_text("L4 24GB").first).to_be_visible()
    assert "model=timesformer-b" in popup.value.url and "optimizer=sgd" in popup.value.url


def test_the_language_follows_the_browser_and_can_be_switched(visit: Visit) -> None:
    page = visit("/", locale="zh-CN")
    assert re.search(r"[\u4e00-\u9fff]", verdict(page))
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    page.locator(".st-key-lang").get_by_text("en", exact=True).click()
    expect(page.locator(VERDICT).first).not_to_contain_text(re.compile(r"[\u4e00-\u9fff]"))
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert "lang=en" in page.url
    english = visit("/")
    assert not re.search(r"[\u4e00-\u9fff]", english.locator("[data-testid='stMain']").inner_text())


def test_a_phone_shows_everything_without_sideways_scrolling(visit: Visit) -> None:
    page = visit("/", viewport=PHONE)
    wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= PHONE["width"]
    for key in ("model", "frames", "size", "batch", "precision", "checkpointing", "cards"):
        box = page.locator(f".st-key-{key}").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"], key
    expect(page.locator(CHARTS)).to_have_count(5)


def test_dark_pages_are_dark_and_their_charts_readable(visit: Visit) -> None:
    page = visit("/", color_scheme="dark")
    background = page.evaluate(
        "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    )
    assert background == "rgb(18, 22, 29)"
    inks = page.locator(CHARTS).first.locator("text[fill='#e8ecf2']")
    expect(inks.first).to_be_attached()


def test_the_keyboard_alone_is_enough(visit: Visit) -> None:
    page = visit()
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.st-key-batch input')"):
            break
    assert page.evaluate("document.activeElement.matches('.st-key-batch input')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("[data-testid='stCode'] code").first).to_contain_text("batch=9")


def test_screen_readers_get_names(visit: Visit) -> None:
    page = visit()
    for name in ("Model", "Frame size, px", "Batch, clips per step", "Precision"):
        expect(page.get_by_label(name, exact=True).first).to_be_attached()
    charts = page.locator("[data-testid='stVegaLiteChart']")
    expect(charts).to_have_count(5)
    names = [chart.get_attribute("aria-label") or "" for chart in charts.all()]
    assert all(len(name) > 40 for name in names)
    assert names[0].startswith("Stacked bars: A100 40GB SXM4 needs")


def test_export_takes_the_figures_away(visit: Visit) -> None:
    page = visit("/?batch=4")
    page.locator(".st-key-open_export summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Table (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert [row["offer"] for row in rows] == ["A100 40GB SXM4", "RTX 4090 24GB"]
    assert float(rows[0]["allocated_gib"]) > 1
    with page.expect_download() as download:
        page.get_by_role("button", name="Job (YAML)").click()
    assert "batch: 4" in download.value.path().read_text()
    page.get_by_role("button", name="Download as PNG").first.focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


def test_a_summary_is_in_the_language_of_its_page(visit: Visit) -> None:
    page = visit("/?batch=4&lang=zh")
    page.locator(".st-key-open_export summary").click()
    with page.expect_download() as download:
        page.locator(".st-key-download_markdown button").click()
    summary = download.value.path().read_text(encoding="utf-8")
    assert "段/秒" in summary and "clips/s" not in summary


def test_inputs_are_kept_on_the_way_to_all_cards_and_back(visit: Visit) -> None:
    page = visit("/?batch=3")
    page.get_by_role("link", name="All cards").click()
    expect(page.locator("[data-testid='stDataFrame']")).to_be_visible()
    settle(page)
    assert page.locator(".st-key-batch input").input_value() == "3"
    page.get_by_role("link", name="Calculator").click()
    expect(page.locator(CHARTS)).to_have_count(5)
    assert page.locator(".st-key-batch input").input_value() == "3"
