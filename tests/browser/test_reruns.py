"""A change in the middle of the page runs only the middle: nothing may fall behind for it."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from calc.compare import compare
from calc.job import Job
from calc.words import render
from tests.browser.conftest import Visit, settle
from tests.browser.test_journeys import set_batch, verdict
from ui.data import data

pytestmark = pytest.mark.browser

CHINESE = re.compile(r"[\u4e00-\u9fff]")
SIDEBAR = "[data-testid='stSidebar']"


def shared(page: Page) -> dict[str, list[str]]:
    """Parameters of the link that the page offers to share."""
    link = page.locator("[data-testid='stCode'] code").first.inner_text()
    return parse_qs(urlparse(link).query)


def choose(page: Page, key: str, option: str) -> None:
    page.locator(f".st-key-{key} input").fill(option)
    page.get_by_role("option", name=option, exact=True).click()
    settle(page)


def test_a_changed_batch_leaves_the_sidebar_alone(visit: Visit) -> None:
    page = visit("/?optimizer=sgd&epochs=7")
    page.evaluate(STALE)
    for batch in (6, 5, 4, 3):  # a browser under load may skip the marks of one run
        set_batch(page, batch)
    assert set(page.evaluate("window.clipfitStale")) == {"middle"}
    for asked in (shared(page), parse_qs(urlparse(page.url).query)):
        assert (asked["batch"], asked["optimizer"], asked["epochs"]) == (["3"], ["sgd"], ["7"])


STALE = """() => {
  window.clipfitStale = [];
  const watch = new MutationObserver((changes) => {
    for (const { target } of changes) {
      const inside = target.closest("[data-testid='stSidebar']");
      window.clipfitStale.push(inside ? "sidebar" : "middle");
    }
  });
  const options = { subtree: true, attributes: true, attributeFilter: ["data-stale"] };
  watch.observe(document.body, options);
}"""
"""Notes which elements are marked as outdated while a run is under way."""


def test_nothing_is_faded_while_it_waits_for_a_run(visit: Visit) -> None:
    page = visit("/")
    found = page.locator("[data-stale]").evaluate_all(
        "all => all.map((one) => { const css = getComputedStyle(one);"
        " return css.transitionDuration + css.opacity; })"
    )
    assert len(found) > 50 and set(found) == {"0s1"}


def test_the_answer_and_the_language_follow_both_kinds_of_runs(visit: Visit) -> None:
    page = visit("/?lang=zh")
    set_batch(page, 3)
    before = verdict(page)
    assert CHINESE.search(before)
    page.locator(".st-key-price_kind").get_by_text("spot", exact=True).click()
    expect(page.locator("[data-testid='stCode'] code").first).to_contain_text("price_kind=spot")
    settle(page)
    assert verdict(page) != before and CHINESE.search(verdict(page))


def test_a_chosen_card_gets_its_price_in_the_sidebar(visit: Visit) -> None:
    page = visit("/?usd_h_l4-24gb=0.07")
    assert page.locator(".st-key-usd_h_l4-24gb").count() == 0
    choose(page, "cards", "L4 24GB")
    price = page.locator(".st-key-usd_h_l4-24gb input")
    expect(price).to_be_visible()
    expect(price).to_have_value("0.07")  # it was in the address all along
    expect(page.get_by_text("Price: $0.07/h per GPU (yours)")).to_be_visible()


def test_the_custom_model_opens_its_sliders_at_once(visit: Visit) -> None:
    page = visit("/?frames=16")
    page.locator(SIDEBAR).get_by_text("Custom model").click()
    expect(page.locator(".st-key-width input")).to_be_disabled()
    choose(page, "model", "custom")
    expect(page.locator(".st-key-width input")).to_be_enabled()
    page.locator(".st-key-width input").fill("384")
    page.locator(".st-key-width input").press("Enter")
    expect(page.locator("[data-testid='stCode'] code").first).to_contain_text("width=384")
    choose(page, "model", "videomae-b")
    expect(page.locator(".st-key-width input")).to_be_disabled()


def test_what_is_folded_is_made_when_it_is_opened(visit: Visit) -> None:
    page = visit("/?batch=4")
    assert page.get_by_text("python -m bench run").count() == 0
    page.locator(".st-key-open_export summary").click()
    expect(page.get_by_text("python -m bench run").first).to_be_visible()
    set_batch(page, 5)
    expect(page.get_by_text("--batch 5").first).to_be_visible()


def test_a_burst_of_changes_ends_with_the_answer_to_the_last(visit: Visit) -> None:
    page = visit("/")
    box = page.locator(".st-key-batch input")
    box.focus()
    for _ in range(12):
        page.keyboard.press("ArrowUp")
    page.locator(".st-key-price_kind").get_by_text("spot", exact=True).click()
    box.focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    code = page.locator("[data-testid='stCode'] code").first
    expect(code).to_contain_text("batch=15")
    expect(code).to_contain_text("price_kind=spot")
    settle(page)
    job = Job(batch=15, price_kind="spot")
    assert verdict(page) == render(compare(job, data()).verdict)
