"""The generated parts of the docs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from calc import measurements
from calc.measurements import ROOT
from tools import generate_docs

PROJECT = ROOT.parent


def test_a_part_is_made_anew_and_the_rest_is_left_alone() -> None:
    text = "before\n<!-- begin: cards -->\nold\n<!-- end -->\nafter\n"
    new = generate_docs.filled(text)
    assert new.startswith("before\n<!-- begin: cards -->\n| card |")
    assert new.endswith("<!-- end -->\nafter\n")
    assert "old" not in new
    assert generate_docs.filled(new) == new


def test_every_card_and_price_is_in_its_table() -> None:
    cards = generate_docs.card_table(measurements.load_cards())
    prices = generate_docs.price_table(measurements.load_prices())
    for name in measurements.load_cards():
        assert f"| {name}" in cards
        assert f"| {name} |" in prices
    assert "[165.2](https://" in cards
    assert "1321" not in cards


def test_accuracy_says_what_was_never_validated() -> None:
    table = generate_docs.part("accuracy", "")
    assert "| memory, ResNet-3D |" in table
    assert "| 0 | not validated |" in table


def test_output_shows_a_command_with_what_it_prints() -> None:
    shown = generate_docs.part("output: python -m bench check --help", "")
    assert shown.startswith(
        "```console\n$ python -m bench check --help\nusage: python -m bench check"
    )


@pytest.mark.parametrize("command", ["rm -rf x", "python -c 1", "python -m pip list"])
def test_only_commands_of_clipfit_are_run(command: str) -> None:
    with pytest.raises(ValueError, match="allowed are python -m calc"):
        generate_docs.part(f"output: {command}", "")


def test_unknown_parts_and_failing_commands_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(generate_docs.DATA_ONLY, raising=False)
    with pytest.raises(ValueError, match="generated part is 'x'; allowed are cards, prices"):
        generate_docs.part("x", "")
    with pytest.raises(ValueError, match="failed with code 2"):
        generate_docs.part("output: python -m bench check --no-such-flag", "")


def test_answers_are_kept_in_a_pull_request_that_only_adds_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(generate_docs.DATA_ONLY, "1")
    assert generate_docs.part("output: python -m calc compare", "old answer\n") == "old answer\n"


def test_what_is_checked_in_is_current() -> None:
    command = [sys.executable, "-m", "tools.generate_docs", "--check"]
    env = {**os.environ, "CLIPFIT_DATA_ONLY": "1"}  # answers are rebuilt on main
    result = subprocess.run(
        command, cwd=PROJECT, env=env, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_subcommand_of_bench_and_calc_is_in_the_docs() -> None:
    text = (PROJECT / "docs" / "commands.md").read_text()
    for command in ("calc compare", "bench run", "bench check", "bench submit", "bench trace",
                    "bench max-batch", "bench env"):  # fmt: skip
        assert f"begin: output: python -m {command} --help" in text


def test_docs_of_a_stale_copy_are_noticed(tmp_path: Path) -> None:
    stale = tmp_path / "a.md"
    stale.write_text("<!-- begin: cards -->\nold\n<!-- end -->\n")
    assert generate_docs.filled(stale.read_text()) != stale.read_text()
