"""Problems of files: a line of text that both languages can show."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from calc.problem import Problem, reporter
from calc.problem_words import PROBLEMS
from calc.words import LANGUAGES, TEMPLATES, Message
from tests.chinese import CHINESE, english_in

ONLY_PARAMETERS = {"problem_plain"}
TWICE = Message("problem_twice", {"name": "X 8GB"})


@pytest.mark.parametrize("key", sorted(PROBLEMS))
def test_every_problem_is_in_english_and_in_chinese(key: str) -> None:
    english, chinese = PROBLEMS[key]
    assert key.startswith("problem_") and TEMPLATES[key] == (english, chinese)
    assert not CHINESE.search(english)
    assert CHINESE.search(chinese) or key in ONLY_PARAMETERS
    assert not english_in(re.sub(r"\{[^}]*\}", "8", chinese))


def test_a_problem_is_the_english_line_and_knows_the_chinese() -> None:
    problem = Problem("cards.yaml", "cards[0]", TWICE)
    assert problem == "cards.yaml: cards[0]: X 8GB stands twice"
    assert {problem} == {str(problem)}
    assert [problem.in_language(lang) for lang in LANGUAGES] == [
        problem, "cards.yaml: cards[0]: X 8GB 出现了两次",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "field", "line"),
    [
        ("a.yaml", "", "a.yaml: X 8GB stands twice"),
        ("", "", "X 8GB stands twice"),
        ("a.yaml", "{b}", "a.yaml: {b}: X 8GB stands twice"),
    ],
)
def test_parts_that_are_not_there_leave_no_colon(label: str, field: str, line: str) -> None:
    assert Problem(label, field, TWICE) == line


def test_a_problem_survives_copying_and_pickling() -> None:
    problem = Problem("a.yaml", "b", TWICE)
    for same in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert same == problem and same.in_language("zh") == problem.in_language("zh")


def test_a_reporter_notes_problems_of_its_file() -> None:
    problems: list[Problem] = []
    reporter("a.yaml", problems)("b", TWICE)
    assert problems == ["a.yaml: b: X 8GB stands twice"]
