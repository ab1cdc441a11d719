"""Published rows as the fits and the grading of speed take them; which, and why, stands here."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from calc.measurements import load_published
from calc.profile import Work
from calc.speed_fit import REFERENCE, Cell, Observed, datasheet_seconds

TRAINED_ON_REFERENCE = {"timm-train-nhwc-pt112": False, "timm-train-nchw-pt112": True}
"""Stacks with models trained on the reference card, which the classes are fitted on, and whether
their tensors are contiguous rather than channels-last."""

STACK_WEIGHT: Mapping[str, float] = {
    "lambda-pt1.13": 1.0,
    "lambda-pt2.x": 1.0,
    "lambda-pt2.3": 0.5,
    "milabench": 0.25,
    "gpu-insights": 0.3,
    "ready-steady-go": 0.3,
    "neusight-train": 1.0,
    "timm-infer-nhwc-pt240": 0.01,
    "timm-infer-nchw-pt240": 0.01,
    "timm-infer-nchw-pt291": 0.06,
}
"""Say of one workload of a stack in the card factors. Training in one software counts in full.
Four batches of a milabench model count as one workload; inference rows, 53 of one kind, together
as half a workload to three: they link the newest cards, which no training suite has; scores of
mixed software and bars read from a figure count a third. Stacks not named here are left out:
lambda-v0 mixes PyTorch 1.4 to 1.10."""

LEFT_OUT = {("ready-steady-go", "RTX 4090 24GB")}
"""Measured weeks after the card's launch, before PyTorch had Ada kernels; graded, never fitted."""

MIN_BATCH = 8
"""Smaller batches of milabench wait for the host or its data loader, not for the card."""


@dataclass(frozen=True, slots=True)
class Published:
    """One published figure. batch: items of one step on all GPUs, None where not stated."""

    stack: str
    workload: str
    work: str | None
    mode: str
    card: str
    gpus: int
    precision: str  # half | tf32 | fp32
    batch: int | None
    per_s: float


@dataclass(frozen=True, slots=True)
class Traced:
    """Work of a published workload, from `speed_work.yaml`."""

    family: str
    params: int
    work: Mapping[str, Work]


@cache
def published() -> tuple[Published, ...]:
    """Every throughput row."""
    return tuple(
        Published(stack["name"], load["name"], load["work"], load["mode"], *row)
        for stack in load_published("throughput")["stacks"]
        for load in stack["workloads"]
        for row in load["rows"]
    )


@cache
def traced() -> Mapping[tuple[str, str, str], Traced]:
    """Traced work by name, mode (train, infer) and precision (amp, fp32)."""
    return {
        (one["name"], one["mode"], one["precision"]): Traced(
            one["family"], one["params"], {k: Work(*v) for k, v in one["work"].items()}
        )
        for one in load_published("speed_work")["workloads"]
    }


def work_of(row: Published) -> Traced | None:
    """The traced work of a row, None where its model could not be traced."""
    precision = "amp" if row.precision == "half" else "fp32"
    return traced().get((row.work or "", row.mode, precision))


def observed() -> list[Observed]:
    """Steps on the reference card that the classes are fitted on."""
    rows = [row for row in published() if row.stack in TRAINED_ON_REFERENCE and row.batch]
    found = []
    for row in rows:
        trace = work_of(row)
        if trace is not None and row.batch is not None:
            contiguous = TRAINED_ON_REFERENCE[row.stack]
            seconds = datasheet_seconds(trace.work, row.batch, trace.params, contiguous)
            found.append(Observed(row.workload, trace.family, seconds, row.batch / row.per_s))
    return found


@cache
def cells(precision: str) -> tuple[Cell, ...]:
    """Rows of one GPU that link cards, one cell a workload, software and card."""
    grouped: dict[tuple[tuple[str, ...], str], list[Published]] = defaultdict(list)
    for row in published():
        if row.gpus == 1 and row.precision == precision and _links(row):
            grouped[_group(row), row.card].append(row)
    return tuple(_cell(group, card, rows) for (group, card), rows in grouped.items())


def _links(row: Published) -> bool:
    if row.stack not in STACK_WEIGHT or (row.stack, row.card) in LEFT_OUT:
        return False
    return row.stack != "milabench" or (row.batch or 0) >= MIN_BATCH


def _group(row: Published) -> tuple[str, ...]:
    batch = (str(row.batch),) if row.stack == "milabench" else ()
    return (row.stack, row.workload, *batch)


def _cell(group: tuple[str, ...], card: str, rows: list[Published]) -> Cell:
    mean = sum(math.log(row.per_s) for row in rows) / len(rows)
    return Cell(group, model_name(group[1]), card, mean, STACK_WEIGHT[group[0]])


def model_name(workload: str) -> str:
    """The model of a workload, the same in every source, so that it can be left out everywhere.

    >>> [model_name(n) for n in ("milabench/resnet50", "resnet50 (4090 24GB)", "bert_base_squad",
    ...                          "timm/swin_base_patch4_window7_224@224", "swin_s3_base_224")]
    ['resnet50', 'resnet50', 'bert', 'swin', 'swin']
    """
    plain = re.split(r"[ @(]", workload.removeprefix("timm/").split("/")[-1])[0]
    for family in ("bert", "swin", "vit", "regnet", "convnext"):
        if plain.startswith(family):
            return family
    return plain.removesuffix("-tf32")


@dataclass(frozen=True, slots=True)
class Pair:
    """One workload trained on an A100 40GB and an RTX 4090 by one source; ratio A100 / 4090."""

    workload: str
    precision: str
    a100: str
    stack: str
    ratio: float

    @property
    def model(self) -> str:
        """What is left out together in grading."""
        return model_name(self.workload)


def pairs() -> Iterator[Pair]:
    """The published training pairs of the two cards of the title."""
    rows: list[list[Any]] = load_published("ratio_a100_40gb_rtx4090")["rows"]
    for workload, precision, variant, _, _, ratio, stack in rows:
        card = "A100 40GB SXM4" if variant == "SXM4" else "A100 40GB PCIe"
        yield Pair(workload, precision, card, stack, ratio)


__all__ = ["REFERENCE", "Pair", "Published", "cells", "observed", "pairs", "published", "work_of"]
