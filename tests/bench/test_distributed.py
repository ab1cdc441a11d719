"""Several processes under torchrun, on the CPU with gloo: DDP, FSDP2, failures of one rank."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from calc.runs import Run
from tests.bench.measuring import ROOT, flags, only_run


def torchrun(folder: Path, function: str, batches: tuple[int, ...], *more: str) -> Run:
    """The file of `torchrun --nproc-per-node=2 -m bench run`."""
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words += ["-m", "bench", "run", *flags(function, folder, batches, *more)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return only_run(folder)


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_processes_beside_one(tmp_path, parallel):
    run = torchrun(tmp_path, "net", (2,), "--parallel", parallel)
    alone, together = run.rows
    assert (alone.gpus, together.gpus, together.sharding) == (1, 2, parallel)
    assert {alone.status, together.status} <= {"ok", "unstable"}, together.note
    assert together.clips_per_step == 4
    assert together.time.clips_per_s == pytest.approx(4 / together.time.median_ms * 1000, rel=1e-3)
    added = together.time.median_ms - alone.time.median_ms
    assert together.time.communication_ms == pytest.approx(max(0.0, added), rel=1e-3, abs=1e-3)
    assert run.command.startswith("torchrun --nproc-per-node=2 -m bench run")
    assert together.learning.loss[-1] < together.learning.loss[0]


def test_a_rank_that_fails_does_not_hang_the_other(tmp_path):
    run = torchrun(tmp_path, "out_of_memory_on_rank_one", (1, 6))
    statuses = [(row.batch, row.gpus, row.status) for row in run.rows]
    assert [entry for entry in statuses if entry[2] == "oom"] == [(6, 2, "oom")]
    assert len(statuses) == 4
    assert run.rows[-1].note.startswith("rank 1: ran out of memory in backward of step 0")
    assert run.rows[-1].oom.requested_mib == 2048.0
