"""The emulation of CUDA on meta, against PyTorch's header and PyTorch's own CPU autocast."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from bench.autocast import CPU, CUDA, CudaOnMeta
from tests.bench import tiny

BF16 = torch.bfloat16
Saved = list[tuple[torch.dtype, tuple[int, ...]]]


def saved_by(run: Callable[[], Any], *contexts: AbstractContextManager[Any]) -> Saved:
    """dtype and shape of every tensor saved for backward, in order."""
    seen: Saved = []

    def pack(tensor: Tensor) -> Tensor:
        seen.append((tensor.dtype, tuple(tensor.shape)))
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        for context in contexts:
            context.__enter__()
        run()
        for context in reversed(contexts):
            context.__exit__(None, None, None)
    return seen


def header(macro: str) -> set[str]:
    """Operator names of a list in the header of the installed torch."""
    path = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
    text = path.read_text(encoding="utf-8")
    body = re.split(r"\n\n|#define", text.split(f"#define {macro}(_)")[1])[0]
    return set(re.findall(r"_\((?:ADD_NS\()?(\w+)", body))


@pytest.mark.parametrize(
    ("macro", "ours"),
    [
        ("AT_FORALL_LOWER_PRECISION_FP", CUDA.lower),
        ("AT_FORALL_FP32", CUDA.fp32),
        ("AT_FORALL_FP32_SET_OPT_DTYPE", CUDA.fp32_result - {"norm"}),
        ("AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE", frozenset({"norm"})),
        ("AT_FORALL_PROMOTE", CUDA.promote),
    ],
)
def test_lists_are_those_of_the_installed_torch(macro: str, ours: frozenset[str]) -> None:
    assert header(macro) == set(ours)


class ConvNet(nn.Module):
    """Convolution, batch norm, pooling: what SlowFast and its kin are made of."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm3d(4)
        self.head = nn.Linear(4, 5)

    def forward(self, clips: Tensor) -> Tensor:
        return self.head(F.relu(self.norm(self.conv(clips))).mean((2, 3, 4)))


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)


