"""A model of PyTorch's CUDA caching allocator: what a job reserves, and under which limit it runs.

A trace says which tensors are alive; this module says how much memory PyTorch must *hold* to serve
them. The rules are those of ``c10/cuda/CUDACachingAllocator.cpp`` (torch 1.4 to 2.14):

* every request is rounded up to 512 bytes;
* up to 1 MiB it comes from 2 MiB segments (the small pool), below 10 MiB from 20 MiB segments,
  and from there on from a segment of its own size rounded up to 2 MiB;
* the best fit wins, ties go to the lower address; a block is split where at least 512 bytes
  (small pool) or more than 1 MiB (large pool) would remain; neighbours merge when they are freed;
* what is left of a block that is too small to split stays with the tensor and counts as allocated:
  ``torch.cuda.max_memory_allocated`` is above the sum of the live tensors (*counted* here);
* when the driver refuses a segment, every segment that is wholly free is given back and the
  request is tried once more: a *retry*, which stalls the GPU; if that fails too, out of memory.

Sizes are bytes unless a name says otherwise; inside, they count blocks of 512 bytes.
"""

from __future__ import annotations

import random
import statistics
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

MIB = 2**20
BLOCK = 512  # kMinBlockSize, bytes
_SMALL_MAX = MIB // BLOCK  # kSmallSize
_SMALL_SEGMENT = 2 * MIB // BLOCK  # kSmallBuffer
_MEDIUM_MAX = 10 * MIB // BLOCK  # kMinLargeAlloc
_LARGE_SEGMENT = 20 * MIB // BLOCK  # kLargeBuffer
_ROUND_LARGE = 2 * MIB // BLOCK  # kRoundLarge
_ADDRESS_BITS = 64
_SEGMENT_BITS = 31  # a segment is smaller than 2^31 blocks = 1 TiB


class OutOfMemory(Exception):
    """The limit is too small for a request, even after every free segment was given back."""


class EventLike(Protocol):
    """One allocation or release of a traced step (``bench.trace.Event``)."""

    @property
    def kind(self) -> str: ...
    @property
    def storage(self) -> int: ...
    @property
    def fixed_bytes(self) -> float: ...
    @property
    def per_clip_bytes(self) -> float: ...
    @property
    def phase(self) -> str: ...
    @property
    def category(self) -> str: ...


class TraceLike(Protocol):
    """A traced step: what is alive at its start, and what happens in it."""

    @property
    def resident(self) -> Sequence[EventLike]: ...
    @property
    def events(self) -> Sequence[EventLike]: ...


class Block:
    """A piece of a segment. ``state``: True free, False in use, None not mapped."""

    __slots__ = ("address", "next", "previous", "size", "small", "state")

    def __init__(self, address: int, size: int, small: bool) -> None:
        self.address = address
        self.size = size
        self.small = small
        self.state: bool | None = True
        self.previous: Block | None = None
        self.next: Block | None = None


