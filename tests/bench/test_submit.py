"""`bench submit`: from a file to the page where it becomes a pull request."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from calc import measurements, repository
from calc.measurements import ROOT
from calc.runs import file_name
from tests import run_files

MODEL = "video-swin-t"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what `bench submit` needs, with a small measurements folder."""
    for package in ("calc", "bench"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT.parent / package, tmp_path / package, ignore=ignored)
    run_files.folder(tmp_path)
    return tmp_path


def submit(project: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", "submit", *words]
    env = {**os.environ, "PYTHONPATH": "", **environment}
    return subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, check=False
    )


def write(project: Path, tree: dict[str, object]) -> Path:
    path = project / "out" / Path(file_name(tree)).name
    path.parent.mkdir()
    path.write_text(run_files.dump(tree))
    return path


def test_a_short_file_is_filled_in_and_a_long_one_uploaded(project: Path) -> None:
    tree = run_files.example()
    path = write(project, tree)
    result = submit(project, str(path))
    assert result.returncode == 0, result.stderr
    link = next(line for line in result.stdout.splitlines() if line.startswith("https://"))
    parts = urlsplit(link)
    query = parse_qs(parts.query)
    assert parts.path == "/clipfit/clipfit/new/main/measurements/runs/rtx-4090-24gb"
    assert query["filename"] == [path.name]
    assert query["value"] == [path.read_text()]
    assert len(link) <= repository.LINK_LIMIT


def test_ten_rows_go_to_the_upload_page(project: Path) -> None:
    tree = run_files.example()
    tree["rows"] = [{**run_files.example()["rows"][1], "batch": 16 + index} for index in range(60)]
    path = write(project, tree)
    result = submit(project, str(path))
    assert result.returncode == 0, result.stderr
    assert repository.upload_link("rtx-4090-24gb/x.yaml") in result.stdout.splitlines()
    assert f"measurements/runs/rtx-4090-24gb/{path.name}" in result.stdout


def test_a_file_that_would_be_refused_is_not_sent(project: Path) -> None:
    path = write(project, run_files.changed(lambda t: t["environment"].update(driver=None)))
    result = submit(project, str(path))
    assert result.returncode == 1
    assert "environment.driver: is not given; a run on a GPU states it" in result.stderr
    assert "https://github.com" not in result.stdout


def test_outside_the_band_is_marked_pending_and_keeps_its_name(project: Path) -> None:
    low = {"allocated_mib": 12000.0, "first_allocated_mib": 12000.0}
    path = write(project, run_files.changed(lambda t: t["rows"][0]["memory"].update(low)))
    result = submit(project, str(path))
    assert result.returncode == 0, result.stderr
    assert "marked `review: pending`" in result.stdout
    tree = measurements.read_tree(path)
    assert tree["review"] == "pending"
    assert Path(file_name(tree)).name == path.name


def test_without_a_file_the_newest_run_is_taken(project: Path) -> None:
    nothing = submit(project)
    assert nothing.returncode == 2
    assert "there is no run in measurements/runs; make one with" in nothing.stderr
    older = run_files.store(project / "measurements", run_files.changed(lambda t: None, who="a"))
    newer = run_files.store(project / "measurements", run_files.changed(slower))
    os.utime(older, (1, 1))
    result = submit(project)
    assert result.returncode == 0, result.stderr
    assert newer.name in result.stdout and older.name not in result.stdout


def slower(tree: dict[str, Any]) -> None:
    tree["rows"][0]["time"].update(median_ms=330.0, clips_per_s=24.24, p90_ms=340.0)


class Hub(BaseHTTPRequestHandler):
    """The part of the Hub's API that a commit as a pull request uses."""

    seen: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, body))
        if self.headers.get("Authorization") != "Bearer hf_right":
            self._answer(401, {"error": "Invalid credentials"})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            answer = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in files
            ]
            self._answer(200, {"files": answer})
        else:
            base = f"http://{self.headers['Host']}/datasets/clipfit/measurements"
            self._answer(
                200,
                {
                    "commitUrl": f"{base}/commit/{'a' * 40}",
                    "commitOid": "a" * 40,
                    "pullRequestUrl": f"{base}/discussions/7",
                },
            )

    def _answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    handler = type("Handler", (Hub,), {"seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler.seen
        server.shutdown()
        thread.join()


def hub_environment(address: str, token: str, home: Path) -> dict[str, str]:
    return {
        "HF_ENDPOINT": address,
        "HF_TOKEN": token,
        "HF_HOME": str(home),
        "NO_PROXY": "127.0.0.1",
    }


def test_hub_opens_a_pull_request_with_the_real_client(
    project: Path, hub: tuple[str, list[tuple[str, bytes]]]
) -> None:
    address, seen = hub
    path = write(project, run_files.example())
    environment = hub_environment(address, "hf_right", project)
    result = submit(project, str(path), "--hub", "clipfit/measurements", **environment)
    assert result.returncode == 0, result.stderr
    assert f"Opened {address}/datasets/clipfit/measurements/discussions/7" in result.stdout
    where, body = seen[-1]
    assert where.startswith("/api/datasets/clipfit/measurements/commit/main")
    assert parse_qs(urlsplit(where).query)["create_pr"] == ["1"]
    lines = [json.loads(line) for line in body.splitlines()]
    files = [line["value"] for line in lines if line["key"] == "file"]
    assert [file["path"] for file in files] == [f"runs/rtx-4090-24gb/{path.name}"]
    assert base64.b64decode(files[0]["content"]) == path.read_bytes()


def test_hub_without_a_right_token_says_what_to_do(
    project: Path, hub: tuple[str, list[tuple[str, bytes]]]
) -> None:
    path = write(project, run_files.example())
    environment = hub_environment(hub[0], "hf_wrong", project)
    result = submit(project, str(path), "--hub", "clipfit/measurements", **environment)
    assert result.returncode == 1
    assert "The Hub refused it" in result.stderr
    assert "hf auth login" in result.stderr
    assert "Traceback" not in result.stderr
