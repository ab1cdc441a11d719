"""Run one function in a process of its own: an out-of-memory or a crash there spoils nothing here.

A server process has torch imported (but never touches a GPU) and forks for every call, so a fresh
process costs milliseconds instead of an import of torch. Where there is no fork (Windows), and
where CLIPFIT_PROCESSES=spawn asks for it, every call starts a new interpreter. A child ends by
itself when its parent dies, however it dies.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

LOOK_EVERY_S = 0.5
LOG_TAIL_CHARACTERS = 2000

_NAME = r"[^\s\\/'\":,;)]+"
PATH = re.compile(rf"(?<![^\s'\"(=,;:\[])(?:[A-Za-z]:|~)?(?:[\\/]{_NAME})*[\\/]({_NAME})[\\/]?")
"""An absolute path; its group is the last part."""
ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: `result`, or why there is none.

    error: one sentence, or None; signal_number: what killed the process, if a signal did.
    """

    result: Any = None
    error: str | None = None
    signal_number: int | None = None
    timed_out: bool = False
    stopped: bool = False
    log: str = ""


def call(
    function: str,
    argument: Any,
    limit_s: float = 900.0,
    on_message: Callable[[Any], None] = lambda message: None,
    should_stop: Callable[[], bool] = lambda: False,
    environment: dict[str, str] | None = None,
) -> Outcome:
    """Run a function in a fresh process.

    function: "module:name", called there as name(argument, tell); argument and result can be
    pickled, and what it `tell`s arrives at `on_message`. environment: added to the child's.
    """
    context = _context()
    here, there = context.Pipe(duplex=True)
    with tempfile.TemporaryDirectory(prefix="clipfit-") as folder:
        log = Path(folder) / "log"
        arguments = (there, function, argument, str(log), environment or {})
        child = context.Process(target=_serve, args=arguments, daemon=False)
        child.start()
        there.close()
        try:
            outcome = _listen(here, child, limit_s, on_message, should_stop)
        except BaseException:
            child.kill()
            raise
        finally:
            _end(child)
            here.close()
        return _with_log(outcome, log)


def _context() -> Any:
    """How processes are made."""
    can_fork = "forkserver" in multiprocessing.get_all_start_methods()
    if not can_fork or os.environ.get("CLIPFIT_PROCESSES") == "spawn":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bench.preload"])
    return context


def _listen(
    here: Connection,
    child: Any,
    limit_s: float,
    on_message: Callable[[Any], None],
    should_stop: Callable[[], bool],
) -> Outcome:
    """Hear the child until it has a result, dies, takes too long or is to be stopped."""
    deadline_s = time.monotonic() + limit_s
    while time.monotonic() < deadline_s:
        if should_stop():
            return Outcome(error="stopped, because the same point failed elsewhere", stopped=True)
        if not wait([here, child.sentinel], timeout=LOOK_EVERY_S):
            continue
        try:
            kind, content = here.recv() if here.poll() else ("dead", None)
        except (EOFError, ConnectionError):
            kind, content = "dead", None
        if kind == "message":
            on_message(content)
        elif kind == "result":
            return Outcome(result=content)
        elif kind == "error":
            return Outcome(error=content)
        else:
            return _death(child)
    return Outcome(error=f"no answer within {limit_s:.0f} s", timed_out=True)


def _death(child: Any) -> Outcome:
    """The sentence for a process that ended without a word."""
    child.join(10)
    code = child.exitcode
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = "; the machine may be out of main memory" if -code == signal.SIGKILL else ""
        return Outcome(error=f"the process was ended by {name}{hint}", signal_number=-code)
    return Outcome(error=f"the process ended without a result (exit code {code})")


def _end(child: Any) -> None:
    """Leave no process behind."""
    child.join(2)
    if child.is_alive():
        child.kill()
        child.join()


def _with_log(outcome: Outcome, log: Path) -> Outcome:
    text = log.read_text(errors="replace")[-LOG_TAIL_CHARACTERS:] if log.exists() else ""
    return Outcome(
        outcome.result,
        outcome.error,
        outcome.signal_number,
        outcome.timed_out,
        outcome.stopped,
        text,
    )


def _serve(
    there: Connection, function: str, argument: Any, log: str, environment: dict[str, str]
) -> None:
    """The child: quiet, deaf to Ctrl-C (the parent decides), gone when the parent is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _redirect_output(log)
    os.environ.update(environment)
    threading.Thread(target=_die_with_parent, args=(there,), daemon=True).start()
    try:
        module, _, name = function.partition(":")
        run = getattr(importlib.import_module(module), name)
        result = run(argument, lambda message: there.send(("message", message)))
        there.send(("result", result))
    except Exception as error:
        there.send(("error", sentence(error)))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # libraries' exit handlers can hang after a GPU error


def _redirect_output(log: str) -> None:
    """Send what libraries print to a file, away from the progress bar."""
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)


def _die_with_parent(there: Connection) -> None:
    """The pipe closes when the parent ends, even by kill -9."""
    try:
        there.recv()
    except (EOFError, OSError):
        os._exit(1)


def sentence(error: BaseException) -> str:
    """An error as one line without paths, user or host name.

    >>> sentence(ValueError("no file at /home/anna/clips/a.mp4\\nsecond line"))
    'ValueError: no file at a.mp4'
    """
    lines = str(error).strip().splitlines()
    first = lines[0] if lines else ""
    return scrub(plain(f"{type(error).__name__}: {first}" if first else type(error).__name__))[:300]


def plain(text: str) -> str:
    """Text that a file may hold: letters of ASCII, nothing like HTML, no links.

    >>> plain("expected <class 'int'>, see http://x.org 🏖")
    "expected (class 'int'), see x.org"
    """
    text = re.sub(r"\b[A-Za-z]+://", "", text.replace("<", "(").replace(">", ")"))
    return re.sub(r"[^\x20-\x7e]+", " ", text).strip()


def scrub(text: str) -> str:
    """Leave only the last part of every path, and neither host name nor network address.

    >>> scrub("see C:\\\\Users\\\\anna\\\\x.py and /tmp/y/z.py:make")
    'see x.py and z.py:make'
    >>> scrub("3 clips/s, 1 / 2, --video-dir=/home/anna/clips/")
    '3 clips/s, 1 / 2, --video-dir=clips'
    >>> scrub("driver 570.86.15: connection closed by 10.0.0.7:29500")
    'driver 570.86.15: connection closed by ADDRESS'
    """
    text = ADDRESS.sub("ADDRESS", PATH.sub(r"\1", text))
    host = socket.gethostname()
    return re.sub(rf"\b{re.escape(host)}\b", "HOST", text) if len(host) > 3 else text
