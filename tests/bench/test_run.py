"""Many points into files: order, failures, resume after a kill at any moment, Ctrl-C."""

from __future__ import annotations

import getpass
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import plan, record, run
from bench.__main__ import main
from bench.isolate import Outcome
from calc import strict_yaml
from calc.runs import Row, file_name
from tests.bench.measuring import ROOT, bench_run, files, flags, only_run, point

POINTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)


def statuses(folder: Path) -> dict[int, str]:
    return {row.batch: row.status for row in only_run(folder).rows}


def test_out_of_memory_is_kept_and_larger_batches_are_left_out(tmp_path, capsys):
    assert bench_run("out_of_memory_above_five", tmp_path, [7, 1, 6]) == 0
    measured = statuses(tmp_path)
    assert measured.pop(1) in ("ok", "unstable") and measured == {6: "oom"}
    shown = capsys.readouterr()
    assert "batch 7: left out, a smaller batch ran out of memory" in shown.err
    assert shown.out.startswith("tiny-out-of-memory-above-five fp32: 4x16, batch 1 6 7")


def test_a_broken_driver_stops_the_run_and_saves_what_there_is(tmp_path, capsys):
    assert bench_run("illegal_access_at_two", tmp_path, [1, 2, 3]) == run.STOPPED
    measured = statuses(tmp_path)
    assert measured.pop(1) in ("ok", "unstable") and measured == {2: "failed"}
    assert "illegal memory access" in capsys.readouterr().err.splitlines()[-1]


def test_a_process_that_dies_costs_its_own_point_only(tmp_path):
    assert bench_run("killed_at_three", tmp_path, [2, 3, 4]) == 0
    run_file = only_run(tmp_path)
    assert [row.status == "failed" for row in run_file.rows] == [False, True, False]
    assert "SIGKILL" in run_file.rows[1].note


def test_resume_repeats_nothing_and_adds_what_is_new(tmp_path):
    bench_run("net", tmp_path, [1, 2])
    before = only_run(tmp_path)
    assert bench_run("net", tmp_path, [1, 2], "--resume") == 0
    assert only_run(tmp_path) == before
    assert bench_run("net", tmp_path, [1, 2, 3], "--resume") == 0
    after = only_run(tmp_path)
    assert after.rows[:2] == before.rows and len(after.rows) == 3


def test_retry_measures_failed_points_again(tmp_path):
    bench_run("killed_at_three", tmp_path, [3])
    bench_run("killed_at_three", tmp_path, [3], "--resume")
    before = only_run(tmp_path)
    bench_run("killed_at_three", tmp_path, [3], "--resume", "--retry")
    assert [row.status for row in only_run(tmp_path).rows] == ["failed"]
    assert before.rows[0].status == "failed"


def test_one_file_per_precision(tmp_path):
    bench_run("net", tmp_path, [1], "--precision", "fp32", "tf32")
    assert [path.name.split("__")[:2] for path in files(tmp_path)] == [
        ["tiny-net", "fp32"], ["tiny-net", "tf32"],
    ]  # fmt: skip


def test_file_name_holds_its_content_and_nothing_private(tmp_path):
    bench_run("net", tmp_path, [1], "--contributor", "Anna-K")
    (path,) = files(tmp_path)
    text = path.read_text()
    assert path == tmp_path / file_name(strict_yaml.parse(text))
    assert only_run(tmp_path).who == "anna-k" and "licence: CC0-1.0" in text
    private = [str(ROOT), str(tmp_path), str(Path.home()), f"/{getpass.getuser()}"]
    private += [socket.gethostname()] if len(socket.gethostname()) > 3 else []
    assert not [word for word in private if word in text]
    assert "tiny.py:net" in only_run(tmp_path).command


def test_check_refuses_files_of_a_cpu(tmp_path, capsys):
    bench_run("net", tmp_path, [1])
    (path,) = files(tmp_path)
    capsys.readouterr()
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr()
    assert "is 'cpu'; runs on a CPU are for trying out" in shown.out + shown.err


def test_dry_run_prints_the_plan_and_measures_nothing(tmp_path, capsys):
    assert bench_run("net", tmp_path, [1, 2], "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "tiny-net fp32: 4x16, batch 1 2, checkpointing none",
        "2 points into 1 file, about 1 to 2 min",
    ]
    assert files(tmp_path) == []


def test_the_page_about_renting_states_the_plans_of_the_presets():
    page = (ROOT / "docs" / "rent-a-card.md").read_text()
    for preset in plan.PRESETS:
        words = ["run", "--device", "cpu", "--preset", preset]
        points = plan.points(main_parser().parse_args(words), "cpu")
        minutes = plan.describe(points)[-1].rpartition("about ")[2]
        assert f"| {preset} | {len(points)} | {minutes} |" in page


def test_the_task_for_rented_cards_runs_what_there_is():
    task = strict_yaml.parse((ROOT / "bench" / "sky.yaml").read_text())
    commands = task["run"].replace("$PRESET", task["envs"]["PRESET"])
    preset = task["envs"]["PRESET"]
    assert preset in plan.PRESETS and f'run --preset "{preset}"' in commands
    assert "bench/requirements.txt" in task["setup"]


def test_cards_of_the_page_about_renting_are_cards_we_know():
    from calc.measurements import load

    page = (ROOT / "docs" / "rent-a-card.md").read_text()
    table = page.split("<!-- cards -->")[1].split("<!-- /cards -->")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if "`" in line][1:]
    names = [name.strip() for cards, _ in rows for name in cards.split(",")]
    assert len(rows) > 10 and set(names) <= set(load().cards)


