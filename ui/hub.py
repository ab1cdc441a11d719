"""Look up a model on the Hugging Face Hub: its config and the headers of its weights, no more.

No Streamlit here. Requests carry no token; whole files of weights are never read (the header of a
safetensors file is fetched by range); the whole call is bounded in time and in bytes. Everything
that can go wrong is a `HubProblem` with a word for `ui/text/hub.py`.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from calc import hub_map

TIMEOUT_S = 5.0
"""Bound of one look-up, whatever the network does."""
READ_TIMEOUT_S = 3.0
"""Bound of one connect or read; between reads the deadline of the whole look-up is checked."""
CONFIG_BYTES = 1 << 20
INDEX_BYTES = 16 << 20
HEADER_BYTES = 16 << 20
"""The largest config, shard index and safetensors header that are read."""
FIRST_RANGE_BYTES = 100_000
"""First range asked of a safetensors file; most headers lie within it."""
MAX_SHARDS = 200
PARALLEL_LOOK_UPS = 8
PARALLEL_READS = 8

MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


class HubProblem(Exception):
    """Why a look-up gave nothing: `word` of ui/text/hub.py and what to fill in."""

    def __init__(self, word: str, **params: object) -> None:
        super().__init__(word, params)
        self.word, self.params = word, params


@dataclass(frozen=True, slots=True)
class Found:
    """A model as read from the Hub.

    files: (name, bytes read) of everything that was read; commit: the repository's, if told.
    params: counted from the headers of the weights; None where `params_problem` says why not.
    dtypes: parameters by storage type, e.g. {"F32": 94_000_000}.
    """

    model_id: str
    commit: str
    mapped: hub_map.Mapped
    files: tuple[tuple[str, int], ...]
    params: int | None
    params_problem: HubProblem | None
    dtypes: Mapping[str, int]


def look_up(
    model_id: str, available: Collection[str], endpoint: str | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Found:  # fmt: skip
    """Read a model of the Hub, or raise HubProblem; returns within `timeout_s`, always.

    available: models that have a profile. endpoint: another server of the Hub's kind.
    """
    model_id = model_id.strip().removeprefix("https://huggingface.co/").strip("/")
    if not MODEL_ID.fullmatch(model_id) or ".." in model_id or "--" in model_id:
        raise HubProblem("bad_id", id=model_id[:100])
    repository = _Repository(model_id, endpoint, time.monotonic() + timeout_s)
    return _bounded(lambda: _read_model(repository, available), timeout_s)


_slots = threading.BoundedSemaphore(PARALLEL_LOOK_UPS)


def _bounded(work: Callable[[], Found], timeout_s: float) -> Found:
    """Run in a thread of its own and wait no longer than `timeout_s` for it.

    The thread is a daemon and keeps its slot until it really ends, so that a server which drips
    bytes can neither hold the page nor pile up threads.
    """
    if not _slots.acquire(blocking=False):
        raise HubProblem("busy")
    outcome: list[Found | Exception] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)
        finally:
            _slots.release()

    thread = threading.Thread(target=run, name="hub-look-up", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not outcome:
        raise HubProblem("timeout", seconds=timeout_s)
    if isinstance(outcome[0], Exception):
        raise _as_problem(outcome[0])
    return outcome[0]


def _read_model(repository: _Repository, available: Collection[str]) -> Found:
    config, folder = _config(repository)
    try:
        mapped = hub_map.map_config(config, available)
    except hub_map.UnknownArchitecture as error:
        raise HubProblem("unknown_architecture", name=error.name) from error
    except hub_map.BadValue as error:
        raise HubProblem(
            "bad_value", key=error.key, value=error.value, allowed=error.allowed
        ) from error
    params, problem, dtypes = _count(repository, folder)
    files = tuple(sorted(repository.files))
    return Found(repository.model_id, repository.commit, mapped, files, params, problem, dtypes)


def _config(repository: _Repository) -> tuple[dict[str, Any], str]:
    """The config, and the folder it lies in ("" or "transformer/" for a diffusers pipeline)."""
    config = repository.json("config.json", CONFIG_BYTES)
    if config is not None:
        return config, ""
    pipeline = repository.json("model_index.json", CONFIG_BYTES)
    if pipeline is None:
        raise HubProblem("no_config", id=repository.model_id)
    config = repository.json("transformer/config.json", CONFIG_BYTES)
    if config is None:
        raise HubProblem("unknown_architecture", name=hub_map.architecture(pipeline))
    return config, "transformer/"


# Weights: parameters counted from the headers of safetensors files


def _count(
    repository: _Repository, folder: str
) -> tuple[int | None, HubProblem | None, dict[str, int]]:
    """(parameters, None, by storage type), or (None, why, {}): a config alone is an answer too."""
    try:
        files = _weight_files(repository, folder)
        if not files:
            raise HubProblem("no_safetensors")
        headers = _parallel(repository.header, files)
        dtypes: dict[str, int] = {}
        for dtype, count in (tensor for header in headers for tensor in _tensors(header)):
            dtypes[dtype] = dtypes.get(dtype, 0) + count
        return sum(dtypes.values()), None, dtypes
    except Exception as error:
        return None, _as_problem(error), {}


def _parallel(read: Callable[[str], dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Read all names in a few daemon threads; an executor's would hold up the process's end."""
    waiting = list(names)
    headers: list[dict[str, Any]] = []
    errors: list[Exception] = []

    def run() -> None:
        while not errors:
            try:
                name = waiting.pop()
            except IndexError:
                return
            try:
                headers.append(read(name))
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in names[:PARALLEL_READS]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return headers