def blocks(size_bytes: float) -> int:
    """How many 512-byte blocks a request of ``size_bytes`` takes (at least one).

    >>> blocks(1), blocks(512), blocks(513)
    (1, 1, 2)
    """
    return max(1, -(-int(size_bytes) // BLOCK))


def segment_size(size: int) -> int:
    """The segment a request of ``size`` blocks asks the driver for, in blocks.

    >>> [segment_size(n * MIB // BLOCK) * BLOCK // MIB for n in (1, 2, 10, 11)]
    [2, 20, 10, 12]
    """
    if size <= _SMALL_MAX:
        return _SMALL_SEGMENT
    if size < _MEDIUM_MAX:
        return _LARGE_SEGMENT
    return -(-size // _ROUND_LARGE) * _ROUND_LARGE


class CachingAllocator:
    """The allocator with its default settings: one cudaMalloc per segment.

    Nothing says at which address the driver puts a segment, and ties between equal blocks go by
    address. So each segment gets a random one, from ``seed``.
    """

    def __init__(self, limit_bytes: float | None = None, seed: int = 0) -> None:
        self.limit = None if limit_bytes is None else int(limit_bytes) // BLOCK
        self._random = random.Random(seed)
        self._free: tuple[list[int], list[int]] = ([], [])  # large, small: size << 64 | address
        self._at: dict[int, Block] = {}  # free blocks by address
        self._segments = 0
        self.allocated = self.reserved = 0
        self.peak_allocated = self.peak_reserved = 0
        self.retries = 0

    def malloc(self, size: int) -> Block:
        """Serve a request of ``size`` blocks, or raise OutOfMemory."""
        small = size <= _SMALL_MAX
        free = self._free[small]
        index = bisect_left(free, size << _ADDRESS_BITS)
        block = self._take(free, index) if index < len(free) else self._new_block(size, small)
        remaining = block.size - size
        if remaining and (small or remaining > _SMALL_MAX):
            self._split(block, size)
        block.state = False
        self.allocated += block.size
        if self.allocated > self.peak_allocated:
            self.peak_allocated = self.allocated
        return block

    def free(self, block: Block) -> None:
        """Give a block back and merge it with free neighbours."""
        self.allocated -= block.size
        following = block.next
        if following is not None and following.state:
            self._forget(following)
            block.size += following.size
            block.next = following.next
            if block.next is not None:
                block.next.previous = block
        before = block.previous
        if before is not None and before.state:
            self._forget(before)
            before.size += block.size
            before.next = block.next
            if before.next is not None:
                before.next.previous = before
            block = before
        self._remember(block)

    def state(self) -> tuple[object, ...]:
        """Everything that decides what later requests get, beside the blocks in use."""
        return (self.reserved, tuple(self._free[0]), tuple(self._free[1]))

    def _take(self, free: list[int], index: int) -> Block:
        return self._at.pop(free.pop(index) & ((1 << _ADDRESS_BITS) - 1))

    def _remember(self, block: Block) -> None:
        block.state = True
        insort(self._free[block.small], block.size << _ADDRESS_BITS | block.address)
        self._at[block.address] = block

    def _forget(self, block: Block) -> None:
        free = self._free[block.small]
        del free[bisect_left(free, block.size << _ADDRESS_BITS | block.address)]
        del self._at[block.address]

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.address + size, block.size - size, block.small)
        rest.previous, rest.next = block, block.next
        if rest.next is not None:
            rest.next.previous = rest
        block.next, block.size = rest, size
        self._remember(rest)

    def _new_block(self, size: int, small: bool) -> Block:
        wanted = segment_size(size)
        if self.limit is not None and self.reserved + wanted > self.limit:
            self.retries += 1
            self._release()
            if self.reserved + wanted > self.limit:
                raise OutOfMemory
        self._hold(wanted)
        self._segments += 1
        base = (self._random.getrandbits(16) << 16 | self._segments & 0xFFFF) << _SEGMENT_BITS
        return Block(base, wanted, small)

    def _hold(self, size: int) -> None:
        self.reserved += size
        if self.reserved > self.peak_reserved:
            self.peak_reserved = self.reserved

    def _release(self) -> None:
        """Give every wholly free segment back to the driver."""
        for block in [b for b in self._at.values() if b.previous is None and b.next is None]:
            self._forget(block)
            self.reserved -= block.size


class ExpandableAllocator(CachingAllocator):
    """The allocator under ``PYTORCH_ALLOC_CONF=expandable_segments:True``.

    Each pool is one range of addresses whose pages (2 MiB small, 20 MiB large) are mapped when
    they are needed and unmapped one by one when a request fails. Addresses leave no ties.
    """

    def __init__(self, limit_bytes: float | None = None, seed: int = 0) -> None:
        super().__init__(limit_bytes, seed)
        self._heads = tuple(self._arena(small) for small in (False, True))

    def malloc(self, size: int) -> Block:
        small = size <= _SMALL_MAX
        free = self._free[small]
        index = bisect_left(free, size << _ADDRESS_BITS)
        if index < len(free):
            block = self._take(free, self._tightest(free, index))
        else:
            block = self._map(size, small)
        if block.size > size:
            self._split(block, size)
        block.state = False
        self.allocated += block.size
        if self.allocated > self.peak_allocated:
            self.peak_allocated = self.allocated
        return block

    @staticmethod
    def _arena(small: bool) -> Block:
        hole = Block(int(small) << 62, 1 << 50, small)
        hole.state = None
        return hole

    def _tightest(self, free: list[int], index: int) -> int:
        """A block that can still grow counts with the size it can grow to."""

        def reach(i: int) -> int:
            block = self._at[free[i] & ((1 << _ADDRESS_BITS) - 1)]
            after = block.next
            return block.size + (after.size if after is not None and after.state is None else 0)

        while index + 1 < len(free) and reach(index + 1) < reach(index):
            index += 1
        return index

    def _map(self, size: int, small: bool) -> Block:
        page = _SMALL_SEGMENT if small else _LARGE_SEGMENT
        wanted = segment_size(size)
        start, new = self._candidate(wanted, small, page)
        if self.limit is not None and self.reserved + new > self.limit:
            self.retries += 1
            self._release()
            start, new = self._candidate(wanted, small, page)
            if self.reserved + new > self.limit:
                raise OutOfMemory
        return self._fill(start, wanted, page)

    def _candidate(self, wanted: int, small: bool, page: int) -> tuple[Block, int]:
        """The lowest place where ``wanted`` blocks can be made free, and what must be mapped."""
        start, have, new = None, 0, 0
        block: Block | None = self._heads[small]
        while block is not None:
            if block.state is False:
                start = None
            else:
                if start is None:
                    start, have, new = block, 0, 0
                if block.state is None:
                    part = min(block.size, -(-(wanted - have) // page) * page)
                    have, new = have + part, new + part
                else:
                    have += block.size
                if have >= wanted and new:
                    return start, new
            block = block.next
        raise AssertionError("the last block of an arena is an endless hole")

    def _fill(self, start: Block, wanted: int, page: int) -> Block:
        """Map holes from ``start`` on and join them into one block of at least ``wanted``."""
        if start.state:
            self._forget(start)
        else:
            self._map_hole(start, wanted, page)
        while start.size < wanted:
            after = start.next
            assert after is not None
            if after.state:
                self._forget(after)
            else:
                self._map_hole(after, wanted - start.size, page)
            self._absorb(start, after)
        start.state = True
        after = start.next
        if after is not None and after.state:
            self._forget(after)
            self._absorb(start, after)
        return start

    def _map_hole(self, hole: Block, wanted: int, page: int) -> None:
        part = min(hole.size, -(-wanted // page) * page)
        self._hold(part)
        if part < hole.size:
            rest = Block(hole.address + part, hole.size - part, hole.small)
            rest.state = None
            rest.previous, rest.next, hole.next, hole.size = hole, hole.next, rest, part
            if rest.next is not None:
                rest.next.previous = rest

    @staticmethod
    def _absorb(block: Block, after: Block) -> None:
        block.size += after.size
        block.next = after.next
        if block.next is not None:
            block.next.previous = block

    def _release(self) -> None:
        """Unmap every page that lies wholly in a free block."""
        for block in list(self._at.values()):
            page = _SMALL_SEGMENT if block.small else _LARGE_SEGMENT
            begin = -(-block.address // page) * page
            end = (block.address + block.size) // page * page
            if end > begin:
                self._forget(block)
                self.reserved -= end - begin
                self._unmap(block, begin, end)

    def _unmap(self, block: Block, begin: int, end: int) -> None:
        if block.address + block.size > end:
            self._split(block, end - block.address)
        if block.address < begin:
            hole = Block(begin, block.size - (begin - block.address), block.small)
            hole.previous, hole.next, block.next = block, block.next, hole
            if hole.next is not None:
                hole.next.previous = hole
            block.size = begin - block.address
            self._remember(block)
            block = hole
        block.state = None
        after = block.next
        if after is not None and after.state is None:
            self._absorb(block, after)
        before = block.previous
        if before is not None and before.state is None:
            self._absorb(before, block)


@dataclass(frozen=True, slots=True)
class Replay:
    """How one run under one limit went; bytes."""

    survived: bool
    counted: int
    reserved: int
    retries: int
    steady_retries: int
    steps: int


@dataclass(frozen=True, slots=True)
class Script:
    """A traced step at one batch, ready to replay: a slot for each storage, sizes in blocks.

    ``ops`` are (slot, size); size 0 gives the slot back. ``late`` are residents that first appear
    in the optimizer step of the first step (optimizer state). ``heirs`` says which slot of the
    next step a slot that outlives this one becomes.
    """

    resident: tuple[tuple[int, int], ...]
    late: tuple[tuple[int, int], ...]
    late_at: int
    ops: tuple[tuple[int, int], ...]
    heirs: tuple[tuple[int, int], ...]
    orphans: tuple[int, ...]
    slots: int


def script(trace: TraceLike, batch: int) -> Script:
    """Fix the batch of a trace and number its storages."""
    slot: dict[int, int] = {}
    size: list[int] = []

    def enter(event: EventLike) -> tuple[int, int]:
        slot[event.storage] = len(size)
        size.append(blocks(event.fixed_bytes + event.per_clip_bytes * batch))
        return len(size) - 1, size[-1]

    first = [enter(e) for e in trace.resident if e.category != "optimizer"]
    late = [enter(e) for e in trace.resident if e.category == "optimizer"]
    ops = [enter(e) if e.kind == "alloc" else (slot[e.storage], 0) for e in trace.events]
    residents = len(first) + len(late)
    freed = {s for s, n in ops if n == 0}
    gone = [s for s in range(residents) if s in freed]
    stays = [s for s, n in ops if n and s not in freed]
    heirs, orphans = _inherit(gone, stays, size)
    phases = [e.phase for e in trace.events]
    late_at = phases.index("optimizer") if "optimizer" in phases else len(ops)
    return Script(tuple(first), tuple(late), late_at, tuple(ops), heirs, orphans, len(size))


def _inherit(
    gone: Sequence[int], stays: Sequence[int], size: Sequence[int]
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Pair storages that outlive the step with those that the next one expects, by size."""
    waiting: dict[int, list[int]] = {}
    for s in reversed(gone):
        waiting.setdefault(size[s], []).append(s)
    heirs, orphans = [], []
    for s in stays:
        places = waiting.get(size[s])
        if places:
            heirs.append((s, places.pop()))
        else:
            orphans.append(s)
    return tuple(heirs), tuple(orphans)


def replay(
    steps: Script,
    limit_bytes: float | None = None,
    *,
    expandable: bool = False,
    seed: int = 0,
    max_steps: int = 10,
) -> Replay:
    """Run ``max_steps`` steps under a limit, or fewer where a step ends as it began.

    ``steady_retries`` are those of the last step: a run that repeats itself forever repeats them.
    """
    kind = ExpandableAllocator if expandable else CachingAllocator
    heap = kind(limit_bytes, seed)
    held: list[Block | None] = [None] * steps.slots
    before: tuple[object, ...] | None = None
    step, last = 0, 0
    survived = True
    try:
        for s, n in steps.resident:
            held[s] = heap.malloc(n)
        for step in range(1, max_steps + 1):
            seen = heap.retries
            _run_step(heap, steps, held, first=step == 1)
            last = heap.retries - seen
            now = (*heap.state(), *(b.address for b in held if b is not None))
            if now == before:
                break
            before = now
    except OutOfMemory:
        survived = False
    return Replay(
        survived,
        heap.peak_allocated * BLOCK,
        heap.peak_reserved * BLOCK,
        heap.retries,
        last,
        step,
    )


def _run_step(
    heap: CachingAllocator, steps: Script, held: list[Block | None], *, first: bool
) -> None:
    if first:
        _run_ops(heap, steps.ops[: steps.late_at], held)
        _run_ops(heap, steps.late, held)
        _run_ops(heap, steps.ops[steps.late_at :], held)
    else:
        _run_ops(heap, steps.ops, held)
    for s in steps.orphans:
        _release(heap, held, s)
    heirs = [(target, held[s]) for s, target in steps.heirs]
    for s, _ in steps.heirs:
        held[s] = None
    for target, block in heirs:
        held[target] = block


def _run_ops(
    heap: CachingAllocator, ops: Iterable[tuple[int, int]], held: list[Block | None]
) -> None:
    malloc, free = heap.malloc, heap.free
    for s, n in ops:
        if n:
            held[s] = malloc(n)
        else:
            block = held[s]
            if block is not None:
                free(block)
                held[s] = None


def _release(heap: CachingAllocator, held: list[Block | None], s: int) -> None:
    block = held[s]
    if block is not None:
        heap.free(block)
        held[s] = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How hard to look: steps, address orders, and the distance of probed limits."""

    expandable: bool = False
    steps: int = 10
    orders: int = 8
    seed: int = 0
    probe: float = 0.01  # of allocated


@dataclass(frozen=True, slots=True)
class Footprint:
    """The numbers of a job at one batch, bytes (see docs/accuracy.md).

    ``allocated``: peak of live tensors; ``counted``: what ``torch.cuda.max_memory_allocated``
    says of them, remainders of blocks included; ``reserved``: what the allocator holds without a
    limit; ``cap`` and ``calm``: the smallest limits that run, and that run without retries.
    """

    allocated: int
    counted: int
    reserved: int
    cap: int
    calm: int

    def __post_init__(self) -> None:
        in_order = self.allocated <= self.counted <= self.reserved
        if not (in_order and self.allocated <= self.cap <= self.calm <= self.reserved):
            raise ValueError(f"footprint out of order: {self}")


@dataclass(slots=True)
class _Scan:
    """State of the downward scan over limits."""

    cap: int
    calm: int
    is_calm: bool = True


def footprint(trace: TraceLike, batch: int, settings: Settings = Settings()) -> Footprint:
    """The numbers of a traced step at one batch, bytes."""
    return measure(script(trace, batch), settings)


def measure(steps: Script, settings: Settings = Settings()) -> Footprint:
    """The numbers of a script, bytes.

    Reserved is the worst of all address orders without a limit. Survival is not monotone in the
    limit, so limits are probed from there downwards until one fails: cap is the last that ran in
    every order, calm the last that ran without a retry once the run repeats itself.
    """
    seeds = _seeds(settings)
    runs = [_replay(steps, None, settings, s) for s in seeds]
    allocated = peak_blocks(steps) * BLOCK
    reserved = max(r.reserved for r in runs)
    scan = _Scan(cap=reserved, calm=reserved)
    distance = max(2 * MIB, int(allocated * settings.probe) // (2 * MIB) * 2 * MIB)
    limit = reserved - distance
    while limit >= allocated and _probe(scan, steps, limit, seeds, settings):
        limit -= distance
    counted = max(r.counted for r in runs)
    return Footprint(allocated, counted, reserved, scan.cap, scan.calm)


def _seeds(settings: Settings) -> range:
    orders = 1 if settings.expandable else settings.orders
    return range(settings.seed * 1000, settings.seed * 1000 + orders)


def _replay(steps: Script, limit: int | None, settings: Settings, seed: int) -> Replay:
    return replay(steps, limit, expandable=settings.expandable, seed=seed, max_steps=settings.steps)


def _probe(
    scan: _Scan, steps: Script, limit: int, seeds: Iterable[int], settings: Settings
) -> bool:
    """Try one limit in every order; False ends the scan."""
    calm = True
    for seed in seeds:
        run = _replay(steps, limit, settings, seed)
        if not run.survived:
            return False
        calm = calm and run.steady_retries == 0
    scan.cap = limit
    scan.is_calm = scan.is_calm and calm
    if scan.is_calm:
        scan.calm = limit
    return True


def largest_batch(
    trace: TraceLike, limit_bytes: float, ladder: Sequence[int], settings: Settings = Settings()
) -> int | None:
    """The first batch of a descending ladder that runs in every address order; None if none does.

    A batch whose live tensors alone exceed the limit is skipped without a replay.
    """
    for batch in ladder:
        steps = script(trace, batch)
        if peak_blocks(steps) * BLOCK <= limit_bytes and all(
            _replay(steps, int(limit_bytes), settings, s).survived for s in _seeds(settings)
        ):
            return batch
    return None


def peak_blocks(steps: Script) -> int:
    """Peak of live tensors of a script, blocks, without an allocator."""
    size = dict((*steps.resident, *steps.late))
    live = peak = sum(size.values())
    for s, n in steps.ops:
        if n:
            size[s] = n
            live += n
            peak = max(peak, live)
        else:
            live -= size.pop(s)
    return peak


Range = tuple[float, float, float]


def ratios(
    trace: TraceLike, batches: Sequence[int], settings: Settings = Settings()
) -> dict[str, Range]:
    """What the allocator makes of a traced step: (lowest, median, highest) of the batches.

    ``rounding_mib`` is what block remainders add to the live tensors, nearly the same for every
    batch; reserved, cap and calm are multiples of the two together (*counted*), never below 1.
    """
    found = [footprint(trace, b, settings) for b in batches]
    return {
        "rounding_mib": spread([(f.counted - f.allocated) / MIB for f in found]),
        "reserved": spread([f.reserved / f.counted for f in found]),
        "cap": spread([max(1.0, f.cap / f.counted) for f in found]),
        "calm": spread([max(1.0, f.calm / f.counted) for f in found]),
    }


def spread(values: Sequence[float]) -> Range:
    """Lowest, median and highest.

    >>> spread([1.2, 1.0, 1.1])
    (1.0, 1.1, 1.2)
    """
    return min(values), statistics.median(values), max(values)
