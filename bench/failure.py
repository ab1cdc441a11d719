"""Why a step failed: out of memory, an error of this point, or a card to trust no longer."""

from __future__ import annotations

import re

from calc.runs import OutOfMemory

MIB = 2**20
_UNIT_MIB = {"bytes": 1 / MIB, "KiB": 1 / 1024, "MiB": 1.0, "GiB": 1024.0}

# Beside torch.OutOfMemoryError: memory that the libraries ask the driver for without the allocator.
OUT_OF_MEMORY = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
    "Failed to CUDA calloc",  # NCCL
    "can't allocate memory",  # the CPU's allocator
    "not enough memory",
)
# After these the context is gone, and what follows on this card is worth nothing.
BROKEN = (
    "illegal memory access",
    "misaligned address",
    "unspecified launch failure",
    "device-side assert",
    "uncorrectable ECC",
    "hardware stack error",
    "illegal instruction",
    "GPU is lost",
    "fallen off the bus",
    "CUDA driver",
    "CUDA error: unknown error",
    "CUDA error: initialization error",
    "no CUDA-capable device",
    "devices are busy or unavailable",
    "launch timed out",
    "NVML_ERROR",
)


def kind(error: BaseException) -> str:
    """What an error means: "oom", "broken" (stop everything) or "failed" (this point only).

    >>> kind(RuntimeError("CUDA error: an illegal memory access was encountered"))
    'broken'
    >>> kind(RuntimeError("CUDA error: out of memory")), kind(ValueError("odd frame count"))
    ('oom', 'failed')
    """
    text = str(error)
    if type(error).__name__ == "OutOfMemoryError" or isinstance(error, MemoryError):
        return "oom"
    if any(part in text for part in OUT_OF_MEMORY):
        return "oom"
    return "broken" if any(part in text for part in BROKEN) else "failed"


def out_of_memory(text: str) -> OutOfMemory:
    """The allocator's own numbers from its message.

    >>> out_of_memory("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
    ... "of 23.64 GiB of which 1.50 GiB is free. Including non-PyTorch memory, this process has "
    ... "22.10 GiB memory in use. Of the allocated memory 20.00 GiB is allocated by PyTorch, and "
    ... "512.00 MiB is reserved by PyTorch but unallocated.")
    OutOfMemory(requested_mib=2048.0, allocated_mib=20480.0, reserved_mib=20992.0, \
free_mib=1536.0, total_mib=24207.36)
    """
    allocated_mib = _amount(text, r"{} (?:is|are) allocated by PyTorch")
    unused_mib = _amount(text, r"{} (?:is|are) reserved by PyTorch but unallocated")
    both = allocated_mib is not None and unused_mib is not None
    return OutOfMemory(
        requested_mib=_amount(text, r"[Tt]ried to allocate {}"),
        allocated_mib=allocated_mib,
        reserved_mib=allocated_mib + unused_mib if both else None,  # type: ignore[operator]
        free_mib=_amount(text, r"of which {} is free"),
        total_mib=_amount(text, r"total capacity of {}"),
    )


def _amount(text: str, pattern: str) -> float | None:
    """An amount of memory at a place in a message, MiB."""
    found = re.search(pattern.format(r"([\d.]+) (bytes|KiB|MiB|GiB)"), text)
    return float(found[1]) * _UNIT_MIB[found[2]] if found else None
