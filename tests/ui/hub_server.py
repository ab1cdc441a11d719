"""A server of the Hub's kind on this machine, for tests with the real client."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"

VIDEOMAE_BASE: dict[str, Any] = {
    "architectures": ["VideoMAEForPreTraining"],
    "model_type": "videomae",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "image_size": 224,
    "patch_size": 16,
    "num_frames": 16,
    "tubelet_size": 2,
}
WAN_1_3B: dict[str, Any] = {
    "_class_name": "WanTransformer3DModel",
    "num_layers": 30,
    "num_attention_heads": 12,
    "attention_head_dim": 128,
    "ffn_dim": 8960,
    "patch_size": [1, 2, 2],
    "in_channels": 16,
    "text_dim": 4096,
}


Tensors = dict[str, tuple[str, list[int]]]


def safetensors(tensors: Tensors, claimed_bytes: int | None = None) -> bytes:
    """The head of a safetensors file; the tensors themselves are a little filler."""
    header = {"__metadata__": {"format": "pt"}}
    for name, (dtype, shape) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [0, 8]}
    text = json.dumps(header).encode()
    length = len(text) if claimed_bytes is None else claimed_bytes
    return struct.pack("<Q", length) + text + bytes(4096)


@dataclass
class Repository:
    """Files of a repository, or how the server refuses it."""

    files: dict[str, bytes] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    ignores_range: bool = False
    drip_s: float = 0.0
    redirect_to: str = ""
    claimed_bytes: int | None = None


def with_config(config: dict[str, Any], **files: bytes) -> Repository:
    return Repository({"config.json": json.dumps(config).encode(), **files})


class Hub(ThreadingHTTPServer):
    """`repositories` by id; `requests`: (method, path, range, authorization) of each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.requests: list[tuple[str, str, str | None, str | None]] = []
        self.stopping = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up early is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = self.path.split("?")[0]
        span = self.headers.get("Range")
        self.server.requests.append((self.command, path, span, self.headers.get("Authorization")))
        if path.startswith("/api/models/"):
            return self._api(path.removeprefix("/api/models/"), body)
        model_id, _, name = path.strip("/").partition("/resolve/main/")
        repository = self.server.repositories.get(model_id)
        if repository is None:
            return self._refuse(404, {"X-Error-Code": "RepoNotFound"})
        if repository.status != 200:
            return self._refuse(repository.status, repository.headers)
        if repository.redirect_to:
            return self._refuse(302, {"Location": repository.redirect_to + path})
        if name not in repository.files:
            return self._refuse(404, {"X-Error-Code": "EntryNotFound"})
        self._file(repository, repository.files[name], span, body)

    def _api(self, model_id: str, body: bool) -> None:
        repository = self.server.repositories.get(model_id)
        if repository is None:
            return self._refuse(404, {"X-Error-Code": "RepoNotFound"})
        siblings = [{"rfilename": name} for name in repository.files]
        info = {"id": model_id, "sha": COMMIT, "siblings": siblings}
        self._file(Repository(), json.dumps(info).encode(), None, body)

    def _refuse(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _file(self, repository: Repository, content: bytes, span: str | None, body: bool) -> None:
        part, status = content, 200
        if span and not repository.ignores_range:
            first, last = span.removeprefix("bytes=").split("-")
            part, status = content[int(first) : int(last) + 1], 206
        self.send_response(status)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", '"0123"')
        length = len(part) if repository.claimed_bytes is None else repository.claimed_bytes
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if body:
            self._send(part, repository.drip_s)

    def _send(self, part: bytes, drip_s: float) -> None:
        if not drip_s:
            self.wfile.write(part)
            return
        for byte in part:
            if self.server.stopping:
                return
            self.wfile.write(bytes([byte]))
            time.sleep(drip_s)


@contextmanager
def running() -> Iterator[Hub]:
    """A server for the length of a `with` block."""
    hub = Hub()
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.stopping = True
        hub.shutdown()
        hub.server_close()
        thread.join()
