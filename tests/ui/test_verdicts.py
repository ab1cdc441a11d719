"""The sentence on top, word for word, in both languages."""

from __future__ import annotations

import pytest
import yaml

from calc.compare import compare
from calc.words import render
from tests.ui.app import opened, verdict
from tests.ui.golden import FILE, LINKS, verdicts
from ui.data import data

GOLDEN = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def test_every_golden_job_has_its_sentence() -> None:
    assert verdicts() == GOLDEN, "answers changed: python -m tests.ui.golden, and the changelog"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("link", LINKS)
def test_the_page_shows_the_sentence_of_its_link(link: str, lang: str) -> None:
    app = opened(f"{link}&lang={lang}")
    assert not app.warning, app.warning[0].value
    assert verdict(app) == render(compare(LINKS[link], data()).verdict, lang)