def _weight_files(repository: _Repository, folder: str) -> list[str]:
    stem = folder + ("diffusion_pytorch_model" if folder else "model")
    index = repository.json(stem + ".safetensors.index.json", INDEX_BYTES)
    if index is None:
        single = stem + ".safetensors"
        return [single] if repository.exists(single) else []
    named = index.get("weight_map")
    names = set(named.values()) if isinstance(named, dict) else set()
    if not names or not all(isinstance(name, str) and _SHARD.fullmatch(name) for name in names):
        raise HubProblem("bad_file", file=stem + ".safetensors.index.json")
    if len(names) > MAX_SHARDS:
        raise HubProblem("too_many_shards", shards=len(names), limit=MAX_SHARDS)
    return [folder + name for name in sorted(names)]


_SHARD = re.compile(r"[\w-][\w.-]{0,150}\.safetensors", re.ASCII)


def _tensors(header: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(storage type, elements) of every tensor in a safetensors header.

    >>> _tensors({"__metadata__": {}, "w": {"dtype": "F16", "shape": [2, 3]}})
    [('F16', 6)]
    """
    found = []
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        shape = tensor.get("shape") if isinstance(tensor, dict) else None
        dtype = tensor.get("dtype") if isinstance(tensor, dict) else None
        if not isinstance(shape, list) or not isinstance(dtype, str) or not all(map(_edge, shape)):
            raise HubProblem("bad_file", file="safetensors")
        found.append((dtype[:12], math.prod(shape)))
    return found


def _edge(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40


# The network


class _Repository:
    """One repository within one look-up: small files, ranges, and nothing after the deadline."""

    def __init__(self, model_id: str, endpoint: str | None, deadline: float) -> None:
        self.model_id, self.commit = model_id, ""
        self.files: list[tuple[str, int]] = []
        self._endpoint, self._deadline = endpoint, deadline

    def json(self, name: str, limit_bytes: int) -> dict[str, Any] | None:
        """A JSON object of the repository, None where there is no such file."""
        body = self._read(name, limit_bytes)
        return None if body is None else _parse(name, body)

    def exists(self, name: str) -> bool:
        return self._read(name, FIRST_RANGE_BYTES, (0, 7)) is not None

    def header(self, name: str) -> dict[str, Any]:
        """The header of a safetensors file: 8 bytes of length, then JSON. Never the tensors."""
        start = self._read(name, FIRST_RANGE_BYTES, (0, FIRST_RANGE_BYTES - 1)) or b""
        length = int.from_bytes(start[:8], "little")
        if len(start) < 8 or length < 2:
            raise HubProblem("bad_file", file=name)
        if length > HEADER_BYTES:
            raise HubProblem("too_large", file=name, mib=length >> 20, limit=HEADER_BYTES >> 20)
        missing = 8 + length - len(start)
        if missing > 0:
            rest = (len(start), len(start) + missing - 1)
            start += self._read(name, missing, rest) or b""
        return _parse(name, start[8 : 8 + length])

    def _read(
        self, name: str, limit_bytes: int, span: tuple[int, int] | None = None
    ) -> bytes | None:
        """Bytes of a file, None if the repository has no such file.

        A whole file larger than the limit is a HubProblem; of a range at most `limit_bytes` are
        read, also where a server ignores the range.
        """
        from huggingface_hub import get_session

        headers = {"User-Agent": "clipfit", "Accept-Encoding": "identity"}
        if span:
            headers["Range"] = f"bytes={span[0]}-{span[1]}"
        with get_session().stream(
            "GET", self._url(name), headers=headers, timeout=self._left_s(), follow_redirects=True
        ) as response:
            if response.status_code >= 400:
                _refuse_unless_no_file(response)
                return None
            if span and span[0] and response.status_code != 206:
                raise HubProblem("bad_file", file=name)
            self.commit = self.commit or response.headers.get("X-Repo-Commit", "")[:40]
            body = self._body(response, name, limit_bytes, whole=span is None)
        self.files.append((name, len(body)))
        return body

    def _body(self, response: Any, name: str, limit_bytes: int, whole: bool) -> bytes:
        told = response.headers.get("Content-Length", "")
        size = int(told) if re.fullmatch(r"\d{1,20}", told, re.ASCII) else 0
        chunks, body = response.iter_raw(1 << 16), b""
        while True:
            self._left_s()
            if whole and max(size, len(body)) > limit_bytes:
                mib = max(size, len(body)) / (1 << 20)
                raise HubProblem("too_large", file=name, mib=mib, limit=limit_bytes >> 20)
            chunk = b"" if len(body) > limit_bytes else next(chunks, b"")
            if not chunk:
                break
            body += chunk
        return body[:limit_bytes]

    def _url(self, name: str) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(self.model_id, name, endpoint=self._endpoint)

    def _left_s(self) -> float:
        """Seconds for the next read, or the end of the look-up."""
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise HubProblem("timeout", seconds=TIMEOUT_S)
        return min(READ_TIMEOUT_S, left_s)


def _parse(name: str, body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HubProblem("bad_file", file=name) from error
    if not isinstance(parsed, dict):
        raise HubProblem("bad_file", file=name)
    return parsed


def _refuse_unless_no_file(response: Any) -> None:
    """Raise every refusal except "this repository has no such file".

    The answer's own body is left unread: it may be of any length.
    """
    from huggingface_hub.errors import EntryNotFoundError
    from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]

    headers = [(k, v) for k, v in response.headers.items() if not k.startswith("content-")]
    bare = type(response)(response.status_code, headers=headers, request=response.request)
    try:
        hf_raise_for_status(bare)
    except EntryNotFoundError:
        return


def _as_problem(error: Exception) -> HubProblem:
    """Whatever the client raised, as a word of ours."""
    from huggingface_hub.errors import (
        DisabledRepoError,
        GatedRepoError,
        HfHubHTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, HubProblem):
        return error
    if isinstance(error, GatedRepoError):  # before its parent, RepositoryNotFoundError
        return HubProblem("gated")
    if isinstance(error, (RepositoryNotFoundError, RevisionNotFoundError)):
        return HubProblem("missing")
    if isinstance(error, DisabledRepoError):
        return HubProblem("private")
    if isinstance(error, HfHubHTTPError):
        return _http_problem(error.response)
    if isinstance(error, OfflineModeIsEnabled):
        return HubProblem("offline_mode")
    if not isinstance(error, HfHubHTTPError.__bases__):  # the HTTP client's own errors and OSError
        raise error
    late = "Timeout" in type(error).__name__
    return HubProblem("timeout", seconds=TIMEOUT_S) if late else HubProblem("offline")


def _http_problem(response: Any) -> HubProblem:
    status = response.status_code
    if status in (401, 403):
        return HubProblem("private")
    if status == 404:
        return HubProblem("missing")
    if status == 429:
        told = response.headers.get("Retry-After", "")
        wait = int(told) if re.fullmatch(r"\d{1,6}", told, re.ASCII) else None
        return HubProblem("rate_limited" if wait is None else "rate_limited_for", seconds=wait)
    return HubProblem("server_error", status=status)