class Products(nn.Module):
    """Products written as operators, einsum and a parameter used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8, 8))

    def forward(self, x: Tensor) -> Tensor:
        y = x @ self.weight + torch.matmul(x, self.weight)
        scores = torch.bmm(y, y.transpose(1, 2)).softmax(-1)
        return torch.cat([torch.einsum("bij,bjk->bik", scores, y), x], -1).pow(2).sum()


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "convolutions": (ConvNet, (2, 3, 4, 8, 8)),
    "tiny video transformer": (tiny.net, (2, 3, 4, 16, 16)),
    "nn.TransformerEncoderLayer": (encoder, (2, 7, 16)),
    "nn.MultiheadAttention": (lambda: Attention(), (2, 7, 16)),
    "VideoMAE": (tiny.videomae, (2, 4, 3, 32, 32)),
    "products": (Products, (2, 6, 8)),
}


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x, need_weights=True)[0]


@pytest.mark.parametrize("case", CASES)
def test_saves_what_cpu_autocast_saves(case: str) -> None:
    make, shape = CASES[case]
    model, clips = make().train(), torch.rand(shape)

    def run() -> Any:
        return model(clips)

    real = saved_by(run, torch.autocast("cpu", BF16))
    ours = saved_by(run, CudaOnMeta(BF16, lists=CPU, cuda_kernels=False))
    assert ours == real
    assert any(dtype == BF16 for dtype, _ in ours)


def test_meta_with_cuda_lists_saves_what_cpu_autocast_saves_where_the_lists_agree() -> None:
    """Linear layers and GELU are treated alike on both devices."""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    real = saved_by(lambda: model(torch.rand(3, 8)), torch.autocast("cpu", BF16))
    on_meta = model.to("meta")
    ours = saved_by(lambda: on_meta(torch.rand(3, 8, device="meta")), CudaOnMeta(BF16))
    assert ours == real


def test_norms_and_softmax_run_in_fp32_on_cuda() -> None:
    x = torch.rand(2, 4, device="meta", dtype=torch.float16, requires_grad=True)
    with CudaOnMeta(torch.float16):
        assert F.layer_norm(x, (4,)).dtype == torch.float32
        assert x.softmax(-1).dtype == torch.float32
        assert x.sum().dtype == x.exp().dtype == F.mse_loss(x, x.detach()).dtype == torch.float32
        assert (x + 1).dtype == F.gelu(x).dtype == x.mean().dtype == torch.float16
        assert x.softmax(-1, dtype=torch.float16).dtype == torch.float16


def test_fp16_softmax_makes_no_fp32_copy_of_its_input_and_bf16_softmax_does() -> None:
    kinds = {}
    for dtype in (torch.float16, BF16):
        x = torch.rand(2, 4, device="meta", dtype=dtype, requires_grad=True)
        with CudaOnMeta(dtype):
            y = x.softmax(-1)
        assert y.grad_fn is not None
        kinds[dtype] = type(y.grad_fn.next_functions[0][0]).__name__
    assert kinds == {torch.float16: "AccumulateGrad", BF16: "ToCopyBackward0"}


@pytest.mark.parametrize(("trained", "copies"), [(True, 1), (False, 2)])
def test_a_trained_weight_is_copied_once_and_a_frozen_one_at_each_use(
    trained: bool, copies: int
) -> None:
    weight = nn.Parameter(torch.rand(8, 8, device="meta"), requires_grad=trained)
    with CudaOnMeta(torch.float16) as mode:
        used = [mode._to(torch.float16, weight) for _ in range(2)]
    assert len({id(copy) for copy in used}) == copies


def test_the_copies_go_when_the_region_ends() -> None:
    weight = nn.Parameter(torch.rand(8, 8, device="meta"))
    with CudaOnMeta(torch.float16) as mode:
        F.linear(torch.rand(2, 8, device="meta"), weight)
        assert mode._copies
    assert not mode._copies


def test_dropout_keeps_a_mask_of_one_byte() -> None:
    x = torch.rand(4, 8, device="meta", requires_grad=True)
    assert (torch.bool, (4, 8)) in saved_by(lambda: F.dropout(x, 0.1), CudaOnMeta(None))
    assert (torch.bool, (4, 8)) not in saved_by(lambda: F.dropout(x, 0.0), CudaOnMeta(None))


@pytest.mark.parametrize(
    ("dtype", "masked", "node"),
    [
        (torch.float16, False, "FlashAttention"),
        (torch.float16, True, "EfficientAttention"),
        (torch.float32, False, "EfficientAttention"),
    ],
)
def test_fused_attention_stores_no_scores(dtype: torch.dtype, masked: bool, node: str) -> None:
    q = torch.rand(2, 3, 64, 16, device="meta", dtype=dtype, requires_grad=True)
    mask = torch.ones(64, 64, dtype=torch.bool, device="meta") if masked else None
    found = {}

    def run() -> None:
        found["out"] = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    saved = saved_by(run, CudaOnMeta(None))
    assert node in type(found["out"].grad_fn).__name__
    scores = {shape for _, shape in saved if shape[-2:] == (64, 64)}
    assert scores == ({(2, 3, 64, 64)} if masked else set())  # the mask itself


def test_eager_attention_stores_the_scores() -> None:
    q = torch.rand(2, 3, 64, 16, device="meta", requires_grad=True)

    def run() -> Tensor:
        return F.scaled_dot_product_attention(q, q, q)

    assert any(shape[-2:] == (64, 64) for _, shape in saved_by(run, CudaOnMeta(None, "eager")))


def test_outside_the_mode_torch_is_as_before() -> None:
    with CudaOnMeta(torch.float16):
        pass
    assert F.has_torch_function is torch.overrides.has_torch_function
    x = torch.rand(2, 8, device="meta")
    assert F.linear(x, torch.rand(8, 8, device="meta")).dtype == torch.float32
