"""Measured runs: how they are found, how far they move an answer, what is only shown."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import measurements, runs
from calc.estimate import Range
from calc.job import Job
from calc.runs import Run, RunBook, Stored
from tests import run_files

CARD = "RTX 4090 24GB"
JOB = Job(model="video-swin-t", frames=32, size=224, batch=8, precision="fp16", attention="eager")

Change = Callable[[dict[str, Any]], object]


def stored(change: Change = lambda tree: None, file: str = "a.yaml", **top: Any) -> Stored:
    """The example run with something changed, as if it lay in the repository."""
    tree = run_files.changed(change, **top)
    return Stored(file, measurements.record_of(Run, tree, file))


def row(**changes: Any) -> Change:
    """A change of the first row."""
    return lambda tree: tree["rows"][0].update(changes)


def find(book: RunBook, job: Job = JOB, card: str = CARD, **how: Any) -> tuple[str, int] | None:
    found = runs.find(job, card, book, **how)
    return found and (found.kind, len(found.rows))


def test_nothing_is_found_in_nothing() -> None:
    assert find(RunBook()) is None


def test_exact_nearby_other() -> None:
    book = runs.book([stored()])
    assert find(book) == ("exact", 1)
    assert find(book, JOB.replace(batch=16)) == ("nearby", 1)
    assert find(book, JOB.replace(batch=4)) == ("nearby", 1)
    assert find(book, JOB.replace(batch=17)) is None
    assert find(book, JOB.replace(batch=3)) is None
    assert find(book, JOB.replace(frames=64, batch=4)) == ("nearby", 1)  # as many tokens x clips
    assert find(book, card="A100 40GB SXM4") == ("other", 1)
    assert find(book, JOB.replace(batch=12), "A100 40GB SXM4") == ("other", 1)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "video-swin-s"}, {"precision": "bf16"}, {"checkpointing": "block"},
        {"attention": "sdpa"}, {"optimizer": "sgd"}, {"trainable": "head"},
    ],
)  # fmt: skip
def test_another_way_of_training_is_not_nearby(change: dict[str, Any]) -> None:
    assert find(runs.book([stored()]), JOB.replace(**change)) is None


def test_optimizers_of_one_class_are_nearby_but_not_exact() -> None:
    assert find(runs.book([stored()]), JOB.replace(optimizer="adamw-fused")) == ("nearby", 1)


def test_attention_is_what_really_runs() -> None:
    job = JOB.replace(attention="sdpa")  # torchvision's Swin is eager whatever one asks for
    assert find(runs.book([stored()]), job, attention="eager") == ("exact", 1)


def test_a_capped_run_is_no_measurement_of_the_whole_card() -> None:
    assert find(runs.book([stored(row(memory_limit_gib=20.0))])) == ("nearby", 1)


def test_clips_are_those_of_one_gpu() -> None:
    two = row(gpus=2, batch=4)
    book = runs.book([stored(two)])
    assert find(book, gpus=2) == ("exact", 1)
    assert find(book) is None


def test_what_says_nothing_is_not_used() -> None:
    for change in (
        row(mode="infer"),
        lambda tree: tree["environment"].update(device="cpu"),
        lambda tree: tree["rows"].pop(0),  # the row that ran out of memory stays
    ):
        assert find(runs.book([stored(change)])) is None


def test_out_of_memory_rows_are_kept_to_be_shown() -> None:
    assert [one.row.status for one in runs.book([stored()]).rows] == ["ok", "oom"]


# --- Review ---------------------------------------------------------------------------------------


def slower(factor: float) -> Change:
    """The first row with its times stretched."""

    def change(tree: dict[str, Any]) -> None:
        timing = tree["rows"][0]["time"]
        for key in timing:
            if key.endswith("_ms"):
                timing[key] *= factor
        timing["clips_per_s"] /= factor

    return change


def test_pending_is_shown_and_not_used() -> None:
    book = runs.book([stored(review="pending")])
    assert {one.state for one in book.rows} == {"pending"}
    assert find(book) is None


def test_a_maintainer_can_accept_it() -> None:
    one = stored(review="pending")
    assert find(runs.book([Stored(one.file, one.run, accepted=True)])) == ("exact", 1)


@pytest.mark.parametrize(
    ("who", "factor", "used"),
    [("someone-else", 1.04, 2), ("someone-else", 1.06, 1), ("anonymous", 1.0, 1)],
)
def test_a_second_person_confirms_within_five_percent(who: str, factor: float, used: int) -> None:
    pending = stored(review="pending")
    second = stored(slower(factor), "b.yaml", who=who)
    found = runs.find(JOB, CARD, runs.book([pending, second]))
    assert found is not None and len(found.rows) == used


def test_two_pending_runs_of_two_people_confirm_each_other() -> None:
    book = runs.book([stored(review="pending"), stored(file="b.yaml", who="b", review="pending")])
    assert find(book) == ("exact", 2)


def test_contradicting_runs_are_both_kept() -> None:
    book = runs.book([stored(), stored(slower(1.4), "b.yaml", who="b")])
    found = runs.find(JOB, CARD, book)
    assert found is not None and found.files == ("a.yaml", "b.yaml")
    ratios = [(one.step_s or 0) / 0.32 for one in found.rows]
    answer = runs.correct(Range(0.2, 0.32, 0.4), ratios, exact=True, repeats=1.05)
    assert answer.low <= 0.32 and answer.high >= 0.32 * 1.4


# --- How far an answer moves ----------------------------------------------------------------------

RATIOS = st.lists(st.floats(0.01, 100), min_size=1, max_size=8)


@given(ratios=RATIOS, new=st.floats(0.01, 100))
def test_one_more_run_moves_the_answer_by_at_most_15_percent(
    ratios: list[float], new: float
) -> None:
    before, after = runs.moved(ratios), runs.moved([*ratios, new])
    assert 1 / 1.15 - 1e-9 <= after / before <= 1.15 + 1e-9


@given(new=st.floats(0.01, 100))
def test_the_first_run_moves_the_formula_by_at_most_15_percent(new: float) -> None:
    assert 1 / 1.15 - 1e-9 <= runs.moved([new]) <= 1.15 + 1e-9


@given(ratio=st.floats(0.5, 2), count=st.integers(6, 12))
def test_many_agreeing_runs_win(ratio: float, count: int) -> None:
    assert runs.moved([ratio] * count) == pytest.approx(ratio)


@given(ratios=RATIOS, exact=st.booleans())
def test_the_range_covers_what_every_run_says(ratios: list[float], exact: bool) -> None:
    formula = Range(8.0, 10.0, 13.0)
    answer = runs.correct(formula, ratios, exact, 1.02)
    assert answer.low <= min(10 * ratio for ratio in ratios) * (1 + 1e-9)
    assert answer.high >= max(10 * ratio for ratio in ratios) * (1 - 1e-9)


def test_rows_of_one_file_are_one_run() -> None:
    def change(tree: dict[str, Any]) -> None:
        tree["rows"] += [{**copy.deepcopy(tree["rows"][0]), "batch": batch} for batch in (7, 9, 10)]

    found = runs.find(JOB.replace(batch=6), CARD, runs.book([stored(change)]))
    assert found is not None and (found.kind, len(found.rows)) == ("nearby", 4)
    assert runs.ratios_of(found, lambda one: float(one.row.batch)) == [8.5]
    assert runs.ratios_of(found, lambda one: None) == []


def test_no_run_leaves_the_formula_alone() -> None:
    assert runs.correct(Range(1.0, 2.0, 3.0), [], True, 1.02) == Range(1.0, 2.0, 3.0)


def test_a_measured_point_has_the_range_of_repeats() -> None:
    answer = runs.correct(Range(8.0, 10.0, 13.0), [1.05, 1.07, 1.06], exact=True, repeats=1.02)
    assert (answer.mid, answer.low, answer.high) == pytest.approx((10.6, 10.6 / 1.02, 10.6 * 1.02))


# --- The job of a row, and growth -----------------------------------------------------------------


def test_the_job_of_a_row_is_what_was_measured() -> None:
    measured = runs.book([stored(row(gpus=2, accumulation=3, batch=4))]).rows[0]
    job = runs.job_of(measured)
    assert (job.batch, job.micro_batch, job.attention, job.optimizer) == (24, 4, "eager", "adamw")
    assert not job.expandable_segments


def test_a_row_that_no_job_can_express_says_so() -> None:
    measured = runs.book([stored(row(frames=7))]).rows[0]
    with pytest.raises(ValueError, match="frames is 7"):
        runs.job_of(measured)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 files of eight rows, as the preset `standard` makes them."""
    root = run_files.folder(tmp_path_factory.mktemp("many"))
    tree = run_files.example()
    tree["rows"] = []
    for batch in range(1, 9):
        one = copy.deepcopy(run_files.example()["rows"][0])
        one["batch"] = batch
        tree["rows"].append(one)
    text = run_files.dump(tree)
    for index in range(500):
        name = run_files.file_name({**tree, "who": f"person-{index}"})
        path = root / "runs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("who: anonymous", f"who: person-{index}"))
    return root


def test_500_files_load_in_a_second_and_a_half(many: Path) -> None:
    def load_s() -> float:
        measurements.load_runs.cache_clear()
        start = time.process_time()
        loaded = measurements.load_runs(many)
        assert len(loaded) == 500
        return time.process_time() - start

    assert min(load_s() for _ in range(2)) <= 1.5
    start = time.process_time()
    measurements.load_runs(many)
    assert time.process_time() - start < 0.001  # cached


def test_finding_among_4000_rows_takes_no_time_without_a_run(many: Path) -> None:
    book = runs.book(measurements.load_runs(many))
    assert len(book.rows) == 4000

    def look_s(job: Job) -> float:
        start = time.process_time()
        for _ in range(100):
            assert runs.find(job, CARD, book) is None
        return (time.process_time() - start) / 100

    job = JOB.replace(model="videomae-b")
    assert min(look_s(job) for _ in range(5)) < 20e-6
    found = runs.find(JOB, CARD, book)
    assert found is not None and (found.kind, len(found.rows)) == ("exact", 500)
