"""The guide's wrong and right code, as real files; tests run every one of them.

The app only reads them as text: torch is not one of its requirements.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def source(name: str) -> str:
    """The text of a snippet, e.g. "accumulation_right"."""
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8").strip()
