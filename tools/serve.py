"""The app on a free port of this machine, for browser tests, screenshots and benchmarks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
START_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Served:
    """A running app: its address, its process, and how long it took to answer."""

    url: str
    pid: int
    start_s: float


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(
    script: Path = ROOT / "streamlit_app.py", env: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Serve a Streamlit script until the block ends; env is added to this process's own."""
    port = free_port()
    command = [
        sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true",
        "--server.address=127.0.0.1", f"--server.port={port}", "--server.fileWatcherType=none",
        "--browser.gatherUsageStats=false",
    ]  # fmt: skip
    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL
    )
    try:
        _wait(f"http://127.0.0.1:{port}", process)
        yield Served(f"http://127.0.0.1:{port}", process.pid, time.monotonic() - started)
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:  # busy: it has nothing to lose
            process.kill()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Return once the app answers; RuntimeError if it ends or stays silent."""
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    raise RuntimeError(f"the app did not answer at {url} within {START_LIMIT_S} s")
