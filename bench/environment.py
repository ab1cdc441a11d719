"""Where a measurement was made: card, driver, versions, host. No serials, names or paths."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from bench.nvml import Gpu, driver_version, open_gpu
from calc.runs import Environment

GIB = 2**30
CPU = "CPU"

# What PyTorch calls a card, against the names of measurements/cards.yaml. The left side is the
# marketing name the driver reports, as listed in NVIDIA's driver README, appendix "Supported
# NVIDIA GPU Products": https://download.nvidia.com/XFree86/Linux-x86_64/580.82.07/README/supportedchips.html
# A name that is not here is kept as reported.
CARD_NAMES = {
    "NVIDIA A100-PCIE-40GB": "A100 40GB PCIe",
    "NVIDIA A100-SXM4-40GB": "A100 40GB SXM4",
    "NVIDIA A100 80GB PCIe": "A100 80GB PCIe",
    "NVIDIA A100-SXM4-80GB": "A100 80GB SXM4",
    "NVIDIA H100 PCIe": "H100 80GB PCIe",
    "NVIDIA H100 80GB HBM3": "H100 80GB SXM5",
    "NVIDIA H200": "H200 141GB",
    "NVIDIA H20": "H20 96GB",
    "NVIDIA L40S": "L40S 48GB",
    "NVIDIA RTX A6000": "RTX A6000 48GB",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada 48GB",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "RTX PRO 6000 96GB",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000 96GB",
    "NVIDIA L4": "L4 24GB",
    "NVIDIA A10": "A10 24GB",
    "NVIDIA GeForce RTX 3090": "RTX 3090 24GB",
    "NVIDIA GeForce RTX 4090": "RTX 4090 24GB",
    "NVIDIA GeForce RTX 4090 D": "RTX 4090 D 24GB",
    "NVIDIA GeForce RTX 5090": "RTX 5090 32GB",
    "Tesla T4": "T4 16GB",
    "Tesla V100-SXM2-16GB": "V100 16GB SXM2",
    "Tesla V100-SXM2-32GB": "V100 32GB SXM2",
}
MODIFIED_4090_FROM_GIB = 40.0  # a 4090 has 24; sellers fit 48 to rebuilt ones

LIBRARIES = ("torchvision", "transformers", "timm", "pytorchvideo", "bitsandbytes", "torchcodec")


class NoGpu(ValueError):
    """A GPU is wanted and there is none."""


CARD_FACTS = (
    "gpu", "memory_total_gib", "memory_nvml_gib", "compute_capability", "power_limit_w",
    "power_limit_default_w", "ecc", "pcie_gen", "pcie_width", "nvlinks", "display",
    "other_processes", "other_used_mib",
)  # fmt: skip
"""Fields of Environment that are None without a GPU."""

NO_GPU = (
    "No CUDA GPU was found. What works without one: `python -m bench trace` (memory of a model), "
    "`profile`, `check`, `env`, and every measuring command with --device cpu, to try it out."
)


def card_of(environment: Environment) -> str:
    """The name of the card that a file is about."""
    if environment.gpu is None:
        return CPU
    return card_name(environment.gpu, environment.memory_total_gib or 0.0)


def card_name(reported: str, total_gib: float) -> str:
    """The card's name here, or the reported one.

    >>> card_name("NVIDIA GeForce RTX 4090", 23.6)
    'RTX 4090 24GB'
    >>> card_name("NVIDIA GeForce RTX 4090", 47.5)
    'RTX 4090 48GB (modified)'
    >>> card_name("NVIDIA GeForce GTX 1080", 7.9)
    'NVIDIA GeForce GTX 1080'
    """
    if reported == "NVIDIA GeForce RTX 4090" and total_gib >= MODIFIED_4090_FROM_GIB:
        return "RTX 4090 48GB (modified)"
    return CARD_NAMES.get(reported, reported)


def collect(device: str = "cuda", index: int = 0) -> Environment:
    """Everything about this machine that goes into a file; unknown is None.

    `device` is "cuda" or "cpu"; on "cuda" this makes a context, so call it in a child process.
    """
    facts = {**dict.fromkeys(CARD_FACTS), **_software(), **_host(), **_flags()}
    if device == "cuda":
        facts |= _gpu(index)
    return Environment(device=device, **facts)  # type: ignore[arg-type]


def _gpu(index: int) -> dict[str, Any]:
    import torch

    properties = torch.cuda.get_device_properties(index)
    facts = {
        "gpu": properties.name,
        "memory_total_gib": round(properties.total_memory / GIB, 3),
        "compute_capability": f"{properties.major}.{properties.minor}",
    }
    gpu = open_gpu(device_uuid(index))
    return facts if gpu is None else {**facts, **driver_facts(gpu, os.getpid())}


def device_uuid(index: int) -> str | None:
    """UUID of a CUDA device, to find the same card in NVML; it is never recorded."""
    import torch

    uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None)
    return None if uuid is None else str(uuid)


def driver_facts(gpu: Gpu, own_pid: int) -> dict[str, Any]:
    """What NVML says about the card before this process takes memory on it.

    A context of this process that is there already is taken off where NVML knows its number; in a
    container it does not.
    """
    total_mib, used_mib = gpu.memory_mib()
    processes = gpu.processes()
    own_mib = processes.pop(own_pid, None) or 0.0
    return {
        "memory_nvml_gib": None if total_mib is None else round(total_mib / 1024, 3),
        "power_limit_w": gpu.watts("nvmlDeviceGetEnforcedPowerLimit"),
        "power_limit_default_w": gpu.watts("nvmlDeviceGetPowerManagementDefaultLimit"),
        "ecc": gpu.ecc(),
        "pcie_gen": gpu.ask(
            "nvmlDeviceGetMaxPcieLinkGeneration"
        ),  # the current one drops when idle
        "pcie_width": gpu.ask("nvmlDeviceGetCurrPcieLinkWidth"),
        "nvlinks": gpu.nvlinks(),
        "display": _as_bool(gpu.ask("nvmlDeviceGetDisplayActive")),
        "other_processes": len(processes),
        "other_used_mib": None if used_mib is None else round(max(used_mib - own_mib, 0.0), 1),
    }


def _as_bool(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _software() -> dict[str, Any]:
    import torch

    cudnn = torch.backends.cudnn.version() if torch.version.cuda else None
    return {
        "driver": driver_version(),
        "cuda": torch.version.cuda,
        "cudnn": None if cudnn is None else cudnn_version(cudnn),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "libraries": _libraries(),
    }


def cudnn_version(number: int) -> str:
    """cuDNN's number as people write it; since version 9 it has one digit more.

    >>> cudnn_version(8500), cudnn_version(91002)
    ('8.5.0', '9.10.2')
    """
    thousand = 10000 if number >= 90000 else 1000
    return f"{number // thousand}.{number % thousand // 100}.{number % 100}"


def _libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _host() -> dict[str, Any]:
    return {
        "os": _os_name(),
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "ram_gib": _ram_gib(),
    }


def _os_name() -> str:
    """System, version and distribution; the kernel's own suffix is left out, it can name people."""
    kernel = re.match(r"[\d.]*\d", platform.release())
    name = f"{platform.system()} {kernel[0] if kernel else ''}".strip()
    try:
        return f"{name} ({platform.freedesktop_os_release()['PRETTY_NAME']})"
    except (OSError, AttributeError, KeyError):
        return name


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def _ram_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _flags() -> dict[str, Any]:
    """Settings of torch that change speed or memory, as they stand now."""
    import torch

    return {
        "allocator": os.environ.get("PYTORCH_ALLOC_CONF")
        or os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def pick_device(asked: str) -> str:
    """The device to measure on; raises where a GPU is wanted and there is none."""
    if asked == "cpu":
        return "cpu"
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # asks without making a context
    import torch

    if not torch.cuda.is_available():
        raise NoGpu(NO_GPU)
    return "cuda"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `env`."""
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda if there is one")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a list")


def main(args: argparse.Namespace) -> int:
    """Print what a file would record about this machine."""
    try:
        device = pick_device(args.device or "cuda")
    except NoGpu as error:
        if args.device == "cuda":
            raise
        print(error, file=sys.stderr)
        device = "cpu"
    facts = collect(device)
    shown = {"card": card_of(facts), **dataclasses.asdict(facts)}
    if args.json:
        print(json.dumps(shown, indent=2))
        return 0
    for key, value in shown.items():
        print(f"{key:22} {_shown(value)}")
    return 0


def _shown(value: Any) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "default"
