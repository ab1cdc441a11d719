"""Several GPUs: `torchrun --nproc-per-node=N -m bench run --parallel ddp|fsdp`.

torchrun starts one of these processes per GPU. None of them touches its GPU: each starts a fresh
process per point, as `bench run` on one GPU does, and those form the process group. They agree
through torchrun's own store: rank 0 says what is measured next, and a rank whose process fails says
so, since the others would wait for it for ever. Rank 0 writes the files.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench import isolate, plan, run
from bench.isolate import Outcome
from bench.point import Measured, Point
from calc.runs import OutOfMemory

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Place:
    """One process among those of a torchrun; `key` keeps the points' groups apart."""

    rank: int
    local_rank: int
    world_size: int
    host: str
    port: int
    key: str = ""


def launched() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def world_size() -> int:
    """How many processes torchrun started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def place() -> Place:
    """This process's place."""
    read = os.environ
    return Place(
        int(read["RANK"]), int(read["LOCAL_RANK"]), int(read["WORLD_SIZE"]),
        read["MASTER_ADDR"], int(read["MASTER_PORT"]),
    )  # fmt: skip


def join(where: Place, device: str) -> None:
    """Form the process group of one point; called in the process that measures."""
    import torch
    import torch.distributed as dist

    if device == "cuda":
        torch.cuda.set_device(where.local_rank)
    store = dist.PrefixStore(where.key, _store(where))
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=where.rank, world_size=where.world_size)


def _store(where: Place) -> Any:
    """torchrun's key-value store; its agent hosts it, so every process is a client."""
    from torch.distributed import TCPStore

    return TCPStore(where.host, where.port, is_master=False, timeout=DAY)


def wrap(model: Any, parallel: str) -> Any:
    """The model under DDP, or sharded block by block with FSDP2."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    if parallel == "ddp":
        on_gpu = next(model.parameters()).is_cuda
        return DistributedDataParallel(model, [torch.cuda.current_device()] if on_gpu else None)
    from torch.distributed.fsdp import fully_shard

    from bench.checkpointing import find_blocks

    for block in find_blocks(model):
        fully_shard(block)
    return fully_shard(model)


def agreed(answer_here: Any) -> Any:
    """Rank 0's answer, for all."""
    import torch.distributed as dist

    answer = [answer_here]
    dist.broadcast_object_list(answer, src=0)
    return answer[0]


def largest(figures: tuple[float, ...]) -> tuple[float, ...]:
    """Element by element the largest of all ranks."""
    import torch.distributed as dist

    everyones: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyones, figures)
    return tuple(map(max, zip(*everyones, strict=True)))


def main(args: argparse.Namespace, device: str) -> int:
    """Rank 0 runs the plan; the others follow it."""
    team = Team(place())
    if team.place.rank != 0:
        team.follow()
        return 0
    try:
        return run.run(args, paired(plan.points(args, device, world_size())), team.measure)
    finally:
        team.dismiss()


def paired(points: Sequence[Point]) -> list[Point]:
    """Before each point the same batch on one GPU: the difference is what communication costs."""
    pairs = ((point.replace(gpus=1, parallel="none"), point) for point in points)
    return [point for pair in pairs for point in pair]


class Team:
    """The processes of a torchrun, seen from one of them."""

    def __init__(self, where: Place) -> None:
        self.place = where
        self.store = _store(where)
        self.turn = 0

    def measure(self, point: Point, tell: run.Tell) -> Outcome:
        """Rank 0: one point on all GPUs, or alone on this one."""
        if point.gpus == 1:
            return run.measure_alone(point, tell)
        self._announce(point)
        outcome = self._take_part(point, tell)
        reports = [
            self._hear(f"report/{self.turn}/{rank}") for rank in range(self.place.world_size)
        ]
        failures = [report for report in reports if report is not None]
        # a rank that ran out of memory takes the others down with it: their errors are no news
        failures.sort(key=lambda report: (report["status"] != "oom", not report["broken"]))
        return Outcome(result=_measured(point, failures[0])) if failures else outcome

    def follow(self) -> None:
        """Other ranks: take part in every point until rank 0 is done."""
        while (point := self._next()) is not None:
            self._take_part(point, lambda message: None)

    def dismiss(self) -> None:
        """Rank 0: there is nothing more to do."""
        with contextlib.suppress(RuntimeError):  # torchrun is going down, and its store with it
            self._announce(None)

    def _announce(self, point: Point | None) -> None:
        self.turn += 1
        self._say(f"turn/{self.turn}", None if point is None else point.as_tree())

    def _next(self) -> Point | None:
        self.turn += 1
        tree = self._hear(f"turn/{self.turn}")
        return None if tree is None else Point.from_tree(tree)

    def _say(self, key: str, value: Any) -> None:
        self.store.set(key, json.dumps(value))

    def _hear(self, key: str) -> Any:
        self.store.wait([key], DAY)
        return json.loads(self.store.get(key))

    def _take_part(self, point: Point, tell: run.Tell) -> Outcome:
        """This rank's process of a point; what became of it is told to all."""
        failed = f"failed/{self.turn}"
        outcome = isolate.call(
            "bench.measure:measure_together",
            (point, dataclasses.replace(self.place, key=f"point/{self.turn}")),
            run.POINT_LIMIT_S,
            tell,
            should_stop=lambda: bool(self.store.check([failed])),
        )
        report = _report(point, outcome, self.place.rank)
        self._say(f"report/{self.turn}/{self.place.rank}", report)
        if report is not None:
            self.store.set(failed, "yes")
        return outcome


def _report(point: Point, outcome: Outcome, rank: int) -> dict[str, Any] | None:
    """What went wrong on this rank, or None: it measured, or stopped because of another one."""
    if outcome.stopped:
        return None
    measured = run.to_measured(point, outcome)
    if measured.row.status in ("ok", "unstable"):
        return None
    return {
        "status": measured.row.status,
        "note": f"rank {rank}: {measured.row.note}",
        "oom": measured.row.oom and dataclasses.asdict(measured.row.oom),
        "broken": measured.broken,
    }


def _measured(point: Point, report: dict[str, Any]) -> Measured:
    oom = report["oom"] and OutOfMemory(**report["oom"])
    row = point.row(report["status"], note=report["note"], oom=oom)
    return Measured(row, report["broken"])
