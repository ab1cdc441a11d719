"""What an offer's answer says beside its figures."""

from __future__ import annotations

import itertools

import pytest

from calc.compare import compare
from calc.job import Job
from calc.result import OfferResult
from calc.words import render
from tests.calc.results import result
from tests.calc.samples import Example

DATA = Example()
CARDS = ("A100 40GB SXM4", "RTX 4090 24GB", "2x RTX 4090 24GB", "L4 24GB", "T4 16GB")


def results() -> list[OfferResult]:
    """Offers of every state, many of them near an edge."""
    batches, extras = range(1, 40, 3), (0.0, 3.7, 9.1)
    jobs = [Job(batch=batch, extra_gib=gib, cards=CARDS)
            for batch, gib in itertools.product(batches, extras)]  # fmt: skip
    return [found for job in jobs for found in compare(job, DATA).offers]


def test_the_figures_shown_decide_as_the_state_does() -> None:
    """What is needed, what is needed to be sure and what is usable, in this order or another."""
    seen = results()
    assert {found.fit.state for found in seen} == {"fits", "tight", "no"}
    for found in seen:
        usable = found.usable_gib.mid
        shown = "no" if found.needs_gib > usable else "tight" if found.sure_gib > usable else "fits"
        assert shown == found.fit.state
        assert found.used_share is not None
        assert (found.used_share > 1) == (found.fit.state == "no")


def test_what_accumulation_trains_is_not_called_lost() -> None:
    assert result(micro=4, parts=2, state="no").answer == "parts"
    assert result(micro=None, state="no").answer == "no"
    assert result(state="tight").answer == "tight" and result().answer == "fits"


@pytest.mark.parametrize(
    ("batch", "card", "clips"),
    [(9, "8x RTX 4090 24GB", 16), (1, "8x RTX 4090 24GB", 8), (8, "2x RTX 4090 24GB", 8)],
)
def test_clips_that_are_trained_beyond_the_batch_are_said(
    batch: int, card: str, clips: int
) -> None:
    answer = compare(Job(batch=batch, cards=(card,)), DATA)
    assert answer.offers[0].clips_per_step == clips
    told = [render(note) for note in answer.notes]
    note = f"a batch of {batch} cannot be shared out evenly; calculated are {clips} clips a step"
    assert any(line.startswith(note) for line in told) == (clips != batch)


def test_micro_batches_that_do_not_divide_the_batch_are_said() -> None:
    answer = compare(Job(batch=5, micro_batch=2, cards=("A100 40GB SXM4", "L4 24GB")), DATA)
    assert [found.clips_per_step for found in answer.offers] == [6, 6]
    assert "calculated are 6 clips a step on A100 40GB SXM4, 6 clips a step on L4 24GB" in render(
        answer.notes[0]
    )


def test_what_does_not_train_has_no_clips_a_step() -> None:
    assert result(micro=None, state="no").clips_per_step is None
