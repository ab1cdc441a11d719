"""The allocator model: rules of the book, and properties that hold for every trace."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import allocator
from bench.allocator import (
    BLOCK,
    MIB,
    CachingAllocator,
    ExpandableAllocator,
    OutOfMemory,
    Settings,
    blocks,
)
from tests.fuzz import examples


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    storage: int
    fixed_bytes: int
    per_clip_bytes: int
    phase: str
    category: str


@dataclass(frozen=True, slots=True)
class Trace:
    resident: list[Event]
    events: list[Event]


def alloc(storage: int, mib: float, *, per_clip_mib: float = 0.0, category: str = "activation"):
    return Event("alloc", storage, int(mib * MIB), int(per_clip_mib * MIB), "forward", category)


def free(storage: int) -> Event:
    return Event("free", storage, 0, 0, "backward", "activation")


def mib(size_blocks: int) -> float:
    return size_blocks * BLOCK / MIB


SIZES_MIB = st.one_of(
    st.integers(1, 2048).map(lambda n: n / 2048),  # small pool
    st.floats(1.0, 10.0),
    st.floats(10.0, 90.0),
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A step that frees what it allocates, in any order, and swaps one gradient for another."""
    resident = [alloc(0, draw(SIZES_MIB), category="weight")]
    swapped = draw(SIZES_MIB)
    resident.append(alloc(1, swapped, category="gradient"))
    state = alloc(2, draw(SIZES_MIB), category="optimizer")
    resident.append(state)
    events = [free(1)]
    live = []
    for storage in range(3, 3 + draw(st.integers(1, 14))):
        events.append(alloc(storage, draw(SIZES_MIB), per_clip_mib=draw(st.floats(0, 4))))
        live.append(storage)
        while live and draw(st.booleans()):
            events.append(free(live.pop(draw(st.integers(0, len(live) - 1)))))
    events += [free(s) for s in draw(st.permutations(live))]
    events.append(alloc(100, swapped, category="gradient"))
    return Trace(resident, events)


FAST = settings(max_examples=examples(60), deadline=None)


@FAST
@given(traces(), st.integers(1, 8), st.booleans())
def test_the_numbers_are_in_order(trace: Trace, batch: int, expandable: bool) -> None:
    f = allocator.footprint(trace, batch, Settings(expandable=expandable, orders=2))
    assert f.allocated <= f.cap <= f.calm <= f.reserved
    assert f.allocated <= f.counted <= f.reserved


@FAST
@given(traces(), st.integers(1, 8), st.booleans(), st.integers(0, 5))
def test_the_same_seed_gives_the_same_answer(
    trace: Trace, batch: int, expandable: bool, seed: int
) -> None:
    how = Settings(expandable=expandable, orders=2, seed=seed)
    assert allocator.footprint(trace, batch, how) == allocator.footprint(trace, batch, how)


