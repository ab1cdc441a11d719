"""The file: atomic, valid at any moment, named by its content, continued and never mixed up."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import record
from calc import strict_yaml
from calc.runs import Calibration, Environment, Row, Run, StepTime, file_name
from tests.bench.measuring import files, point

ENVIRONMENT = Environment(
    device="cuda", gpu="NVIDIA GeForce RTX 4090", memory_total_gib=23.64, memory_nvml_gib=23.99,
    compute_capability="8.9", power_limit_w=450.0, power_limit_default_w=450.0, ecc=False,
    pcie_gen=4, pcie_width=16, nvlinks=0, display=False, other_processes=0, other_used_mib=0.0,
    driver="570.86.15", cuda="12.8", cudnn="9.10.2", torch="2.9.1", python="3.12.3",
    libraries={"torchvision": "0.24.1"}, os="Linux 6.8 (Ubuntu 24.04)", cpu="AMD EPYC 7763",
    cores=64, ram_gib=251.5, allocator="", cudnn_benchmark=False, deterministic=False,
)  # fmt: skip
TIME = StepTime(steps=20, median_ms=412.345678, p10_ms=410.0, p90_ms=420.0, clips_per_s=19.4)


def new_run(**changes: object) -> Run:
    run = record.new_run(
        model="video-swin-t", precision="fp16", card="RTX 4090 24GB", environment=ENVIRONMENT,
        calibration=Calibration(160.0, 161.0, 900.0, 4.5), command="python -m bench run",
    )  # fmt: skip
    return dataclasses.replace(run, **changes)


def row(batch: int = 8, **changes: object) -> Row:
    measured = Row(32, 224, batch, "none", "eager", "adamw", "ok", time=TIME)
    return dataclasses.replace(measured, **changes)


def test_file_is_valid_after_every_row_and_named_by_its_content(tmp_path):
    file = record.open_file(tmp_path, new_run(), resume=False)
    for batch in (1, 2):
        file.add(row(batch))
        assert record.load(file.partial).rows == file_rows(1, batch)
    final = file.finish()
    tree = strict_yaml.parse(final.read_text())
    assert files(tmp_path) == [final]
    assert final == tmp_path / file_name(tree)


def file_rows(first: int, last: int) -> tuple[Row, ...]:
    """Rows as a file keeps them: five significant digits."""
    kept = dataclasses.replace(TIME, median_ms=412.35)
    return tuple(row(batch, time=kept) for batch in range(first, last + 1))


def test_a_kill_while_writing_leaves_the_file_before(tmp_path, monkeypatch):
    file = record.open_file(tmp_path, new_run(), resume=False)
    file.add(row(1))
    before = file.partial.read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        file.add(row(2))
    assert file.partial.read_bytes() == before
    monkeypatch.undo()
    again = record.open_file(tmp_path, new_run(), resume=True)
    assert [old.batch for old in again.rows] == [1]
    assert files(tmp_path) == [file.partial]  # the temporary file is gone


def test_no_rows_no_file(tmp_path):
    assert record.open_file(tmp_path, new_run(), resume=False).finish() is None
    assert files(tmp_path) == []


def test_an_unfinished_file_is_not_overwritten(tmp_path):
    record.open_file(tmp_path, new_run(), resume=False).add(row())
    with pytest.raises(record.FileInTheWay, match="add --resume"):
        record.open_file(tmp_path, new_run(), resume=False)


def test_resume_goes_on_with_an_unfinished_file(tmp_path):
    record.open_file(tmp_path, new_run(date="2026-01-31"), resume=False).add(row(1))
    file = record.open_file(tmp_path, new_run(), resume=True)
    file.add(row(2))
    final = file.finish()
    assert "__20260131__" in final.name  # the day it was begun
    assert [old.batch for old in record.load(final).rows] == [1, 2]


def test_resume_goes_on_with_a_finished_file(tmp_path):
    first = record.open_file(tmp_path, new_run(), resume=False)
    first.add(row(1))
    old = first.finish()
    file = record.open_file(tmp_path, new_run(), resume=True)
    assert not old.exists() and file.partial.exists()  # a kill here would lose nothing
    file.add(row(2))
    final = file.finish()
    assert files(tmp_path) == [final] and len(record.load(final).rows) == 2


@pytest.mark.parametrize(
    "change", [{"driver": "580.1"}, {"power_limit_w": 300.0}, {"torch": "2.8.0"}]
)
def test_resume_never_mixes_two_set_ups(tmp_path, change):
    record.open_file(tmp_path, new_run(), resume=False).add(row())
    other = new_run(environment=dataclasses.replace(ENVIRONMENT, **change))
    with pytest.raises(record.FileInTheWay, match="another set-up"):
        record.open_file(tmp_path, other, resume=True)


def test_a_second_run_without_resume_is_a_second_file(tmp_path):
    for clips_per_s in (19.4, 19.5):
        file = record.open_file(tmp_path, new_run(), resume=False)
        file.add(row(time=dataclasses.replace(TIME, clips_per_s=clips_per_s)))
        file.finish()
    assert len(files(tmp_path)) == 2


def test_a_point_measured_again_replaces_its_row(tmp_path):
    file = record.open_file(tmp_path, new_run(), resume=False)
    file.add(row(status="failed", note="crashed"))
    file.add(row(8))
    assert [old.status for old in file.rows] == ["ok"]


def test_rows_differ_by_every_setting():
    base = point()
    changed = [
        base.replace(**{name: value})
        for name, value in {
            "frames": 8, "size": 32, "batch": 4, "checkpointing": "block", "attention": "eager",
            "optimizer": "sgd", "mode": "infer", "trainable": "head", "gpus": 2, "clip_grad": True,
            "channels_last": True, "accumulation": 2,
            "memory_limit_gib": 24.0, "video_dir": "clips",
        }.items()
    ]  # fmt: skip
    rows = [base.row("ok"), *(other.row("ok") for other in changed)]
    same = [record.same_point(one, other) for one in rows for other in rows]
    assert sum(same) == len(rows)


def test_files_that_are_none_of_ours_are_left_alone(tmp_path):
    folder = tmp_path / "rtx-4090-24gb"
    folder.mkdir()
    stranger = folder / "video-swin-t__fp16__20260101__anonymous__abcdef.yaml"
    stranger.write_text("rows: [broken")
    file = record.open_file(tmp_path, new_run(), resume=True)
    file.add(row())
    file.finish()
    assert stranger.read_text() == "rows: [broken"


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(1, 65_536))
def test_what_is_written_is_what_is_read(loss, batch):
    from calc.runs import Learning

    measured = row(batch, learning=Learning(loss=(loss,)))
    run = new_run(rows=(measured,))
    text = record.dump(run)
    tree = strict_yaml.parse(text)
    assert tree == record.tree(run) == strict_yaml.parse(record.dump(_reread(text)))
    assert tree["rows"][0]["learning"]["loss"][0] == pytest.approx(loss, rel=1e-4)


def _reread(text: str) -> Run:
    from calc import schema

    built = schema.build(Run, strict_yaml.parse(text), lambda *problem: pytest.fail(str(problem)))
    assert built is not None
    return built


def test_the_environment_of_the_article_can_be_said():
    """PyTorch 2.0.1, CUDA 11.7, driver 515.65.01, Ubuntu 20.04."""
    article = dataclasses.replace(
        ENVIRONMENT, torch="2.0.1", cuda="11.7", driver="515.65.01", os="Linux 5.4 (Ubuntu 20.04)"
    )
    assert _reread(record.dump(new_run(environment=article, rows=(row(),)))).environment == article


def test_atomic_write_makes_the_folder_and_leaves_one_file(tmp_path):
    path: Path = tmp_path / "new" / "file.yaml"
    record.write_atomically(path, "a: ä\n")
    assert path.read_text(encoding="utf-8") == "a: ä\n"
    assert files(tmp_path) == [path]
