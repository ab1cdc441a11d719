"""Pictures of every page for the README and the docs: `python -m tools.screenshots [FOLDER]`.

Desktop (1280 px) and phone (390 px), light and dark, English and Chinese.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

from tools.browser import find
from tools.serve import ROOT, serve

PAGES = {"calculator": "/", "cards": "/cards", "measurements": "/measurements", "guide": "/guide"}
VIEWS = {
    "": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", "locale": "en-US"},
    "-dark": {
        "viewport": {"width": 1280, "height": 900},
        "color_scheme": "dark",
        "locale": "en-US",
    },
    "-phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "locale": "en-US",
    },
    "-zh": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", "locale": "zh-CN"},
}


def take(browser: Browser, url: str, path: Path, options: dict) -> None:
    """One picture of the whole page."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(url)
    app = page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
    expect(app).to_be_attached(timeout=120_000)
    expect(page.locator("[data-testid='stSkeleton']")).to_have_count(0, timeout=120_000)
    page.wait_for_timeout(800)  # charts draw after the script has ended
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": options["viewport"]["width"], "height": int(height) + 80})
    page.wait_for_timeout(800)
    page.screenshot(path=str(path))
    context.close()
    smaller(path)


def smaller(path: Path) -> None:
    """The same picture in 256 colours, a third of the size.

    Frequent colours, of backgrounds, stay as they are; rare ones, of legends, have some left too.
    """
    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    counts = picture.getcolors(picture.width * picture.height) or []
    frequent = [part for _, colour in sorted(counts, reverse=True)[:192] for part in colour]
    rare = picture.quantize(64, method=Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*frequent, *rare[: 3 * 64]])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def main(words: list[str]) -> int:
    """Write all pictures; the folder is docs/img unless another one is named."""
    folder = Path(words[0]) if words else ROOT / "docs" / "img"
    only = set(words[1:])
    folder.mkdir(parents=True, exist_ok=True)
    with serve() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find(), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, route in PAGES.items():
            for suffix, options in VIEWS.items():
                if not only or name + suffix in only:
                    take(browser, served.url + route, folder / f"{name}{suffix}.png", options)
                    print(folder / f"{name}{suffix}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
