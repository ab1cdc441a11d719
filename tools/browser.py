"""Chromium for the browser tests: `python -m tools.browser` finds or installs one.

Order: CLIPFIT_CHROMIUM, a browser of the system, the one Playwright downloaded, a download by
Playwright, Debian's package when root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Path of a Chromium that is there, or None."""
    installed = [os.environ.get("CLIPFIT_CHROMIUM"), *map(shutil.which, NAMES)]
    found = next((path for path in installed if path), None) or _downloaded()
    return found if Path(found).exists() else None


def _downloaded() -> str:
    from playwright.sync_api import sync_playwright  # only where it is needed: slow to start

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, timeout=600).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def install() -> None:
    """Try Playwright's download, then Debian's package."""
    if _run(sys.executable, "-m", "playwright", "install", "chromium"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-y", "-qq", "chromium", "fonts-wqy-microhei")


def main() -> int:
    """Exit 0 with the path printed, or 1 with one sentence."""
    if not find():
        install()
    path = find()
    if path:
        print(f"Chromium: {path}")
        return 0
    print(
        "No Chromium was found and none could be installed; install Chromium or Chrome "
        "and set CLIPFIT_CHROMIUM to its path.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
