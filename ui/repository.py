"""Where this copy's files lie on GitHub; read off the clone, so that a fork links to itself."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VARIABLE = "CLIPFIT_REPOSITORY"
"""Environment variable with owner/name, for copies that are not clones (a Hugging Face Space)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_ORIGIN = re.compile(
    r'\[remote "origin"\][^\[]*?url = (?:https://(?:[^/@\s]*@)?github\.com/|git@github\.com:)'
    r"([A-Za-z0-9-]+/[A-Za-z0-9._-]+?)(?:\.git)?/?\s"
)


@cache
def address() -> str | None:
    """https://github.com/owner/name, None where nothing tells."""
    name = os.environ.get(VARIABLE, "") or from_config(ROOT / ".git" / "config")
    return f"https://github.com/{name}" if name and _NAME.fullmatch(name) else None


def from_config(path: Path) -> str:
    """owner/name of a clone's origin on GitHub, "" where there is none."""
    try:
        found = _ORIGIN.search(path.read_text(encoding="utf-8") + "\n")
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""


def file_link(path: str) -> str | None:
    """The page of a file of the repository."""
    home = address()
    return home and f"{home}/blob/main/{path}"


def upload_link(folder: str) -> str | None:
    """GitHub's page for uploading a file into a folder; it forks and opens a pull request."""
    home = address()
    return home and f"{home}/upload/main/{folder}"