def test_presets_name_known_models_and_can_be_narrowed(capsys):
    from bench.models import MODELS

    assert {model for preset in plan.PRESETS.values() for model in preset.model} <= set(MODELS)
    words = [
        "run",
        "--device",
        "cpu",
        "--preset",
        "standard",
        "--model",
        "timesformer-b",
        "--dry-run",
    ]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "timesformer-b fp16: 8x224, batch 1 2 4 8, checkpointing none block" in shown
    assert "24 points into 3 files" in shown


def test_registered_models_get_their_published_clip_and_attention():
    words = ["--device", "cpu", "--model", "video-swin-t", "videomae-b", "--attention", "eager"]
    parser = main_parser()
    swin, videomae = plan.points(parser.parse_args(["run", *words, "--batch", "1"]), "cpu")
    assert (swin.frames, swin.size, swin.attention) == (32, 224, "eager")
    assert (videomae.frames, videomae.attention) == (16, "eager")
    free = plan.points(
        parser.parse_args(["run", "--device", "cpu", "--model", "videomae-b"]), "cpu"
    )
    assert {one.attention for one in free} == {"sdpa"}


def main_parser():
    from bench.__main__ import parser

    return parser("run")


def test_old_cards_leave_out_what_they_cannot_run():
    assert plan.left_out(point(precision="bf16"), "7.5")
    assert not plan.left_out(point(precision="bf16"), "8.0")
    assert not plan.left_out(point(precision="fp16"), "7.0") and not plan.left_out(point(), None)


def test_an_unfinished_file_is_never_overwritten(tmp_path, capsys):
    bench_run("net", tmp_path, [1])
    (path,) = files(tmp_path)
    unfinished = path.with_name(f"{path.stem.rsplit('__', 1)[0]}.yaml.partial")
    path.rename(unfinished)
    before = unfinished.read_text()
    assert bench_run("net", tmp_path, [1]) == 2
    assert unfinished.read_text() == before and "add --resume" in capsys.readouterr().err


def test_communication_is_what_several_gpus_add(tmp_path):
    together = point(gpus=2, parallel="ddp")
    alone = record.RunFile(tmp_path, record.new_run(
        "tiny", "fp32", "CPU", run.describe_here(("cpu", 0), print)[0], None, "python -m bench run"
    ))  # fmt: skip
    alone.add(point().row("ok", time=_time(100.0)))
    row = run.with_communication(alone, together, together.row("ok", time=_time(130.0)))
    assert row.time.communication_ms == 30.0
    assert run.with_communication(alone, point(), alone.rows[0]).time.communication_ms is None


def _time(median_ms: float):
    from calc.runs import StepTime

    return StepTime(20, median_ms, median_ms, median_ms, 1000 / median_ms)


def test_no_result_is_a_failed_row():
    measured = run.to_measured(
        point(), Outcome(error="the process was ended by SIGSEGV", signal_number=11)
    )
    assert measured.broken and measured.row.status == "failed"


# Kills


class Started:
    """`python -m bench run` of ten points, as its own process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        words = [sys.executable, "-m", "bench", "run", *flags("net", folder, POINTS, "--resume")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def wait_for(self, rows: int, limit_s: float = 240.0) -> None:
        """Until the unfinished file has this many rows, or the run has ended."""
        end = time.monotonic() + limit_s
        while len(self.rows()) < rows and self.process.poll() is None:
            assert time.monotonic() < end, "the run measures nothing"
            time.sleep(0.02)

    def stop(self, number: int) -> None:
        self.process.send_signal(number)
        self.ended()

    def ended(self) -> int:
        _, self.errors = self.process.communicate(timeout=400)
        return self.process.returncode

    def rows(self) -> tuple[Row, ...]:
        return rows_of(self.folder)


def rows_of(folder: Path) -> tuple[Row, ...]:
    """Rows of the file a run has left so far, whatever it is called."""
    paths = [path for path in files(folder) if path.suffix != ".tmp"]
    assert len(paths) <= 1
    run_file = record.load(paths[0]) if paths else None
    assert run_file is not None or not paths, "the file is not valid"
    return run_file.rows if run_file else ()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "kills", [3, pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_kills_at_any_moment_lose_no_point_and_repeat_none(tmp_path, kills):
    moment = random.Random(kills)
    finished: tuple[Row, ...] = ()
    for kill in range(kills):
        started = Started(tmp_path)
        if kill % 4 != 3:  # every fourth kill comes before the first point
            started.wait_for(min(len(finished) + 1, len(POINTS)))
        time.sleep(moment.uniform(0.0, 0.5))
        started.stop(signal.SIGKILL)
        assert started.rows()[: len(finished)] == finished
        finished = started.rows()
    last = Started(tmp_path)
    assert last.ended() == 0, last.errors
    run_file = only_run(tmp_path)
    assert run_file.rows[: len(finished)] == finished, "a finished point was measured again"
    assert sorted(row.batch for row in run_file.rows) == list(POINTS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_a_valid_finished_file(tmp_path, number):
    started = Started(tmp_path)
    started.wait_for(1)
    started.stop(number)
    assert started.process.returncode == run.INTERRUPTED, started.errors
    assert b"--resume goes on from here" in started.errors
    (path,) = files(tmp_path)
    assert path == tmp_path / file_name(strict_yaml.parse(path.read_text()))
    assert 1 <= len(only_run(tmp_path).rows) < len(POINTS)
