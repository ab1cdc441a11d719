"""python -m bench trace, as people and programs call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.step import StepConfig
from bench.trace_command import report

TINY = f"{Path(__file__).with_name('tiny.py')}:net"
KEYS = {
    "allocated_mib", "reserved_mib", "cap_mib", "calm_mib", "params_m", "parts_mib", "phase",
    "flops", "torch",
}  # fmt: skip

# mmaction2's configs/recognition/swin/README.md at commit 974a751: 32 x 224 x 224, batch 8 per GPU,
# fp16 AMP, AdamW, DDP on 8 GPUs, no checkpointing; max_memory_allocated in MiB.
PUBLISHED_SWIN_MIB = {"video-swin-t": 21_072, "video-swin-s": 33_632, "video-swin-b": 45_143}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["trace", *words]) == 0
    return capsys.readouterr().out


def test_json_has_the_stated_keys_and_the_parts_sum(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--builder", TINY, "--input", "3,4,16,16", "--batch", "4", "--ddp", "--json"]
    found = json.loads(run(capsys, *words))
    assert found.keys() >= KEYS
    assert sum(found["parts_mib"].values()) == pytest.approx(found["allocated_mib"], abs=0.5)
    assert found["allocated_mib"] <= found["cap_mib"] <= found["calm_mib"] <= found["reserved_mib"]
    assert "ddp_buckets" in found["parts_mib"]


def test_without_a_replay_the_limits_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--builder", TINY, "--input", "3,4,16,16", "--no-allocator", "--json"]
    found = json.loads(run(capsys, *words))
    assert found["reserved_mib"] is found["cap_mib"] is found["calm_mib"] is None


def test_the_table_names_the_peak(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--model", "r3d-18", "--frames", "8", "--batch", "2", "--precision", "fp32")
    assert text.startswith("r3d-18 8x112, batch 2, fp32, adamw, 33.4 M parameters")
    assert "peak in " in text


@pytest.mark.parametrize("model", sorted(PUBLISHED_SWIN_MIB))
def test_video_swin_is_within_three_percent_of_what_was_published(model: str) -> None:
    config = StepConfig(model, 32, 224, 8, "fp16", optimizer="adamw")
    found = report(config, ddp=True, allocator=False)
    assert found["allocated_mib"] == pytest.approx(PUBLISHED_SWIN_MIB[model], rel=0.03)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--builder", "nowhere.py:net", "--input", "3,4"], "FILE.py:FUNCTION"),
        (["--builder", TINY], "--input"),
        (["--builder", TINY, "--input", "3,5"], "cannot be traced"),
        (["--model", "video-swin-t", "--batch", "0"], "batch is 0"),
        (["--model", "mvit-v2-s", "--frames", "1", "--size", "2"], "cannot be built"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_model_that_reads_its_values_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reader.py"
    file.write_text(
        "import torch\n"
        "class Reader(torch.nn.Linear):\n"
        "    def forward(self, x): return super().forward(x) * x.sum().item()\n"
        "def model(): return Reader(4, 2)\n",
        encoding="utf-8",
    )
    assert main(["trace", "--builder", f"{file}:model", "--input", "4"]) == 2
    assert "may not read values" in capsys.readouterr().err
