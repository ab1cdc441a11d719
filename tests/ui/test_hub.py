"""The Hub look-up with the real huggingface_hub client against a server on this machine."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import hub_map
from calc.job import Job
from tests.fuzz import examples
from tests.ui import hub_server
from tests.ui.hub_server import COMMIT, VIDEOMAE_BASE, WAN_1_3B, Hub, Repository, safetensors
from ui import hub as look
from ui.hub import Found, HubProblem, look_up
from ui.text.hub import TEXTS

INDEX = "diffusion_pytorch_model.safetensors.index.json"
PROFILES = {"videomae-b", "videomae-l", "timesformer-b", "vjepa2-l"}


@pytest.fixture
def server() -> Iterator[Hub]:
    with hub_server.running() as hub:
        yield hub


@pytest.fixture(autouse=True)
def _fresh_client() -> Iterator[None]:
    from huggingface_hub.utils import close_session

    yield
    close_session()


def problem(server: Hub, model_id: str, **kwargs: float) -> HubProblem:
    with pytest.raises(HubProblem) as caught:
        look_up(model_id, PROFILES, server.url, **kwargs)
    return caught.value


def test_videomae_base_becomes_its_profile(server: Hub) -> None:
    weights = safetensors({"a": ("F32", [768, 768]), "b": ("F32", [768])})
    server.repositories["MCG-NJU/videomae-base"] = hub_server.with_config(
        VIDEOMAE_BASE, **{"model.safetensors": weights}
    )
    found = look_up("MCG-NJU/videomae-base", PROFILES, server.url)
    assert found.mapped.model == "videomae-b"
    assert found.mapped.values == {"model": "videomae-b", "size": 224, "frames": 16}
    assert found.mapped.notes == ("pretraining",)
    assert (found.params, dict(found.dtypes)) == (768 * 768 + 768, {"F32": 768 * 768 + 768})
    assert found.commit == COMMIT


def test_wan_becomes_the_custom_sliders_with_shards_counted(server: Hub) -> None:
    index = {"weight_map": {"a": "part-1.safetensors", "b": "part-2.safetensors"}}
    server.repositories["Wan-AI/Wan2.1-T2V-1.3B-Diffusers"] = Repository(
        {
            "model_index.json": b'{"_class_name": "WanPipeline"}',
            "transformer/config.json": json.dumps(WAN_1_3B).encode(),
            f"transformer/{INDEX}": json.dumps(index).encode(),
            "transformer/part-1.safetensors": safetensors({"a": ("F32", [1536, 8960])}),
            "transformer/part-2.safetensors": safetensors({"b": ("BF16", [10])}),
        }
    )
    found = look_up("https://huggingface.co/Wan-AI/Wan2.1-T2V-1.3B-Diffusers", PROFILES, server.url)
    assert found.mapped.values == {
        "model": "custom", "depth": 30, "width": 1536, "heads": 12, "mlp_ratio": 5.8333,
        "patch": 16, "tubelet": 4, "pattern": "joint",
    }  # fmt: skip
    Job(**found.mapped.values)  # the sliders take it
    assert found.mapped.notes == ("diffusion",)
    assert dict(found.dtypes) == {"F32": 1536 * 8960, "BF16": 10}


def test_only_small_ranges_of_weights_are_read_and_no_token_is_sent(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    repository = hub_server.with_config(VIDEOMAE_BASE)
    repository.files["model.safetensors"] = safetensors({"a": ("F32", [4])}) + bytes(3_000_000)
    server.repositories["a/b"] = repository
    found = look_up("a/b", PROFILES, server.url)
    assert sum(size for _, size in found.files) < 250_000
    assert all(authorization is None for *_, authorization in server.requests)
    ranges = [span for _, path, span, _ in server.requests if path.endswith(".safetensors")]
    assert all(ranges)
    assert all("/resolve/main/" in path for _, path, *_ in server.requests)  # nothing else is asked


def test_a_server_that_ignores_ranges_is_not_read_to_the_end(server: Hub) -> None:
    repository = hub_server.with_config(VIDEOMAE_BASE)
    repository.files["model.safetensors"] = safetensors({"a": ("F32", [4])}) + bytes(30_000_000)
    repository.ignores_range = True
    server.repositories["a/b"] = repository
    found = look_up("a/b", PROFILES, server.url)
    assert found.params == 4
    assert sum(size for _, size in found.files) < 250_000


def test_a_header_longer_than_the_first_range_is_read_in_two(server: Hub) -> None:
    tensors = {f"layer.{i}.weight": ("F16", [3, 5]) for i in range(4000)}
    repository = hub_server.with_config(
        VIDEOMAE_BASE, **{"model.safetensors": safetensors(tensors)}
    )
    server.repositories["a/b"] = repository
    assert look_up("a/b", PROFILES, server.url).params == 4000 * 15


@pytest.mark.parametrize(
    ("repository", "word"),
    [
        (Repository(status=403, headers={"X-Error-Code": "GatedRepo"}), "gated"),
        (Repository(status=401, headers={"X-Error-Code": "GatedRepo"}), "gated"),
        (Repository(status=401, headers={"X-Error-Code": "RepoNotFound"}), "missing"),
        (Repository(status=403), "private"),
        (Repository(status=429), "rate_limited"),
        (Repository(status=429, headers={"Retry-After": "30"}), "rate_limited_for"),
        (Repository(status=500), "server_error"),
        (Repository(), "no_config"),
        (Repository({"config.json": b"[1]"}), "bad_file"),
        (Repository({"config.json": b"[" * 200_000}), "bad_file"),
        (Repository({"config.json": b"\xff\xfe{"}), "bad_file"),
        (Repository({"config.json": b" " * (look.CONFIG_BYTES + 1)}), "too_large"),
        (Repository({"config.json": b"{}"}, claimed_bytes=10**13), "too_large"),
        (Repository({"config.json": b'{"model_type": "llama"}'}), "unknown_architecture"),
        (
            Repository({"model_index.json": b'{"_class_name": "FooPipeline"}'}),
            "unknown_architecture",
        ),
        (hub_server.with_config({**VIDEOMAE_BASE, "hidden_size": "768"}), "bad_value"),
        (hub_server.with_config({**VIDEOMAE_BASE, "hidden_size": 10**400}), "bad_value"),
        (hub_server.with_config({**VIDEOMAE_BASE, "num_hidden_layers": 500}), "bad_value"),
    ],
)
def test_each_failure_has_its_word(server: Hub, repository: Repository, word: str) -> None:
    server.repositories["a/b"] = repository
    assert problem(server, "a/b").word == word


def test_a_bare_401_is_no_public_model(server: Hub) -> None:
    server.repositories["a/b"] = Repository(status=401)
    assert problem(server, "a/b").word in {"missing", "private"}


def test_missing_repository(server: Hub) -> None:
    assert problem(server, "nobody/nothing").word == "missing"


@pytest.mark.parametrize(
    "model_id",
    ["", "videomae", "a/b/c", "a/../b", "a/..", "../../etc", "a b/c", "a/b?x=1", "a/" + "b" * 200],
)
def test_a_wrong_id_asks_nobody(server: Hub, model_id: str) -> None:
    assert problem(server, model_id).word == "bad_id"
    assert server.requests == []


def test_offline(server: Hub) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    start = time.monotonic()
    with pytest.raises(HubProblem) as caught:
        look_up("a/b", PROFILES, url)
    assert caught.value.word == "offline"
    assert time.monotonic() - start < 2


def test_offline_mode_of_the_client(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert problem(server, "a/b").word == "offline_mode"
    assert server.requests == []


def test_a_dripping_server_ends_in_time(server: Hub) -> None:
    server.repositories["a/b"] = hub_server.with_config(VIDEOMAE_BASE)
    server.repositories["a/b"].drip_s = 0.1
    start = time.monotonic()
    assert problem(server, "a/b", timeout_s=0.6).word == "timeout"
    assert time.monotonic() - start < 1.0


def test_a_silent_server_ends_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        start = time.monotonic()
        with pytest.raises(HubProblem) as caught:
            look_up("a/b", PROFILES, f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.5)
    assert caught.value.word == "timeout"
    assert time.monotonic() - start < 1.0


def test_endless_redirects_end(server: Hub) -> None:
    server.repositories["a/b"] = Repository(redirect_to=server.url)
    assert problem(server, "a/b").word == "offline"


def test_look_ups_that_hang_do_not_pile_up(server: Hub) -> None:
    server.repositories["a/b"] = hub_server.with_config(VIDEOMAE_BASE)
    go_on = threading.Event()

    def hang() -> Found:
        go_on.wait(30)
        raise ConnectionError

    words = []
    for _ in range(look.PARALLEL_LOOK_UPS + 2):
        with pytest.raises(HubProblem) as caught:
            look._bounded(hang, timeout_s=0.01)
        words.append(caught.value.word)
    assert words == ["timeout"] * look.PARALLEL_LOOK_UPS + ["busy"] * 2
    assert problem(server, "a/b").word == "busy"
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "hub-look-up":
            thread.join()
    assert look_up("a/b", PROFILES, server.url).mapped.model == "videomae-b"


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({}, "no_safetensors"),
        ({"model.safetensors": b""}, "bad_file"),
        ({"model.safetensors": bytes(200)}, "bad_file"),
        ({"model.safetensors": safetensors({}, claimed_bytes=1 << 62)}, "too_large"),
        ({"model.safetensors": safetensors({"a": ("F32", [-1])})}, "bad_file"),
        ({"model.safetensors.index.json": b'{"weight_map": 3}'}, "bad_file"),
        (
            {"model.safetensors.index.json": b'{"weight_map": {"a": "../x.safetensors"}}'},
            "bad_file",
        ),
        (
            {
                "model.safetensors.index.json": json.dumps(
                    {
                        "weight_map": {
                            str(i): f"m-{i}.safetensors" for i in range(look.MAX_SHARDS + 1)
                        }
                    }
                ).encode()
            },
            "too_many_shards",
        ),
    ],
)
def test_weights_that_cannot_be_counted_leave_the_config(
    server: Hub, files: dict[str, bytes], word: str
) -> None:
    server.repositories["a/b"] = hub_server.with_config(VIDEOMAE_BASE, **files)
    found = look_up("a/b", PROFILES, server.url)
    assert found.params is None
    assert found.params_problem is not None
    assert found.params_problem.word == word
    assert found.mapped.model == "videomae-b"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=examples(150), deadline=None)
@given(
    base=st.sampled_from([VIDEOMAE_BASE, WAN_1_3B]),
    changes=st.dictionaries(st.sampled_from([*VIDEOMAE_BASE, *WAN_1_3B]), JSON, max_size=5),
)
def test_any_config_is_mapped_or_refused_in_words(
    base: dict[str, object], changes: dict[str, object]
) -> None:
    try:
        mapped = hub_map.map_config({**base, **changes}, PROFILES)
    except (hub_map.UnknownArchitecture, hub_map.BadValue) as error:
        assert len(str(error)) < 400
    else:
        Job(**mapped.values)  # what is set can be set


def test_every_word_of_the_look_up_has_a_sentence() -> None:
    source = Path(look.__file__).read_text(encoding="utf-8")
    words = set(re.findall(r'HubProblem\(\s*"(\w+)"', source)) | {
        "rate_limited",
        "rate_limited_for",
    }
    assert len(words) >= 15
    assert words <= set(TEXTS)


@pytest.mark.parametrize("key", TEXTS)
def test_both_languages_fill_in_the_same(key: str) -> None:
    english, chinese = (set(re.findall(r"{(\w+)", text)) for text in TEXTS[key])
    assert english == chinese
