"""Journeys through a real Chromium: the Hub, an uploaded run, the guide in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle
from tests.run_files import dump, example
from tests.ui import hub_server
from tests.ui.hub_server import Hub, Repository, safetensors
from tools.serve import serve

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with hub_server.running() as hub:
        weights = safetensors({"a": ("F32", [94_000_000])})
        base = hub_server.with_config(hub_server.VIDEOMAE_BASE, **{"model.safetensors": weights})
        evil = {"model_type": "<img src=x onerror=alert(1)>![x](https://example.com/x.png)"}
        hub.repositories |= {
            "MCG-NJU/videomae-base": base,
            "Wan-AI/Wan2.1-T2V-1.3B-Diffusers": Repository(
                {
                    "model_index.json": b'{"_class_name": "WanPipeline"}',
                    "transformer/config.json": json.dumps(hub_server.WAN_1_3B).encode(),
                }
            ),
            "some/gated": Repository(status=403, headers={"X-Error-Code": "GatedRepo"}),
            "some/evil": hub_server.with_config(evil),
        }
        yield hub


@pytest.fixture(scope="module")
def hub_app(hub: Hub) -> Iterator[str]:
    """The app with its Hub on this machine."""
    with serve(env={"HF_ENDPOINT": hub.url}) as served:
        yield served.url


def look_up(page: Page, model_id: str) -> None:
    box = page.locator(".st-key-hub_id input")
    if not box.is_visible():
        page.get_by_text("Read a model from the Hugging Face Hub").click()
    box.fill(model_id)
    box.press("Tab")
    settle(page)
    late = page.get_by_text("did not answer within")
    for _ in range(3):  # five seconds are short on a busy machine
        page.get_by_role("button", name="Look up").click()
        settle(page)
        if not late.is_visible():
            return


def test_a_model_of_the_hub_becomes_the_job(visit_at: Visit, hub_app: str, hub: Hub) -> None:
    page = visit_at(hub_app)
    assert hub.requests == []  # nothing is asked before the button is pressed
    look_up(page, "MCG-NJU/videomae-base")
    expect(page.get_by_text("94.0 M parameters")).to_be_visible()
    page.get_by_role("button", name="Use these values").click()
    settle(page)
    expect(page).to_have_url(re.compile(r"model=videomae-b"))
    look_up(page, "Wan-AI/Wan2.1-T2V-1.3B-Diffusers")
    expect(page.get_by_text("Parameters were not counted")).to_be_visible()
    page.get_by_role("button", name="Use these values").click()
    settle(page)
    expect(page).to_have_url(re.compile(r"model=custom.*depth=30|depth=30.*model=custom"))


@pytest.mark.parametrize(
    ("model_id", "words"),
    [
        ("some/gated", "This model is gated"),
        ("nobody/nothing", "no public model of this name"),
        ("not an id", "is not a model id"),
        ("some/evil", "Its architecture is"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_page_goes_on(
    visit_at: Visit, hub_app: str, model_id: str, words: str
) -> None:
    page = visit_at(hub_app)
    look_up(page, model_id)
    expect(page.get_by_text(words)).to_be_visible()
    expect(page.locator("img[src='x'], img[src*='example.com']")).to_have_count(0)
    expect(page.get_by_role("heading", level=3).first).to_be_visible()  # the verdict


def test_a_good_and_a_bad_run_are_told_apart(visit: Visit, tmp_path: Path) -> None:
    from calc.runs import file_name

    tree = example()
    good = tmp_path / file_name(tree).rpartition("/")[2]
    good.write_text(dump(tree), encoding="utf-8")
    bad = tmp_path / "bad.yaml"
    bad.write_text("schema: 1\n'<img src=x onerror=alert(1)>': 1\n", encoding="utf-8")
    page = visit("/measurements")
    page.locator("input[type=file]").set_input_files(str(bad))
    settle(page)
    expect(page.get_by_text("This file would not pass")).to_be_visible()
    expect(page.get_by_text("rows: is missing").first).to_be_visible()
    expect(page.locator("img[src='x']")).to_have_count(0)
    charts = page.locator("[data-testid='stVegaLiteChart']")
    before = charts.count()
    page.locator("input[type=file]").set_input_files(str(good))
    settle(page)
    expect(page.get_by_text("This file passes every check.")).to_be_visible()
    link = page.get_by_role("link", name="Open a pull request with this file")
    expect(link).to_have_attribute("href", re.compile(r"/upload/main/measurements/runs/rtx-4090"))
    expect(charts).to_have_count(before + 2)  # the file's memory and time


def test_the_guide_reads_in_both_languages(visit: Visit) -> None:
    page = visit("/guide")
    expect(page.get_by_role("heading", level=2)).to_have_count(10)
    page.get_by_role("link", name="Checkpointing", exact=True).click()
    expect(page.get_by_role("heading", name="Checkpointing")).to_be_in_viewport()
    page.goto(page.url.split("?")[0].split("#")[0] + "?lang=zh")
    settle(page)
    expect(page.get_by_role("heading", level=2)).to_have_count(10)
    expect(page.get_by_role("heading", name="显存公式")).to_be_visible()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("path", ["/", "/cards", "/measurements", "/guide"])
def test_no_mark_of_markdown_is_left_as_it_was_written(visit: Visit, path: str, lang: str) -> None:
    """CommonMark ends no bold text between a Chinese full stop and a letter, for instance."""
    page = visit(f"{path}?lang={lang}")
    prose = page.locator("[data-testid='stMain'] [data-testid='stMarkdownContainer']")
    assert not [text for text in prose.all_inner_texts() if "**" in text or "](" in text]


CONTRAST_JS = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("scheme", "least"), [("light", 4.2), ("dark", 3.7)])
def test_every_text_stands_out_from_what_is_behind_it(
    visit: Visit, scheme: str, least: float
) -> None:
    """3:1 is asked for. In the dark, white on the primary colour and that colour as text on its
    background share what there is."""
    for path in ("/?batch=9", "/cards", "/measurements", "/guide"):
        found = visit(path, color_scheme=scheme).evaluate(CONTRAST_JS)
        assert len(found) > 40
        assert [text for text in found if text[0] < least] == [], path


@pytest.mark.parametrize("path", ["/guide", "/measurements"])
def test_phones_scroll_down_only(visit: Visit, path: str) -> None:
    page = visit(path, viewport={"width": 390, "height": 844}, color_scheme="dark")
    width = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= 390
