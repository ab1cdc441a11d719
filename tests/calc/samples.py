"""A model for arithmetic that can be checked by hand: round figures, an example and not a trace."""

from __future__ import annotations

from collections.abc import Mapping

from calc.card import Card, Price
from calc.measurements import load_cards, load_prices
from calc.profile import (
    AllocatorRatio,
    Line,
    ModelProfile,
    Point,
    Setting,
    Timeline,
    Trainable,
    Work,
)
from calc.runs import RunBook

PARAMS = 26_214_400  # 100 MiB in fp32
PRECISIONS = ("fp32", "amp", "bf16-pure")
SHAPES = ((16, 224), (32, 224))
PER_CLIP = {"none": 1000.0, "block": 200.0}


def _point(at: Setting) -> Point:
    clip = PER_CLIP[at.checkpointing] * at.frames / 32
    gradients = 100.0 if at.trainable == "full" else 1.0
    step = (
        Line("forward", 0.0, 20.0, clip, 0.0, 10.0),
        Line("backward", gradients / 2, 20.0, clip * 0.9, 30.0, 120.0),
        Line("optimizer", gradients, 0.0, 18.0, 0.0, 0.0),
    )
    accumulate = tuple(
        Line(line.phase, gradients, line.activations_mib, line.activations_mib_per_clip,
             line.temporaries_mib + (gradients / 4 if line.phase == "backward" else 0.0),
             line.temporaries_mib_per_clip)
        for line in step
    )  # fmt: skip
    gflop = 400.0 * at.frames / 32 * (4 / 3 if at.checkpointing == "block" else 1)
    kind = "gemm_fp32" if at.precision == "fp32" else "gemm_half"
    work = {kind: Work(0, gflop, 0.3, 3, 400), "memory": Work(0, 0, 0.5, 12, 900)}
    return Point(step, accumulate, work)


def _points() -> dict[Setting, Point]:
    settings = [
        Setting(frames, size, precision, checkpointing, attention, trainable)
        for frames, size in SHAPES
        for precision in PRECISIONS
        for checkpointing in PER_CLIP
        for attention in ("sdpa", "eager")
        for trainable in ("full", "head")
    ]
    return {at: _point(at) for at in settings}


def profile(**changes: object) -> ModelProfile:
    """100 MiB of fp32 weights, about 1 GiB a clip at 32 frames, 0.2 GiB with checkpointing."""
    fields: dict[str, object] = {
        "model": "round", "title": "Round", "family": "vit", "source": "tests",
        "attention": ("sdpa", "eager"), "params": PARAMS,
        "trainable": {"full": Trainable(PARAMS, 100), "head": Trainable(PARAMS // 100, 2)},
        "weights_mib": {"fp32": 100.0, "amp": 100.0, "bf16-pure": 50.0},
        "gradients_mib": {
            "full": {"fp32": 100.0, "amp": 100.0, "bf16-pure": 50.0},
            "head": {"fp32": 1.0, "amp": 1.0, "bf16-pure": 0.5},
        },
        "traced": {}, "points": _points(),
        "allocator": tuple(
            AllocatorRatio(precision, checkpointing, attention, segments,
                           (1.02, 1.1, 1.2), (1.0, 1.04, 1.08), (1.02, 1.06, 1.12), (8, 16, 24))
            for precision in PRECISIONS for checkpointing in PER_CLIP
            for attention in ("sdpa", "eager") for segments in ("default", "expandable")
        ),
        "timelines": (
            Timeline(Setting(32, 224, "amp", "none", "sdpa", "full"), (0.3, 0.9, 1.0),
                     (0.0, 10.0, 60.0, 100.0), (0.0, 1010.0, 600.0, 18.0)),
        ),
    }  # fmt: skip
    return ModelProfile(**{**fields, **changes})  # type: ignore[arg-type]


class Example:
    """Measurements with the real cards and prices, and the example as every model."""

    version = "example"
    models = ("round",)

    @property
    def cards(self) -> Mapping[str, Card]:
        return load_cards()

    @property
    def prices(self) -> Mapping[str, Price]:
        return load_prices()

    @property
    def runs(self) -> RunBook:
        return RunBook()

    def profile(self, model: str) -> ModelProfile:
        return profile()
