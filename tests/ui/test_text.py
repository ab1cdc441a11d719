"""Every text there is exists in both languages, and every text that is asked for exists."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest

from calc import words
from calc.job import FIELDS
from calc.memory import PARTS
from ui.text import CATALOGUE, LANGUAGES, text

UI = Path(__file__).parents[2] / "ui"
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SAME_IN_BOTH = {
    "inputs.bucket_view", "inputs.channels_last", "inputs.expandable_segments",
    "calculator.part_ema", "calculator.gib_axis",
}  # fmt: skip


def _names(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("key", CATALOGUE)
def test_a_text_is_complete_in_both_languages(key: str) -> None:
    english, chinese = CATALOGUE[key]
    assert english.strip() and chinese.strip()
    assert _names(english) == _names(chinese)
    assert not CHINESE.search(english)


def test_chinese_texts_are_chinese() -> None:
    ascii_only = {key for key, (_, zh) in CATALOGUE.items() if not CHINESE.search(zh)}
    same = {key for key in ascii_only if CATALOGUE[key][0] == CATALOGUE[key][1]}
    ours = {
        key
        for key in same
        if key.split(".")[0] in ("common", "inputs", "calculator", "cards", "export")
    }
    assert ours <= SAME_IN_BOTH


@pytest.mark.parametrize("key", words.TEMPLATES)
def test_a_computed_sentence_is_complete_in_both_languages(key: str) -> None:
    english, chinese = words.TEMPLATES[key]
    assert english.strip() and chinese.strip()
    assert _names(english) == _names(chinese)


def test_a_visitor_is_addressed_in_one_way() -> None:
    chinese = [zh for _, zh in (*CATALOGUE.values(), *words.TEMPLATES.values())]
    assert not [text for text in chinese if "您" in text]


def _asked(path: Path) -> set[str]:
    """Keys that a file passes to t() or text() as plain words."""
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    names = (call for call in calls if getattr(call.func, "id", "") in ("t", "text") and call.args)
    words_ = (call.args[0] for call in names)
    return {word.value for word in words_ if isinstance(word, ast.Constant)}


@pytest.mark.parametrize("path", sorted(UI.rglob("*.py")), ids=lambda path: path.stem)
def test_every_text_that_a_file_asks_for_exists(path: Path) -> None:
    assert _asked(path) <= set(CATALOGUE)


def test_every_input_and_part_has_its_texts() -> None:
    wanted = {f"inputs.{field.key}" for field in FIELDS} | {f"inputs.{f.key}_help" for f in FIELDS}
    wanted |= {f"calculator.part_{part}" for part in PARTS}
    wanted |= {
        f"common.{word}" for word in ("fits", "tight", "no", "measured", "corrected", "formula")
    }
    assert wanted <= set(CATALOGUE)


def test_a_text_is_filled_in() -> None:
    english, chinese = (text("calculator.kwh", lang, n=3) for lang in LANGUAGES)
    assert (english, chinese) == ("3 kWh", "3 千瓦时")
