"""`bench check` in Chinese: every line of a bad file, with no English left but names and values."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import check
from bench.check import Context
from calc import measurements
from calc.measurements import DataError
from calc.problem import Problem
from calc.words import render
from tests import run_files
from tests.bench.test_check import PROBLEMS
from tests.chinese import CHINESE, english_in


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return run_files.folder(tmp_path)


def findings(root: Path, content: str) -> list[Problem]:
    path = root / "runs" / "x.yaml"
    path.write_text(content, encoding="utf-8")
    found = check.check_file(path, Context.load(root)).findings
    return [*found.problems, *found.warnings]


def assert_chinese(problems: Sequence[Problem]) -> None:
    assert problems
    for problem in problems:
        what = render(problem.what, "zh")
        where = [part for part in (problem.label, problem.field) if part]
        assert problem.in_language("zh") == ": ".join([*where, what])
        assert CHINESE.search(what), what
        assert not english_in(what), what


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_of_a_run(root: Path, name: str) -> None:
    assert_chinese(findings(root, run_files.dump(run_files.changed(PROBLEMS[name][0]))))


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [1]\n", "a: !x 1\n", "a: " + "[" * 500, "a: 1\na: 2\n", "a: {<<: {b: 1}}\n",
        "---\na: 1\n---\nb: 1\n", "", "just words", "- 1\n", "{[a]: 1}\n", "x: [\n", "schema: 1\n",
        "# " + "x" * check.MAX_RUN_BYTES,
    ],
    ids=range(13),
)  # fmt: skip
def test_every_problem_of_a_text(root: Path, text: str) -> None:
    assert_chinese(findings(root, text))


def test_every_value_of_a_wrong_kind(root: Path) -> None:
    """Each value of the example is replaced in turn, by a list and by a number."""
    for wrong in ([[]], -1.5):
        tree = _replaced(run_files.example(), wrong)
        for key, value in run_files.example().items():
            assert_chinese(findings(root, run_files.dump({**tree, key: value})))


def _replaced(tree: Any, wrong: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _replaced(value, wrong) for key, value in tree.items()}
    return [_replaced(value, wrong) for value in tree] if isinstance(tree, list) else wrong


def test_every_warning(root: Path) -> None:
    def change(tree: dict[str, Any]) -> None:
        tree["environment"].update(power_limit_w=None, other_used_mib=None, other_processes=3)
        tree["calibration"].update(matmul_fp16_tflops=30.0)
        larger = copy.deepcopy(tree["rows"][0])
        larger["batch"] = 9
        larger["time"]["clips_per_s"] = 28.125
        larger["memory"]["allocated_mib"] = 19900.0
        tree["rows"].append(larger)

    found = findings(root, run_files.dump(run_files.changed(change, review="pending")))
    keys = {problem.what.key for problem in found}
    assert {
        "problem_not_recorded", "problem_others", "problem_slow_card", "problem_falls",
        "problem_needless_pending",
    } <= keys  # fmt: skip
    assert_chinese(found)


def test_every_problem_of_cards_prices_and_profiles(root: Path) -> None:
    (root / "cards.yaml").write_text("schema: 1\nsources: {a: {title: A, url: x}}\ncards: [{}]\n")
    (root / "prices.yaml").write_text("schema: 2\nprices: 1\n")
    (root / "models" / "a.yaml").write_text("points: [{at: [1], step: [[x]], work: {a: [1]}}]\n")
    (root / "runs" / "b.yaml").write_bytes(b"\xff\xfe")
    found = measurements.problems(root)
    assert {problem.label for problem in found} == {
        f"measurements/{name}.yaml"
        for name in ("cards", "prices", "models/a", "runs/b")
    }  # fmt: skip
    assert_chinese(found)


def test_a_model_that_is_not_there(root: Path) -> None:
    with pytest.raises(DataError) as error:
        measurements.load_profile("nothing", root)
    assert_chinese(error.value.problems)
