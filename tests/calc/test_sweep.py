"""Maps and curves say the same as the comparison of each single job."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.card import Card
from calc.compare import compare
from calc.job import Job
from calc.sweep import _sweep_column, batch_sweep, batches, tipping_map
from tests.calc.samples import Example

DATA = Example()
CARDS = ("A100 40GB SXM4", "RTX 4090 24GB", "2x RTX 4090 24GB")
JOB = Job(model="round", cards=CARDS)


@given(st.integers(1, 4096))
def test_the_ladder_has_twelve_rising_batches_with_the_jobs_own(batch: int) -> None:
    ladder = batches(batch)
    assert len(ladder) == 12
    assert list(ladder) == sorted(set(ladder))
    assert batch in ladder
    assert ladder[-1] <= 4096


def _expected(job: Job) -> str | None:
    """The cheapest offer that takes the batch in one go, by comparing the job itself."""
    results = [
        r for r in compare(job, DATA).offers if r.accumulation == 1 and r.fit.state == "fits"
    ]
    return min(results, key=lambda r: r.usd.mid if r.usd else 0).offer.text if results else None


@pytest.mark.parametrize("checkpointing", ["none", "block"])
def test_each_cell_is_the_answer_to_its_job(checkpointing: str) -> None:
    job = JOB.replace(checkpointing=checkpointing)
    cells = tipping_map(job, DATA, "frames", (1, 4, 8, 16, 24, 32, 64, 128))
    assert {cell.frames for cell in cells} == {16, 32}
    for cell in cells:
        assert cell.offer == _expected(job.replace(frames=cell.frames, batch=cell.batch)), cell


def test_a_cell_has_the_cost_and_hours_of_the_comparison() -> None:
    (cell,) = [c for c in tipping_map(JOB, DATA, "frames", (8,)) if c.frames == JOB.frames]
    result = next(r for r in compare(JOB, DATA).offers if r.offer.text == cell.offer)
    assert result.usd and result.hours
    assert cell.usd == pytest.approx(result.usd.mid)
    assert cell.hours == pytest.approx(result.hours.mid)


def test_where_nothing_has_a_price_the_fastest_is_named() -> None:
    job = JOB.replace(price_kind="buy", cards=("A100 40GB SXM4",))
    (cell,) = [c for c in tipping_map(job, DATA, "frames", (8,)) if c.frames == 32]
    assert (cell.offer, cell.usd) == ("A100 40GB SXM4", None)
    assert cell.hours is not None


def test_a_batch_that_no_offer_takes_is_an_empty_cell() -> None:
    cells = tipping_map(JOB, DATA, "frames", (4096,))
    assert {cell.offer for cell in cells} == {None}


def test_a_map_over_sizes_keeps_the_frames() -> None:
    cells = tipping_map(JOB, DATA, "size", (8,))
    assert {(cell.frames, cell.size) for cell in cells} == {(32, 224)}


def test_every_point_of_the_sweep_is_the_speed_of_its_job() -> None:
    points = batch_sweep(JOB, DATA, (2, 32, 200))
    assert {point.offer for point in points} == set(CARDS)
    for point in points:
        results = compare(JOB.replace(batch=point.batch), DATA).offers
        result = next(r for r in results if r.offer.text == point.offer)
        assert result.clips_per_s
        assert point.clips_per_s == pytest.approx(result.clips_per_s.mid)
        assert (point.micro_batch, point.accumulation) == (result.micro_batch, result.accumulation)


def test_a_batch_that_moves_has_one_column_made_anew() -> None:
    _sweep_column.cache_clear()
    batch_sweep(JOB.replace(batch=4), DATA, (2, 4, 8))
    made = _sweep_column.cache_info().misses
    batch_sweep(JOB.replace(batch=5), DATA, (2, 4, 5, 8))
    assert (made, _sweep_column.cache_info().misses) == (3, 4)


class Swapped(Example):
    """The same measurements, but an A100 under the name of the RTX 4090."""

    @property
    def cards(self) -> Mapping[str, Card]:
        return {**super().cards, "RTX 4090 24GB": super().cards["A100 40GB SXM4"]}


def test_columns_that_were_kept_are_of_the_data_asked_for() -> None:
    job = JOB.replace(cards=("RTX 4090 24GB",))
    (real,), (swapped,) = batch_sweep(job, DATA, (8,)), batch_sweep(job, Swapped(), (8,))
    assert real.clips_per_s != swapped.clips_per_s


def test_a_custom_model_has_a_row_for_all_that_its_patches_and_tubelets_divide() -> None:
    job = Job(model="custom", frames=16, patch=14, cards=CARDS)
    frames = {cell.frames for cell in tipping_map(job, DATA, "frames", (1, 8))}
    assert frames == {8, 16, 32, 64, 96}, "3 and 13 have half a tubelet"
    sizes = {cell.size for cell in tipping_map(job, DATA, "size", (1, 8))}
    assert sizes == {112, 224, 336, 448}
    for cell in tipping_map(job, DATA, "size", (8,)):
        assert cell.offer == _expected(job.replace(size=cell.size)), cell


def test_the_sweep_takes_the_micro_batch_that_the_job_names() -> None:
    job = JOB.replace(micro_batch=2, cards=("A100 40GB SXM4",))
    (result,) = compare(job, DATA).offers
    (point,) = batch_sweep(job, DATA, (job.batch,))
    assert (point.micro_batch, point.accumulation) == (2, 4)
    assert result.clips_per_s and point.clips_per_s == pytest.approx(result.clips_per_s.mid)
