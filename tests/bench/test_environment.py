"""What a file says about the machine, and what it must not say."""

from __future__ import annotations

import dataclasses
import getpass
import json
import socket
from types import SimpleNamespace

import pynvml
import pytest

from bench import environment, nvml
from bench.__main__ import main
from calc import schema
from calc.runs import Environment

MIB = 2**20


class Library:
    """Answers as nvidia-ml-py does on a card; the real one needs a driver."""

    NVMLError = pynvml.NVMLError
    NVML_CLOCK_SM = pynvml.NVML_CLOCK_SM
    NVML_CLOCK_MEM = pynvml.NVML_CLOCK_MEM
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU
    NVML_NVLINK_MAX_LINKS = pynvml.NVML_NVLINK_MAX_LINKS
    nvmlMemory_v2 = pynvml.nvmlMemory_v2

    def __init__(self, **answers):
        self.answers = answers

    def __getattr__(self, name):
        if not hasattr(pynvml, name):
            raise AttributeError(f"nvidia-ml-py has no {name}")
        if name not in self.answers:
            return self._not_supported
        answer = self.answers[name]
        return lambda handle, *arguments: answer(*arguments) if callable(answer) else answer

    @staticmethod
    def _not_supported(*_):
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


def card(**answers):
    return nvml.Gpu("handle", Library(**answers))


FULL = {
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=24564 * MIB, used=900 * MIB),
    "nvmlDeviceGetComputeRunningProcesses": [
        SimpleNamespace(pid=1, usedGpuMemory=500 * MIB),
        SimpleNamespace(pid=2, usedGpuMemory=100 * MIB),
    ],
    "nvmlDeviceGetGraphicsRunningProcesses": [SimpleNamespace(pid=3, usedGpuMemory=None)],
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=60),
    "nvmlDeviceGetPowerUsage": 350_500,
    "nvmlDeviceGetCurrentClocksEventReasons": 0x4,
    "nvmlDeviceGetClockInfo": lambda kind: {0: 2520, 1: 2520, 2: 10501}[kind],
    "nvmlDeviceGetTemperature": lambda sensor: 67,
    "nvmlDeviceGetEnforcedPowerLimit": 450_000,
    "nvmlDeviceGetPowerManagementDefaultLimit": 450_000,
    "nvmlDeviceGetEccMode": [0, 0],
    "nvmlDeviceGetMaxPcieLinkGeneration": 4,
    "nvmlDeviceGetCurrPcieLinkWidth": 16,
    "nvmlDeviceGetNvLinkState": lambda link: link < 4,
    "nvmlDeviceGetDisplayActive": 1,
}


def test_this_machine_passes_the_schema_of_the_file():
    facts = environment.collect("cpu")
    problems = []
    tree = json.loads(json.dumps(dataclasses.asdict(facts)))
    assert schema.build(Environment, tree, lambda *what: problems.append(what)) == facts
    assert not problems and facts.gpu is None and facts.torch.startswith("2.")


def test_no_host_user_or_home_is_recorded():
    text = json.dumps(dataclasses.asdict(environment.collect("cpu")))
    private = [socket.gethostname(), f"/{getpass.getuser()}", "/home", "/root"]
    assert not [word for word in private if len(word) > 3 and word in text]


def test_facts_of_a_card_that_tells_everything():
    facts = environment.driver_facts(card(**FULL), own_pid=1)
    assert facts == {
        "memory_nvml_gib": 23.988, "power_limit_w": 450.0, "power_limit_default_w": 450.0,
        "ecc": False, "pcie_gen": 4, "pcie_width": 16, "nvlinks": 4, "display": True,
        "other_processes": 2, "other_used_mib": 400.0,
    }  # fmt: skip


def test_in_a_container_nothing_is_taken_for_this_process():
    facts = environment.driver_facts(card(**FULL), own_pid=77)
    assert (facts["other_processes"], facts["other_used_mib"]) == (3, 900.0)


def test_what_a_card_does_not_tell_is_none():
    facts = environment.driver_facts(card(), own_pid=1)
    assert facts.pop("nvlinks") == 0 and facts.pop("other_processes") == 0
    assert set(facts.values()) == {None}


def test_reading_of_a_card_under_load():
    assert card(**FULL).reading() == nvml.Reading(97.0, 350.5, 2520, 10501, 67, 0x4)


def test_old_drivers_know_the_throttle_reasons_by_another_name():
    old = {**FULL, "nvmlDeviceGetCurrentClocksThrottleReasons": 0x40}
    del old["nvmlDeviceGetCurrentClocksEventReasons"]
    assert card(**old).reading().throttle_bits == 0x40


def test_throttle_bits_are_those_of_the_library():
    named = {
        "application_clocks": pynvml.nvmlClocksEventReasonApplicationsClocksSetting,
        "power_cap": pynvml.nvmlClocksEventReasonSwPowerCap,
        "hardware_slowdown": pynvml.nvmlClocksEventReasonHwSlowdown,
        "sync_boost": pynvml.nvmlClocksEventReasonSyncBoost,
        "thermal_software": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
        "thermal_hardware": pynvml.nvmlClocksEventReasonHwThermalSlowdown,
        "power_brake": pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown,
        "display_clocks": pynvml.nvmlClocksEventReasonDisplayClockSetting,
    }
    assert {bit: name for name, bit in named.items()} == nvml.THROTTLE_REASONS


def test_sampler_means_and_energy(monkeypatch):
    monkeypatch.setattr(nvml, "SAMPLE_EVERY_S", 0.01)
    joule = iter([10_000, 14_000])
    power = iter([100_000, 300_000] * 1000)
    answers = {
        "nvmlDeviceGetTotalEnergyConsumption": lambda: next(joule),
        "nvmlDeviceGetPowerUsage": lambda: next(power),
    }
    with nvml.Sampler(card(**{**FULL, **answers})) as sampler:
        while len(sampler.readings) < 2:
            pass
    seen = sampler.summary()
    assert seen.energy_j == 4.0 and seen.throttle == ("power_cap",)
    assert 100 < seen.power_w < 300 and seen.temperature_c == 67


def test_sampler_without_a_card_measures_nothing():
    with nvml.Sampler(None) as sampler:
        pass
    assert sampler.summary() is None


def test_cards_are_recognised_under_the_names_of_our_table():
    from calc.measurements import load

    named = {*environment.CARD_NAMES.values(), "RTX 4090 48GB (modified)"}
    assert named == set(load().cards)


def test_env_prints_what_a_file_would_say(capsys):
    assert main(["env", "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["card"] == "CPU"


def test_env_asks_for_no_gpu_but_says_that_there_is_none(capsys):
    if nvml.driver_version() is not None:
        pytest.skip("this machine has a GPU")
    assert main(["env"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("No CUDA GPU was found. What works without one:")
    assert "gpu                    not measured" in shown.out
