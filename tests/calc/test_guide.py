"""Figures of the guide, on a model whose figures can be checked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import guide
from calc.card import Offer
from calc.estimate import Range
from calc.job import Job
from calc.memory import estimate
from calc.speed import step
from tests.calc import samples

JOB = Job(model="round", frames=32, size=224, batch=8, precision="fp16", attention="sdpa")
PROFILE = samples.profile()


def test_the_articles_formula_counts_eight_bytes_a_parameter() -> None:
    assert guide.article_gib(2**27, 0, 8, 32) == 1.0
    assert guide.article_gib(0, 2**20, 8, 32) == 1.0


@given(st.floats(0.5, 500), st.integers(1, 10**10), st.integers(1, 512), st.integers(1, 96))
def test_act_needed_turns_the_articles_formula_round(
    total_gib: float, params: int, batch: int, frames: int
) -> None:
    act = guide.act_needed(total_gib, params, batch, frames)
    assert guide.article_gib(params, act, batch, frames) == pytest.approx(total_gib)


def test_beside_has_weights_gradients_and_both_moments() -> None:
    found = guide.beside(JOB, PROFILE)
    assert found.article_gib == pytest.approx(200 / 1024)  # 26,214,400 parameters x 8 bytes
    assert found.fixed_gib == pytest.approx(400 / 1024)  # x 16 bytes
    assert found.peak == estimate(JOB, PROFILE, 8).allocated
    again = guide.article_gib(PROFILE.params, found.act_m * 1e6, 8, 32)
    assert again == pytest.approx(found.peak.mid)


def test_peaks_are_those_of_calc_and_first_above_finds_the_batch() -> None:
    found = guide.peaks(JOB, PROFILE, (1, 8, 16))
    assert found == tuple((batch, estimate(JOB, PROFILE, batch).allocated) for batch in (1, 8, 16))
    middle = (found[1][1].mid + found[2][1].mid) / 2
    assert guide.first_above(middle, found) == 16
    assert guide.first_above(1e6, found) is None


def test_first_above_is_strict() -> None:
    assert guide.first_above(20, [(1, Range.exact(20.0)), (2, Range.exact(20.1))]) == 2


def test_change_compares_the_two_estimates_and_the_two_steps() -> None:
    offer = Offer(samples.Example().cards["RTX 4090 24GB"])
    block = JOB.replace(checkpointing="block")
    found = guide.change(JOB, block, PROFILE, offer)
    assert found.before_gib == estimate(JOB, PROFILE, 8).allocated.mid
    assert found.after_gib == estimate(block, PROFILE, 8).allocated.mid
    assert found.saved == pytest.approx(1 - found.after_gib / found.before_gib)
    first, second = (step(job, PROFILE, offer, 8, 1) for job in (JOB, block))
    assert first is not None and second is not None
    assert found.time == pytest.approx(second.total_s.mid / first.total_s.mid)
    assert found.time > 1


def test_change_without_a_card_says_nothing_about_time() -> None:
    assert guide.change(JOB, JOB, PROFILE).time is None