@FAST
@given(traces(), st.integers(1, 8), st.booleans())
def test_cap_and_everything_probed_above_it_runs(
    trace: Trace, batch: int, expandable: bool
) -> None:
    how = Settings(expandable=expandable, orders=2)
    steps = allocator.script(trace, batch)
    f = allocator.measure(steps, how)
    for limit in range(f.cap, f.reserved + 1, max(2 * MIB, (f.reserved - f.cap) // 4)):
        probed = (f.reserved - limit) % max(2 * MIB, int(f.allocated * how.probe)) == 0
        if probed or limit == f.cap:
            assert allocator.replay(steps, limit, expandable=expandable).survived


@FAST
@given(st.lists(SIZES_MIB, min_size=1, max_size=40), st.randoms(), st.booleans())
def test_everything_freed_is_returned(sizes, shuffle, expandable: bool) -> None:
    heap = ExpandableAllocator() if expandable else CachingAllocator(seed=3)
    held = []
    for size in sizes:
        held.append(heap.malloc(blocks(size * MIB)))
        if shuffle.random() < 0.4:
            heap.free(held.pop(shuffle.randrange(len(held))))
    spans = sorted((b.address, b.address + b.size) for b in held)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert sum(b.size for b in held) == heap.allocated
    shuffle.shuffle(held)
    for block in held:
        heap.free(block)
    assert heap.allocated == 0
    heap._release()
    assert heap.reserved == 0
    assert heap.state() == (0, (), ())


@pytest.mark.parametrize(
    ("request_mib", "reserved_mib", "counted_mib"),
    [(0.25, 2, 0.25), (1, 2, 1), (1.5, 20, 1.5), (9, 20, 9), (10.5, 12, 10.5), (11.5, 12, 12)],
)
def test_segments_and_splits_by_the_book(request_mib, reserved_mib, counted_mib) -> None:
    heap = CachingAllocator()
    heap.malloc(blocks(request_mib * MIB))
    assert mib(heap.reserved) == reserved_mib
    assert mib(heap.allocated) == counted_mib if counted_mib != 10.5 else 10.5


def test_a_remainder_above_1_mib_is_split_off_and_used() -> None:
    heap = CachingAllocator()
    heap.malloc(blocks(5 * MIB))
    heap.malloc(blocks(15 * MIB))
    assert mib(heap.reserved) == 20


def test_best_fit_takes_the_tightest_block_and_the_lower_address() -> None:
    heap = CachingAllocator(seed=1)
    big, *twins = (heap.malloc(blocks(size * MIB)) for size in (40, 30, 30))
    for block in (big, *twins):
        heap.free(block)
    again = heap.malloc(blocks(30 * MIB))
    assert again.address == min(b.address for b in twins)


def test_a_refused_segment_releases_free_ones_and_counts_a_retry() -> None:
    heap = CachingAllocator(limit_bytes=50 * MIB)
    heap.free(heap.malloc(blocks(30 * MIB)))
    heap.malloc(blocks(40 * MIB))
    assert (heap.retries, mib(heap.reserved)) == (1, 40)
    with pytest.raises(OutOfMemory):
        heap.malloc(blocks(20 * MIB))


def test_a_segment_in_part_use_cannot_be_released() -> None:
    heap = CachingAllocator(limit_bytes=50 * MIB)
    block = heap.malloc(blocks(30 * MIB))
    heap.free(block)
    heap.malloc(blocks(2 * MIB))  # lands in the 30 MiB segment and pins it
    with pytest.raises(OutOfMemory):
        heap.malloc(blocks(40 * MIB))


def test_expandable_pages_of_a_part_used_range_can_be_released() -> None:
    heap = ExpandableAllocator(limit_bytes=60 * MIB)
    first = heap.malloc(blocks(40 * MIB))
    heap.free(first)
    heap.malloc(blocks(2 * MIB))
    heap.malloc(blocks(50 * MIB))
    assert mib(heap.reserved) <= 60


def test_a_limit_that_runs_two_steps_may_fail_later() -> None:
    """Steps that do not repeat at once must be replayed until they do."""
    sizes = [3.0, 17.5, 9.0, 26.0, 4.5, 31.0]
    events = [alloc(10 + i, s) for i, s in enumerate(sizes)]
    events += [free(10 + i) for i in (1, 0, 4, 3, 5, 2)]
    trace = Trace([alloc(0, 12, category="weight"), alloc(1, 6, category="optimizer")], events)
    run = allocator.replay(allocator.script(trace, 1), max_steps=10)
    assert run.survived and run.steps < 10, "ends early where a step ends as it began"


def test_optimizer_state_appears_in_the_first_optimizer_step() -> None:
    step = [
        alloc(5, 100),
        free(5),
        Event("alloc", 6, MIB, 0, "optimizer", "temporary"),
        Event("free", 6, 0, 0, "optimizer", "temporary"),
    ]
    trace = Trace([alloc(0, 8, category="weight"), alloc(1, 16, category="optimizer")], step)
    run = allocator.replay(allocator.script(trace, 1), max_steps=1)
    assert run.reserved == (20 + 100 + 2) * MIB, "the state lies in the activation's hole"


def test_storages_that_outlive_a_step_take_the_place_of_the_ones_they_replace() -> None:
    trace = Trace(
        [alloc(0, 30, category="gradient")],
        [alloc(1, 30, category="gradient"), free(0), alloc(2, 12), free(2)],
    )
    run = allocator.replay(allocator.script(trace, 1), max_steps=12)
    assert run.reserved <= (30 + 30 + 12) * MIB


def test_largest_batch_walks_down_the_ladder() -> None:
    trace = Trace([alloc(0, 10, category="weight")], [alloc(1, 0, per_clip_mib=10), free(1)])
    assert allocator.largest_batch(trace, 100 * MIB, [16, 12, 8, 4], Settings(orders=1)) == 8
    assert allocator.largest_batch(trace, 15 * MIB, [16, 8, 4], Settings(orders=1)) is None


def test_ratios_spread_over_batches() -> None:
    trace = Trace([alloc(0, 10, category="weight")], [alloc(1, 0, per_clip_mib=11.5), free(1)])
    found = allocator.ratios(trace, [1, 2, 4], Settings(orders=1))
    assert set(found) == {"rounding_mib", "reserved", "cap", "calm"}
    assert found["rounding_mib"] == (0.0, 0.5, 1.0), "11.5, 23 and 46 MiB in segments of 12, 24, 46"
    for low, mid, high in (found["reserved"], found["cap"], found["calm"]):
        assert 1.0 <= low <= mid <= high
