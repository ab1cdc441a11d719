from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.calibration import HEADROOM_GIB
from calc.card import Offer, Sourced
from calc.estimate import Range
from calc.fit import fit, judge, plan, share, state, usable_gib
from calc.job import Job
from calc.measurements import load_cards
from calc.memory import estimate
from tests.calc.samples import profile
from tests.calc.speed_samples import card

ROUND = profile()
CARDS = load_cards()
RTX_4090 = Offer(CARDS["RTX 4090 24GB"])
sizes = st.floats(2, 200)


def offer(total_gib: float, count: int = 1) -> Offer:
    """A card of so much memory, exactly."""
    total = Sourced(total_gib)
    return Offer(card(torch_total_gib_low=total, torch_total_gib_typical=total), count)


def test_usable_memory_of_a_4090_by_hand() -> None:
    """23.64 GiB seen by PyTorch, 0.5 for the context; what else runs comes off too."""
    assert usable_gib(RTX_4090, Job()).mid == pytest.approx(23.14)
    assert usable_gib(RTX_4090, Job(other_gib=1.0)).mid == pytest.approx(22.14)
    assert usable_gib(Offer(RTX_4090.card, 2), Job()).mid == pytest.approx(21.64)
    assert usable_gib(Offer(CARDS["RTX 5090 32GB"]), Job()).mid == pytest.approx(30.77)


def test_memory_taken_by_others_never_makes_it_negative() -> None:
    assert usable_gib(RTX_4090, Job(other_gib=200.0)) == Range(0, 0, 0)


@pytest.mark.parametrize("name", sorted(CARDS))
def test_usable_memory_of_every_card(name: str) -> None:
    found = usable_gib(Offer(CARDS[name]), Job())
    assert 0.85 * CARDS[name].marketed_gb < found.mid <= found.high
    assert found.mid - found.low + 1e-9 >= HEADROOM_GIB and found.low > 0
    assert found.high < CARDS[name].marketed_gb


def test_the_three_states() -> None:
    memory = estimate(Job(), ROUND, 8)
    below, between, above = memory.cap.mid * 0.999, memory.cap.mid * 1.001, memory.calm.high
    states = [state(Range.exact(usable), memory) for usable in (below, between, above)]
    assert states == ["no", "tight", "fits"]


def test_the_share_is_rounded_up() -> None:
    assert [share(Job(batch=9), count) for count in (1, 2, 4, 8)] == [9, 5, 3, 2]


@given(st.integers(1, 600), sizes, st.integers(1, 8), st.sampled_from(("none", "block")))
def test_a_plan_trains_the_whole_batch_within_memory(
    batch: int, total_gib: float, count: int, checkpointing: str
) -> None:
    job = Job(batch=batch, checkpointing=checkpointing)
    found = fit(job, ROUND, offer(total_gib, count))
    if found.micro_batch is None or found.accumulation is None:
        assert found.state == "no"
        assert found.max_batch <= 1
        return
    assert found.micro_batch * found.accumulation >= share(job, count)
    assert found.micro_batch * (found.accumulation - 1) < share(job, count)
    at_once = estimate(job, ROUND, found.micro_batch, found.accumulation, count)
    assert state(found.usable_gib, at_once) == "fits" or found.micro_batch == 1 or (
        found.state == "tight" and found.accumulation == 1
    )


@given(st.integers(1, 600), sizes)
def test_all_batches_up_to_the_largest_fit_and_no_other(batch: int, total_gib: float) -> None:
    place = offer(total_gib)
    largest = fit(Job(batch=batch), ROUND, place).max_batch
    for clips in range(max(1, largest - 3), largest + 1):
        found = fit(Job(batch=clips), ROUND, place).state
        assert found == "fits" or (largest == 1 and found == "tight")
    assert fit(Job(batch=largest + 1), ROUND, place).state != "fits"


@given(st.integers(1, 600), sizes, st.floats(0, 50))
def test_more_memory_never_hurts(batch: int, total_gib: float, more_gib: float) -> None:
    order = ("no", "tight", "fits")
    both = (offer(total_gib), offer(total_gib + more_gib))
    small, large = (fit(Job(batch=batch), ROUND, place) for place in both)
    assert order.index(small.state) <= order.index(large.state)
    assert small.max_batch <= large.max_batch


def test_a_pinned_micro_batch_is_what_is_judged() -> None:
    found = fit(Job(batch=64, micro_batch=8), ROUND, RTX_4090)
    assert (found.state, found.micro_batch, found.accumulation) == ("fits", 8, 8)
    assert found.memory == estimate(Job(), ROUND, 8, accumulation=8)
    none = fit(Job(batch=64, micro_batch=64), ROUND, RTX_4090)
    assert (none.state, none.micro_batch, none.accumulation) == ("no", None, None)
    assert fit(Job(batch=4, micro_batch=8), ROUND, RTX_4090).micro_batch == 4


def test_a_plan_serves_every_card() -> None:
    planned = plan(Job(), ROUND)
    for known in CARDS.values():
        assert judge(planned, Offer(known)) == fit(Job(), ROUND, Offer(known))


def test_ddp_does_not_add_memory_up() -> None:
    """Half the clips each, but all weights, state and buckets."""
    one, two = (fit(Job(batch=16), ROUND, Offer(RTX_4090.card, count)) for count in (1, 2))
    assert two.memory.parts_gib["weights"] == one.memory.parts_gib["weights"]
    assert two.memory.allocated.mid > one.memory.allocated.mid / 2
    assert two.usable_gib.mid < one.usable_gib.mid


def test_a_card_nobody_published_has_a_wider_range() -> None:
    known = dataclasses.replace(RTX_4090.card, torch_total_gib_low=Sourced(None),
                                torch_total_gib_typical=Sourced(None))  # fmt: skip
    sure, guessed = usable_gib(RTX_4090, Job()), usable_gib(Offer(known), Job())
    assert guessed.high - guessed.low > sure.high - sure.low


def test_what_is_missing_is_counted_for_one_clip_or_for_the_pinned() -> None:
    """A share that does not fit says what one clip needs, not what the whole share needs."""
    job, offer = Job(batch=4096), Offer(CARDS["T4 16GB"])
    found = fit(job, ROUND, offer)
    one = estimate(job, ROUND, 1, accumulation=2)
    assert found.least_gib == pytest.approx(one.cap.mid) and found.least_gib < found.memory.cap.mid
    pinned = fit(job.replace(micro_batch=64), ROUND, offer)
    assert pinned.least_gib == pytest.approx(pinned.memory.cap.mid)
