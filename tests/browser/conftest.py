"""A served app and a real Chromium: `visit("/?batch=4", color_scheme="dark")` is a settled page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tools.browser import find
from tools.serve import serve

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

expect.set_options(timeout=60_000)

Visit = Callable[..., Page]


def settle(page: Page) -> None:
    """Wait until the script has run to its end and everything is drawn."""
    app = page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
    expect(app).to_be_attached(timeout=60_000)
    expect(page.locator("[data-testid='stSkeleton']")).to_have_count(0)
    expect(page.locator("[data-stale='true']")).to_have_count(0)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find()
    assert path, "no Chromium found; run: python -m tools.browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_url() -> Iterator[str]:
    with serve() as served:
        yield served.url


@pytest.fixture
def visit_at(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open an address in a fresh browser profile; the test fails if a request leaves the host."""
    contexts, outside = [], []

    def note(request: Request) -> None:
        address = urlparse(request.url)
        if address.scheme in ("http", "https", "ws", "wss") and address.hostname != "127.0.0.1":
            outside.append(request.url)

    def open_at(url: str, **options: Any) -> Page:
        options = {"viewport": {"width": 1280, "height": 900}, "locale": "en-US", **options}
        context = browser.new_context(**options)
        contexts.append(context)
        context.on("request", note)
        page = context.new_page()
        page.goto(url)
        settle(page)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert outside == []


@pytest.fixture
def visit(visit_at: Callable[..., Page], app_url: str) -> Visit:
    """Open a path of the app: `visit("/cards?batch=4", viewport={"width": 390, "height": 844})`."""
    return lambda path="/", **options: visit_at(app_url + path, **options)
