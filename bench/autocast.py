"""What CUDA would do, on meta tensors: autocast, fused attention and dropout without a GPU.

A meta tensor has a shape and a dtype but no data, so a model can be run for its memory in seconds
on any machine. Three things then differ from CUDA, because PyTorch decides them by device:

* ``torch.autocast`` ignores meta tensors: no half-precision copies, no fp32 norms;
* ``scaled_dot_product_attention`` takes the math path, which stores the score matrix;
* dropout keeps its noise in the input's dtype instead of a one-byte mask.

`CudaOnMeta` is a mode that puts them right, one function call at a time. The lists of functions are
those of ``ATen/autocast_mode.h`` (the reference of ``torch.amp``); a test compares them with the
header of the installed torch. The same mode with the CPU's lists is tested against PyTorch's own
CPU autocast, saved tensor by saved tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten
Call = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Lists:
    """Which functions autocast runs in which dtype, by name.

    lower: inputs are cast to the autocast dtype. fp32: inputs are cast up. fp32_result: the result
    is asked for in fp32 by its dtype argument, without a copy of the input. promote: inputs of
    several dtypes are cast to the widest.
    """

    lower: frozenset[str]
    fp32: frozenset[str]
    fp32_result: frozenset[str]
    promote: frozenset[str]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CUDA = Lists(
    lower=_names(
        "_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d"
        " conv_transpose3d convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot"
        " linear addbmm baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell"
        " _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell"
        " _scaled_dot_product_flash_attention scaled_dot_product_attention"
    ),
    fp32=_names(
        "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow"
        " softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm nuclear_norm"
        " cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d"
        " hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss"
        " margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss"
        " multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp"
        " upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d"
        " _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d"
        " upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d"
        " upsample_bicubic2d _upsample_bicubic2d_aa"
    ),
    fp32_result=_names(
        "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum norm"
    ),
    promote=_names(
        "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add"
    ),
)
"""CUDA's lists: ``AT_FORALL_*`` in ``ATen/autocast_mode.h``, torch 2.14."""

CPU = Lists(
    lower=_names(
        "conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm addbmm linear _addmm_activation"
        " matmul conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d prelu"
        " scaled_dot_product_attention"
    ),
    fp32=_names(
        "avg_pool3d binary_cross_entropy grid_sampler polar prod quantile nanquantile stft cdist"
        " trace view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve"
        " mse_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss poisson_nll_loss"
        " smooth_l1_loss l1_loss huber_loss margin_ranking_loss soft_margin_loss"
        " triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss"
        " binary_cross_entropy_with_logits"
    ),
    fp32_result=frozenset(),
    promote=_names("stack cat index_copy"),
)
"""The CPU's lists (``torch.amp`` reference, "CPU Ops"): softmax and norms stay in bf16 there."""

# Python functions that autocast sees through: what counts are the ATen calls inside them.
SAME = {"cross_entropy_loss": "log_softmax", "vector_norm": "linalg_vector_norm"}
TRANSPARENT = ("torch.nn.functional", "torch.functional", "torch._tensor")
GUARDS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def aten_name(func: Call) -> str:
    """Name of the ATen operator behind a function or a tensor method.

    >>> aten_name(torch.Tensor.__matmul__), aten_name(torch.softmax)
    ('matmul', 'softmax')
    """
    name = getattr(func, "__name__", "")
    name = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    return SAME.get(name, name)


