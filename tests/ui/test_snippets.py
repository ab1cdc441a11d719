"""The guide's snippets are run: what it calls wrong is wrong, what it calls right is right."""

from __future__ import annotations

import copy
import importlib.util
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from ui.snippets import FOLDER

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

NAMES = sorted(path.stem for path in FOLDER.glob("*_*.py") if not path.stem.startswith("_"))


def snippet(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class LiveBytes(TorchDispatchMode):
    """Peak of the bytes of all storages that were made inside and are still alive."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.peak = 0, 0
        self._seen: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._track(tensor.untyped_storage())
        return result

    def _track(self, storage: Any) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._seen:
            return
        self._seen.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._free, key, size)

    def _free(self, key: int, size: int) -> None:
        self._seen.discard(key)
        self.now -= size


def peak_bytes(work: Callable[[], object]) -> int:
    with LiveBytes() as live:
        work()
    return live.peak


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.back(torch.relu(self.wide(self.norm(x))))


class TinyVideo(nn.Module):
    """Patches of 2 frames x 8 x 8 pixels, six blocks, four classes: (B, 3, T, H, W) -> (B, 4)."""

    def __init__(self, width: int = 32, depth: int = 6) -> None:
        super().__init__()
        self.patch = nn.Conv3d(3, width, (2, 8, 8), (2, 8, 8))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 4)

    def forward(self, clips: Any) -> Any:
        tokens = self.patch(clips).flatten(2).transpose(1, 2)
        for block in self.blocks:
            tokens = block(tokens)
        return self.head(tokens.mean(1))


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    torch.manual_seed(0)
    yield


def batches(count: int, each: int) -> list[tuple[Any, Any]]:
    return [(torch.randn(each, 3, 8, 32, 32), torch.randint(4, (each,))) for _ in range(count)]


def gradients(model: Any) -> Any:
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def sgd(model: Any) -> Any:
    return torch.optim.SGD(model.parameters(), lr=0.0)


def test_every_snippet_is_tested_here() -> None:
    assert NAMES == [
        "accumulation_right", "accumulation_wrong", "checkpointing_right", "checkpointing_wrong",
        "precision_bf16", "precision_right", "precision_wrong",
    ]  # fmt: skip


def test_both_ways_of_accumulating_give_the_gradients_of_the_whole_batch() -> None:
    micro = batches(4, 2)
    whole = [(torch.cat([c for c, _ in micro]), torch.cat([y for _, y in micro]))]
    results = []
    for name, data in (("right", micro), ("wrong", micro), ("right", whole)):
        torch.manual_seed(1)
        model = TinyVideo()
        snippet(f"accumulation_{name}").train_step(model, sgd(model), data)
        results.append(gradients(model))
    torch.testing.assert_close(results[0], results[1])
    torch.testing.assert_close(results[0], results[2])


def test_wrong_accumulation_takes_the_memory_of_the_whole_batch() -> None:
    model = TinyVideo()
    micro = batches(4, 2)
    peaks = {
        name: peak_bytes(
            lambda name=name: snippet(f"accumulation_{name}").train_step(model, sgd(model), micro)
        )
        for name in ("wrong", "right")
    }
    whole = batches(1, 8)
    at_once = peak_bytes(lambda: snippet("accumulation_right").train_step(model, sgd(model), whole))
    assert peaks["wrong"] > 0.85 * at_once
    assert peaks["right"] < 0.5 * at_once


def tiny_gradients(name: str, *extra: Any, **kwargs: Any) -> Any:
    """Gradients of a linear model whose inputs are so small that they fall below fp16."""
    model = nn.Linear(16, 4, bias=False)
    clips, labels = torch.full((8, 16), 1.2e-7), torch.tensor([0, 0, 0, 1, 1, 2, 2, 3])
    snippet(name).train_step(model, sgd(model), *extra, clips, labels, **kwargs)
    return model.weight.grad


def test_pure_fp16_loses_small_gradients_and_the_scaler_keeps_them() -> None:
    assert not tiny_gradients("precision_wrong").any()
    scaler = torch.amp.GradScaler("cpu")
    assert tiny_gradients("precision_right", scaler, device="cpu").any()
    assert tiny_gradients("precision_bf16", device="cpu").any()


def test_pure_fp16_weights_do_not_take_small_updates() -> None:
    data = torch.randn(8, 16), torch.randint(4, (8,))
    moved = {}
    for name in ("wrong", "right"):
        torch.manual_seed(1)
        model = nn.Linear(16, 4, bias=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
        extra = (torch.amp.GradScaler("cpu"),) if name == "right" else ()
        kwargs = {"device": "cpu"} if name == "right" else {}
        before = model.weight.detach().clone()
        before = before if name == "right" else before.half()
        snippet(f"precision_{name}").train_step(model, optimizer, *extra, *data, **kwargs)
        moved[name] = (model.weight.detach() != before).float().mean().item()
    assert moved["right"] > 0.9
    assert moved["wrong"] < 0.5 * moved["right"]


def test_the_scaled_step_skips_what_is_not_finite() -> None:
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scaler = torch.amp.GradScaler("cpu")
    before = copy.deepcopy(model.state_dict())
    clips = torch.full((2, 16), float("inf"))
    snippet("precision_right").train_step(
        model, optimizer, scaler, clips, torch.zeros(2, dtype=torch.long), device="cpu"
    )
    assert scaler.get_scale() < 65536.0
    for key, value in model.state_dict().items():
        torch.testing.assert_close(value, before[key])


def run(model: Any, clips: Any) -> Callable[[], None]:
    return lambda: model(clips).sum().backward()


def test_the_wrapper_saves_nothing_and_blocks_do() -> None:
    clips = torch.randn(8, 3, 8, 32, 32)
    model = TinyVideo()
    run(model, clips)()  # gradients exist from here on
    plain = peak_bytes(run(model, clips))
    expected = gradients(model) / 2
    wrapper = snippet("checkpointing_wrong").CheckpointedModel(model)
    wrapped = peak_bytes(run(wrapper, clips))
    snippet("checkpointing_right").checkpoint_blocks(model.blocks)
    blocks = peak_bytes(run(model, clips))
    torch.testing.assert_close(gradients(model) / 4, expected)
    assert wrapped >= 0.99 * plain
    assert blocks < 0.6 * plain


def test_the_wrapper_splits_the_colours() -> None:
    seen = []
    wrapper = snippet("checkpointing_wrong").CheckpointedModel(TinyVideo())
    wrapper._run = lambda *pieces: seen.extend(pieces) or pieces[0].mean()
    wrapper(torch.randn(2, 3, 8, 32, 32, requires_grad=True))
    assert [tuple(piece.shape) for piece in seen] == [(2, 1, 8, 32, 32)] * 3
