"""The closed form against traces of the library models of the same shape."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import custom
from calc.compare import compare
from calc.job import FIELD, Job
from calc.measurements import load, model_ids
from calc.memory import estimate, model
from calc.profile import ModelProfile, point
from tests.fuzz import examples

VIT = {"videomae-s": (12, 384, 6), "videomae-b": (12, 768, 12), "videomae-l": (24, 1024, 16),
       "videomae-h": (32, 1280, 16)}  # fmt: skip
LIBRARY = {**VIT, "timesformer-b": (12, 768, 12)}
TOLERANCE = 0.03
BATCHES = (1, 2, 4, 8, 16, 64)


def same_shape(name: str, job: Job) -> Job:
    """The custom job with the figures of a library model."""
    depth, width, heads = LIBRARY[name]
    divided = name.startswith("timesformer")
    return job.replace(
        model="custom", depth=depth, width=width, heads=heads, mlp_ratio=4.0, patch=16,
        tubelet=1 if divided else 2, pattern="divided" if divided else "joint",
    )  # fmt: skip


def library(name: str) -> ModelProfile:
    """The traced profile."""
    if name not in model_ids():
        pytest.skip(f"{name} is not traced yet")
    return load().profile(name)


def live_mib(job: Job, profile: ModelProfile, batch: int) -> float:
    """Peak of live tensors, before anything that is not in the trace is added."""
    found = model(job, profile)
    return found.base_mib + max(line.mib(batch) for line in found.lines)


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_memory_is_within_3_percent_of_every_trace(name: str) -> None:
    """All traced shapes, precisions, ways and attention kinds, the whole model and the head."""
    traced = library(name)
    wrong = []
    for at in traced.points:
        if at.checkpointing == "wrapper":
            continue
        precision = {"amp": "fp16", "amp-bf16": "bf16"}.get(at.precision, at.precision)
        job = Job(frames=at.frames, size=at.size, precision=precision, attention=at.attention,
                  checkpointing=at.checkpointing, trainable=at.trainable)  # fmt: skip
        mine, theirs = same_shape(name, job), job.replace(model=name)
        for batch in BATCHES:
            ratio = live_mib(mine, custom.profile(mine), batch) / live_mib(theirs, traced, batch)
            if abs(ratio - 1) > TOLERANCE:
                wrong.append((at, batch, round(ratio, 4)))
    assert not wrong


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_parameters_are_exactly_the_library_models(name: str) -> None:
    """At the published shape: TimeSformer's position embeddings grow with it."""
    traced = library(name)
    published = Job(frames=8 if name.startswith("timesformer") else 16, size=224)
    mine = custom.profile(same_shape(name, published))
    assert mine.trainable["full"] == traced.trainable["full"]
    assert mine.weights_mib == pytest.approx(dict(traced.weights_mib), rel=1e-3)


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_matrix_work_is_within_3_percent_of_the_trace(name: str) -> None:
    traced = library(name)
    for at in traced.points:
        if at.checkpointing != "none" or at.trainable == "head" or at.precision != "amp":
            continue
        job = Job(frames=at.frames, size=at.size, attention=at.attention)
        mine = point(same_shape(name, job), custom.profile(same_shape(name, job))).work
        for kind, work in traced.points[at].work.items():
            assert mine[kind].gflop_per_clip == pytest.approx(work.gflop_per_clip, rel=0.03), kind


sliders = st.fixed_dictionaries({
    "depth": st.integers(1, 48), "width": st.sampled_from((192, 384, 768, 1536)),
    "heads": st.sampled_from((3, 6, 12)), "mlp_ratio": st.floats(0.5, 8.0),
    "patch": st.sampled_from((8, 16, 32)), "tubelet": st.sampled_from((1, 2, 4)),
    "pattern": st.sampled_from(FIELD["pattern"].options), "size": st.sampled_from((160, 224)),
    "frames": st.sampled_from((8, 16, 32)), "attention": st.sampled_from(("sdpa", "eager")),
    "precision": st.sampled_from(FIELD["precision"].options),
    "checkpointing": st.sampled_from(("none", "block")),
    "trainable": st.sampled_from(("full", "head")),
})  # fmt: skip


@given(sliders, st.integers(1, 64))
def test_any_sliders_give_a_sound_estimate(figures: dict[str, object], batch: int) -> None:
    job = Job(model="custom", **figures)  # type: ignore[arg-type]
    found = estimate(job, custom.profile(job), batch)
    assert sum(found.parts_gib.values()) == found.allocated.mid
    assert all(gib >= 0 for name, gib in found.parts_gib.items() if name != "calibration")
    assert all(work.gflop >= 0 for work in point(job, custom.profile(job)).work.values())


@given(sliders, st.integers(1, 64))
def test_more_layers_or_frames_need_more(figures: dict[str, object], batch: int) -> None:
    job = Job(model="custom", **figures)  # type: ignore[arg-type]

    def peak(asked: Job) -> float:
        return model(asked, custom.profile(asked)).peak_gib(batch)

    assert peak(job.replace(depth=job.depth + 1)) >= peak(job)
    if job.frames < 32:
        assert peak(job.replace(frames=2 * job.frames)) >= peak(job)


def test_checkpointing_and_fused_attention_save_memory() -> None:
    job = Job(model="custom", frames=16)
    whole, saved, explicit = (
        model(asked, custom.profile(asked)).peak_gib(8)
        for asked in (job, job.replace(checkpointing="block"), job.replace(attention="eager"))
    )
    assert saved < whole / 2 < whole < explicit / 2


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [({"size": 256, "patch": 14}, "size is 256 and patch 14; .* as 252"),
     ({"width": 770}, "width is 770 and heads 12; .* as 768"),
     ({"checkpointing": "wrapper"}, "wrapper")],
)  # fmt: skip
def test_figures_that_cannot_be_are_refused(figures: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        custom.profile(Job(model="custom", **figures))  # type: ignore[arg-type]


@settings(max_examples=examples(20))
@given(sliders)
def test_the_whole_walk_answers_for_custom_models(figures: dict[str, object]) -> None:
    answer = compare(Job(model="custom", **figures), load())  # type: ignore[arg-type]
    assert len(answer.offers) == 2