class CudaOnMeta(TorchFunctionMode):
    """Runs functions on meta tensors as CUDA would run them.

    dtype: the autocast dtype, None where autocast is off. attention: "sdpa" sends
    ``scaled_dot_product_attention`` to the fused kernel CUDA would choose, "eager" leaves the
    score matrix. lists: which functions are cast. cuda_kernels: False keeps the device's own
    attention, softmax and dropout (the test against the CPU).

    One half-precision copy of each fp32 leaf parameter is kept until the mode is left, as
    autocast's cache does.
    """

    def __init__(
        self,
        dtype: torch.dtype | None,
        attention: str = "sdpa",
        lists: Lists = CUDA,
        cuda_kernels: bool = True,
    ) -> None:
        super().__init__()
        self.dtype, self.attention, self.lists = dtype, attention, lists
        self.cuda_kernels = cuda_kernels
        self._copies: dict[int, tuple[Tensor, Tensor]] = {}
        self._guards = ExitStack()

    def __enter__(self) -> CudaOnMeta:
        self._guards.enter_context(_see_through_python())
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._guards.close()
        self._copies.clear()

    def __torch_function__(
        self, func: Call, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = aten_name(func)
        args, kwargs = self._cast(name, args, kwargs or {})
        kernel = _KERNELS.get(name) if self.cuda_kernels else None
        result = kernel(self, *args, **kwargs) if kernel else NotImplemented
        return func(*args, **kwargs) if result is NotImplemented else result

    def _cast(self, name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments as autocast would hand them on."""
        if self.dtype is None:
            return args, kwargs
        if name in self.lists.lower:
            return self._all_to(self.dtype, (args, kwargs))
        if name in self.lists.fp32:
            return self._all_to(torch.float32, (args, kwargs))
        if name in self.lists.fp32_result and _eligible(args[0]):
            return self._ask_for_fp32(name, args, kwargs)
        if name in self.lists.promote and torch.float32 in _dtypes((args, kwargs)):
            return self._all_to(torch.float32, (args, kwargs))
        return args, kwargs

    def _ask_for_fp32(self, name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """softmax, sum ...: fp32 by the dtype argument; bf16 softmax copies its input first."""
        given = kwargs.get("dtype") is not None or any(isinstance(a, torch.dtype) for a in args)
        if given or args[0].dtype == torch.float32:
            return args, kwargs
        if name in ("softmax", "log_softmax"):
            fused = args[0].dtype == torch.float16 and self.cuda_kernels
            return (args, kwargs) if fused else self._all_to(torch.float32, (args, kwargs))
        return args, {**kwargs, "dtype": torch.float32}

    def _all_to(self, dtype: torch.dtype, tree: Any) -> Any:
        """The same arguments with every floating tensor in `dtype`."""
        if isinstance(tree, Tensor):
            return self._to(dtype, tree)
        if isinstance(tree, list | tuple):
            return type(tree)(self._all_to(dtype, item) for item in tree)
        if isinstance(tree, Mapping):
            return {key: self._all_to(dtype, item) for key, item in tree.items()}
        return tree

    def _to(self, dtype: torch.dtype, tensor: Tensor) -> Tensor:
        if tensor.dtype == dtype or not _eligible(tensor):
            return tensor
        leaf = tensor.requires_grad and tensor.is_leaf and not tensor._is_view()
        if dtype != self.dtype or tensor.dtype != torch.float32 or not leaf:
            return tensor.to(dtype)
        if id(tensor) not in self._copies:  # the parameter is kept too: ids are reused
            self._copies[id(tensor)] = (tensor, tensor.to(dtype))
        return self._copies[id(tensor)][1]

    # Kernels of CUDA. NotImplemented: call the function as it stands.

    def _dropout(self, input: Tensor, p: float = 0.5, train: bool = True, **_: Any) -> Any:
        """A one-byte mask instead of noise in the dtype of the input."""
        return aten.native_dropout(input, p, True)[0] if train and 0 < p < 1 else NotImplemented

    def _softmax(self, input: Tensor, dim: Any = None, *rest: Any, **kwargs: Any) -> Any:
        return self._half_to_float(aten._softmax, input, dim, rest, kwargs)

    def _log_softmax(self, input: Tensor, dim: Any = None, *rest: Any, **kwargs: Any) -> Any:
        return self._half_to_float(aten._log_softmax, input, dim, rest, kwargs)

    def _half_to_float(self, op: Any, input: Tensor, dim: Any, rest: Any, kwargs: Any) -> Any:
        """CUDA's softmax reads fp16 and writes fp32 in one kernel; other dtypes go by a copy."""
        asked = kwargs.get("dtype") or next((a for a in rest if isinstance(a, torch.dtype)), None)
        wants_fp32 = asked == torch.float32 or (asked is None and self.dtype is not None)
        fused = input.dtype == torch.float16 and wants_fp32 and isinstance(dim, int)
        return op(input, dim, True) if fused else NotImplemented

    def _sdpa(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        """Flash attention for half precision without a mask, else the memory-efficient kernel."""
        if self.attention == "eager" or enable_gqa or query.dim() != 4:
            return NotImplemented
        half = query.dtype in (torch.float16, torch.bfloat16)
        if half and attn_mask is None and query.shape[-1] <= 256:
            return aten._scaled_dot_product_flash_attention(
                query, key, value, dropout_p, is_causal, False, scale=scale
            )[0]
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -1e4)
        if attn_mask is not None:
            attn_mask = attn_mask.expand(*query.shape[:3], key.shape[2])
        saves = any(t.requires_grad for t in (query, key, value))
        return aten._scaled_dot_product_efficient_attention(
            query, key, value, attn_mask, saves, dropout_p, is_causal, scale=scale
        )[0]


_KERNELS: dict[str, Call] = {
    "dropout": CudaOnMeta._dropout,
    "softmax": CudaOnMeta._softmax,
    "log_softmax": CudaOnMeta._log_softmax,
    "scaled_dot_product_attention": CudaOnMeta._sdpa,
}


def _eligible(tensor: Any) -> bool:
    return (
        isinstance(tensor, Tensor)
        and tensor.is_floating_point()
        and tensor.dtype != torch.float64
        and not tensor.is_nested
    )


def _dtypes(tree: Any) -> set[torch.dtype]:
    if isinstance(tree, Tensor):
        return {tree.dtype}
    items = tree.values() if isinstance(tree, Mapping) else tree
    if not isinstance(tree, list | tuple | Mapping):
        return set()
    return set().union(*(_dtypes(item) for item in items))


@contextmanager
def _see_through_python() -> Iterator[None]:
    """Let torch's Python functions run their bodies, so that a mode sees the calls inside them.

    ``F.multi_head_attention_forward``, ``F.layer_norm``, ``Tensor.norm`` and the like hand
    themselves to an active mode as one call, with the mode switched off inside. Autocast works
    below them.
    """
    with ExitStack() as stack:
        for module in TRANSPARENT:
            for guard in GUARDS:
                if hasattr(torch.overrides, guard):
                    name = f"{module}.{guard}"
                    stack.enter_context(mock.patch(name, _never, create=True))
        yield


def _never(*_: Any) -> bool:
    return False
