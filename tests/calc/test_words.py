from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest

from calc.words import LANGUAGES, TEMPLATES, Message, hours, money, render

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("calc", "bench", "ui")
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.name not in ("words.py", "problem_words.py")
]
PREFIXES = ("input_", "change_", "column_", "state_", "basis_")
"""Beginnings of keys whose ends are words of the inputs."""
SUFFIX = "_hard"


def names(template: str) -> set[str]:
    """The parameters of a template."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("key", sorted(TEMPLATES))
def test_both_languages_are_there_and_ask_for_the_same(key: str) -> None:
    english, chinese = TEMPLATES[key]
    assert english.strip() and chinese.strip()
    assert names(english) == names(chinese)
    has_chinese = re.compile(r"[\u4e00-\u9fff]")
    assert not has_chinese.search(english)
    letters = re.sub(r"\{[^}]*\}", "", chinese)
    assert has_chinese.search(chinese) or not re.search(r"[A-Za-z]", letters.replace("GiB", ""))


@pytest.mark.parametrize("key", sorted(TEMPLATES))
def test_chinese_has_chinese_punctuation(key: str) -> None:
    """No western comma, semicolon or parenthesis beside a Chinese character."""
    assert not re.search(r"[\u4e00-\u9fff] ?[,;:()]|[,;()] ?[\u4e00-\u9fff]", TEMPLATES[key][1])


def messages() -> set[str]:
    """Every key that the sources give to Message, f-strings and sums left out."""
    found: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if is_call and node.func.id == "Message" and node.args:  # type: ignore[union-attr]
                texts = [part for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)]  # type: ignore[union-attr]
                found |= {part.value for part in texts if isinstance(part.value, str)}
    return found


def test_every_key_in_the_sources_has_a_template() -> None:
    unknown = {key for key in messages() if key not in TEMPLATES and key not in (*PREFIXES, SUFFIX)}
    assert not unknown


def test_every_template_is_used() -> None:
    texts = {
        node.value
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }  # fmt: skip
    made = {key for key in TEMPLATES if key.startswith((*PREFIXES, "unit_", "money_"))}
    unused = {key for key in TEMPLATES if key.removesuffix(SUFFIX) not in texts} - made
    assert not unused


@pytest.mark.parametrize("field", ["precision", "checkpointing", "optimizer", "frames"])
def test_a_change_of_every_adviseable_input_has_words(field: str) -> None:
    assert f"change_{field}" in TEMPLATES


def test_messages_nest_and_lists_are_joined() -> None:
    inner = Message("unit_hours", {"n": 3.0})
    told = Message("fit_some", {"names": ("A", "B"), "failing": (inner, inner)})
    assert render(told) == "Only A, B train it (3.0 h, 3.0 h)"
    assert render(told, "zh") == "只有 A、B 能训练（3.0 小时、3.0 小时）"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_message_shows_as_english_unless_asked(lang: str) -> None:
    assert str(hours(10)) == "10.0 h"
    assert render(hours(10), lang) in ("10.0 h", "10.0 小时")


def test_money_has_the_sign_of_its_currency() -> None:
    assert money(100, "CNY", 7.1) == "¥710"
    assert money(0.345) == "$0.34"
    assert money(1e6) == "$1,000,000"
