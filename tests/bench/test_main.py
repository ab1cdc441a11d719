"""The command line: which command runs what, and what it says when something is missing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from bench.__main__ import COMMANDS, main, parser
from bench.nvml import driver_version
from tests.bench.measuring import ROOT

no_gpu = pytest.mark.skipif(driver_version() is not None, reason="this machine has a GPU")


def without(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`python -m bench` where a module cannot be imported."""
    code = f"import sys; sys.modules[{module!r}] = None; from bench.__main__ import main; " + (
        f"raise SystemExit(main({list(words)!r}))"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_module_and_help(name):
    module = importlib.import_module(COMMANDS[name][0])
    assert callable(module.add_arguments) and callable(module.main)
    with pytest.raises(SystemExit) as stop:
        parser(name).parse_args([name, "--help"])
    assert stop.value.code == 0


@no_gpu
def test_bare_command_lists_commands_and_says_there_is_no_gpu(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert shown.rstrip().splitlines()[-1].startswith("No CUDA GPU was found. What works")


@no_gpu
@pytest.mark.parametrize("command", ["run", "max-batch"])
def test_measuring_without_a_gpu_is_one_sentence(command, capsys):
    assert main([command, "--model", "video-swin-t"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and "No CUDA GPU was found" in lines[0] and "--device cpu" in lines[0]


def test_missing_torch_is_one_sentence_with_the_remedy():
    ended = without("torch", "run", "--device", "cpu", "--model", "video-swin-t")
    assert ended.returncode == 2
    assert ended.stderr == "torch is not installed; run `pip install -r bench/requirements.txt`\n"


def test_check_needs_no_torch():
    ended = without("torch", "check")
    assert "torch" not in ended.stderr and ended.returncode in (0, 1)


def test_unknown_command_names_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["measure"])
    assert "max-batch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--builder", "nowhere.py:net", "--input", "3,4,16,16"], "there is no file nowhere.py"),
        (["--builder", "nowhere"], "write FILE.py:FUNCTION"),
        (["--model", "video-swin-x"], "allowed are csn-r101"),
        (["--batch", "0"], "batch is 0; allowed are whole numbers from 1"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, capsys):
    assert main(["run", "--device", "cpu", *words]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown and shown.count("\n") == 1
