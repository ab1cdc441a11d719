"""Every point in its own process: results, crashes, time limits, orphans."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import isolate
from tests.bench.measuring import ROOT

HERE = "tests.bench.test_isolate"


def double(number, tell):
    tell("working")
    return 2 * number


def own_id(_, tell):
    return os.getpid()


def fail(text, tell):
    raise ValueError(text)


def die(number, tell):
    os.kill(os.getpid(), number)


def sleep(seconds, tell):
    tell(os.getpid())
    time.sleep(seconds)


def read_variable(name, tell):
    return os.environ.get(name)


def test_result_and_messages_come_back():
    heard = []
    outcome = isolate.call(f"{HERE}:double", 21, on_message=heard.append)
    assert (outcome.result, outcome.error, heard) == (42, None, ["working"])


def test_each_call_has_its_own_process():
    ids = {isolate.call(f"{HERE}:own_id", None).result for _ in range(2)} | {os.getpid()}
    assert len(ids) == 3


def test_an_error_is_a_sentence_without_paths():
    outcome = isolate.call(f"{HERE}:fail", "cannot read /home/anna/clips/a.mp4")
    assert outcome.error == "ValueError: cannot read a.mp4"


def test_a_killed_process_is_told_by_its_signal():
    outcome = isolate.call(f"{HERE}:die", int(signal.SIGKILL))
    assert outcome.signal_number == signal.SIGKILL
    assert "main memory" in outcome.error


def test_time_limit_ends_the_process():
    heard = []
    outcome = isolate.call(f"{HERE}:sleep", 60, limit_s=2.0, on_message=heard.append)
    assert outcome.timed_out and outcome.error == "no answer within 2 s"
    assert not multiprocessing.active_children()
    assert not [child for child in heard if is_alive(child)]


def test_it_stops_when_asked():
    outcome = isolate.call(f"{HERE}:sleep", 60, should_stop=lambda: True)
    assert outcome.stopped


def test_environment_reaches_the_child_only():
    outcome = isolate.call(
        f"{HERE}:read_variable", "CLIPFIT_TEST", environment={"CLIPFIT_TEST": "x"}
    )
    assert outcome.result == "x" and "CLIPFIT_TEST" not in os.environ


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the child in /proc")
def test_a_child_ends_when_its_parent_is_killed():
    code = f"from bench import isolate; isolate.call({HERE + ':sleep'!r}, 300, 300.0, print)"
    parent = subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        cwd=ROOT,
        env={**os.environ, "CLIPFIT_PROCESSES": "spawn"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
        parent.wait()
    end = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_alive(child)


def is_alive(process_id: int) -> bool:
    """Whether a process runs; one that has ended but was not waited for counts as ended."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
