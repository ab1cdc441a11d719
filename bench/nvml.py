"""What the driver says about a card: memory, power, clocks, throttling (package nvidia-ml-py).

Every reading is None where the card, the driver or the library does not give it.
"""

from __future__ import annotations

import statistics
import threading
import time
from dataclasses import dataclass
from typing import Any

MIB = 2**20
SAMPLE_EVERY_S = 0.25

# Bits of nvmlDeviceGetCurrentClocksEventReasons, nvml.h: nvmlClocksEventReasons*.
# "idle" and "none" are left out: they do not slow a running step.
THROTTLE_REASONS = {
    0x002: "application_clocks",
    0x004: "power_cap",
    0x008: "hardware_slowdown",
    0x010: "sync_boost",
    0x020: "thermal_software",
    0x040: "thermal_hardware",
    0x080: "power_brake",
    0x100: "display_clocks",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at a card under load."""

    utilisation_pct: float | None
    power_w: float | None
    sm_mhz: float | None
    memory_mhz: float | None
    temperature_c: float | None
    throttle_bits: int


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """A card over the steady state: means of utilisation and power, medians of clocks."""

    utilisation_pct: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] | None = None


def throttle_names(bits: int) -> tuple[str, ...]:
    """Reasons set in NVML's bit mask.

    >>> throttle_names(0x24)
    ('power_cap', 'thermal_software')
    """
    return tuple(name for bit, name in THROTTLE_REASONS.items() if bits & bit)


class Gpu:
    """One card as NVML sees it; `library` is the module pynvml or one with the same functions."""

    def __init__(self, handle: Any, library: Any) -> None:
        self.handle = handle
        self.library = library

    def ask(self, function: str, *arguments: Any) -> Any:
        """The answer of one NVML function about this card, or None."""
        try:
            return getattr(self.library, function)(self.handle, *arguments)
        except (AttributeError, self.library.NVMLError):
            return None

    def memory_mib(self) -> tuple[float | None, float | None]:
        """Total and used memory of the whole card, MiB, as nvidia-smi shows them."""
        info = self.ask("nvmlDeviceGetMemoryInfo", self.library.nvmlMemory_v2)
        if info is None:  # drivers before 510 know the first version, which counts its own reserve
            info = self.ask("nvmlDeviceGetMemoryInfo")
        return (None, None) if info is None else (info.total / MIB, info.used / MIB)

    def processes(self) -> dict[int, float | None]:
        """Process id to MiB used, of those that hold memory on the card (graphics ones too)."""
        found: dict[int, float | None] = {}
        for function in (
            "nvmlDeviceGetComputeRunningProcesses",
            "nvmlDeviceGetGraphicsRunningProcesses",
        ):
            for process in self.ask(function) or ():
                used = process.usedGpuMemory
                found[process.pid] = None if used is None else used / MIB
        return found

    def reading(self) -> Reading:
        """Utilisation, power, clocks, temperature and throttle reasons of this moment."""
        library = self.library
        rates = self.ask("nvmlDeviceGetUtilizationRates")
        power_mw = self.ask("nvmlDeviceGetPowerUsage")
        bits = self.ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:  # drivers before 535 know it by its old name only
            bits = self.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        return Reading(
            utilisation_pct=None if rates is None else float(rates.gpu),
            power_w=None if power_mw is None else power_mw / 1000,
            sm_mhz=self.ask("nvmlDeviceGetClockInfo", library.NVML_CLOCK_SM),
            memory_mhz=self.ask("nvmlDeviceGetClockInfo", library.NVML_CLOCK_MEM),
            temperature_c=self.ask("nvmlDeviceGetTemperature", library.NVML_TEMPERATURE_GPU),
            throttle_bits=bits or 0,
        )

    def energy_j(self) -> float | None:
        """Energy used since the driver was loaded, joule (Volta and later)."""
        millijoule = self.ask("nvmlDeviceGetTotalEnergyConsumption")
        return None if millijoule is None else millijoule / 1000

    def watts(self, function: str) -> float | None:
        """A power limit in watts, by the NVML function that gives it in milliwatts."""
        milliwatt = self.ask(function)
        return None if milliwatt is None else milliwatt / 1000

    def ecc(self) -> bool | None:
        """Whether error correction is on; None on cards without it."""
        modes = self.ask("nvmlDeviceGetEccMode")
        return None if modes is None else bool(modes[0])

    def nvlinks(self) -> int:
        """Active NVLink links."""
        links = range(self.library.NVML_NVLINK_MAX_LINKS)
        return sum(bool(self.ask("nvmlDeviceGetNvLinkState", link)) for link in links)


def open_gpu(uuid: str | None) -> Gpu | None:
    """The card with this UUID (with or without "GPU-"), or None without driver or library."""
    if uuid is None:
        return None
    try:
        import pynvml
    except ImportError:
        return None
    name = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    try:
        pynvml.nvmlInit()
        return Gpu(pynvml.nvmlDeviceGetHandleByUUID(name), pynvml)
    except pynvml.NVMLError:
        return None


def driver_version() -> str | None:
    """The NVIDIA driver's version, or None where there is no driver."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
    except pynvml.NVMLError:
        return None
    return version.decode() if isinstance(version, bytes) else str(version)


class Sampler:
    """Reads a card four times a second while a `with` block runs; without a card it does nothing.

    The readings release Python's lock while they wait, so they do not hold up the step.
    """

    def __init__(self, gpu: Gpu | None) -> None:
        self.gpu = gpu
        self.readings: list[Reading] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._energy_before_j: float | None = None
        self._started_s = 0.0
        self.energy_j: float | None = None

    def __enter__(self) -> Sampler:
        if self.gpu is not None:
            self._energy_before_j = self.gpu.energy_j()
            self._started_s = time.perf_counter()
            self._thread = threading.Thread(target=self._read, args=(self.gpu,), daemon=True)
            self._thread.start()
        return self

    def _read(self, gpu: Gpu) -> None:
        while not self._stop.wait(SAMPLE_EVERY_S):
            self.readings.append(gpu.reading())

    def __exit__(self, *_: object) -> None:
        if self.gpu is None or self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        seconds = time.perf_counter() - self._started_s
        self.readings = self.readings or [self.gpu.reading()]
        after_j = self.gpu.energy_j()
        if after_j is not None and self._energy_before_j is not None:
            self.energy_j = after_j - self._energy_before_j
        elif (power_w := _mean([reading.power_w for reading in self.readings])) is not None:
            self.energy_j = power_w * seconds

    def summary(self) -> LoadSummary | None:
        """The load over the block, or None where nothing could be read."""
        if not self.readings:
            return None
        bits = 0
        for reading in self.readings:
            bits |= reading.throttle_bits
        return LoadSummary(
            utilisation_pct=_mean([reading.utilisation_pct for reading in self.readings]),
            power_w=_mean([reading.power_w for reading in self.readings]),
            energy_j=self.energy_j,
            sm_mhz=_median([reading.sm_mhz for reading in self.readings]),
            memory_mhz=_median([reading.memory_mhz for reading in self.readings]),
            temperature_c=max(
                (r.temperature_c for r in self.readings if r.temperature_c is not None),
                default=None,
            ),
            throttle=throttle_names(bits),
        )


def _known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: list[float | None]) -> float | None:
    known = _known(values)
    return statistics.fmean(known) if known else None


def _median(values: list[float | None]) -> float | None:
    known = _known(values)
    return statistics.median(known) if known else None
