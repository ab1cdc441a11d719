"""Profiles: their arithmetic gives plain traces, and the shipped files can be made again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from bench.envelope import peak
from bench.held import batches
from bench.models import MODELS
from bench.profile import FOLDER, At, profile, profile_point, render, settings
from bench.step import StepConfig
from bench.trace import trace_step
from calc.job import Job
from calc.measurements import ProfileFile, load_profile, read
from calc.profile import Setting, point, setting

SMALL = [
    At(8, 112, "amp", "none", "sdpa", "full"),
    At(8, 112, "amp", "block", "sdpa", "full"),
    At(8, 112, "fp32", "none", "eager", "full"),
    At(8, 112, "bf16-pure", "none", "sdpa", "full"),
    At(8, 112, "amp", "none", "sdpa", "head"),
]
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.yaml"))
QUICK = [model for model in SHIPPED if MODELS[model].family in ("vit", "timesformer", "resnet3d")]


def test_a_profile_is_read_by_calc_and_gives_plain_traces(tmp_path: Path) -> None:
    """Write, read back, and take the peak at batches 2, 4 and 8 from calc's own lines."""
    path = tmp_path / "videomae-s.yaml"
    path.write_text(render(profile(MODELS["videomae-s"], SMALL)), encoding="utf-8")
    found = read(ProfileFile, path)
    assert len(found.points) == len(SMALL)
    for at, traced in zip(SMALL, found.points, strict=True):
        for batch in (2, 4, 8):
            lines_mib = max(line.mib(batch) for line in traced.step)
            plain = peak(trace_step(at.config("videomae-s").replace(batch=batch)), batch)
            ours = found.weights_mib[at.precision] + lines_mib
            assert ours == pytest.approx(plain.mib - plain.parts_mib["optimizer"], rel=0.005)


def test_gradients_and_parameters_are_stated_for_all_and_for_the_head() -> None:
    found = profile(MODELS["videomae-s"], SMALL)
    width, classes = 384, 400
    head = width * classes + classes + 2 * width  # classifier and the norm before it
    assert found["trainable"]["head"] == {"params": head, "tensors": 4}
    assert found["gradients_mib"]["head"]["amp"] == pytest.approx(head * 4 / 2**20, rel=0.01)
    assert found["gradients_mib"]["full"]["amp"] == found["weights_mib"]["amp"]
    assert found["weights_mib"]["bf16-pure"] == pytest.approx(
        found["weights_mib"]["amp"] / 2, rel=0.01
    )


@pytest.mark.parametrize("model", sorted(MODELS))
def test_each_setting_stands_once_and_the_published_shape_first(model: str) -> None:
    found = list(settings(MODELS[model]))
    assert len(found) == len(set(found))
    assert found[0][:2] == MODELS[model].reference
    assert {at.attention for at in found} == set(MODELS[model].attention)


@pytest.mark.parametrize("model", SHIPPED)
def test_shipped_profiles_hold_every_setting(model: str) -> None:
    shipped = load_profile(model)
    assert set(shipped.points) == {Setting(*at) for at in settings(MODELS[model])}
    text = (FOLDER / f"{model}.yaml").read_text(encoding="utf-8")
    assert render(yaml.safe_load(text)) == text, "a file that was edited by hand"


@pytest.mark.parametrize("number", range(4))
def test_shipped_points_can_be_traced_again(number: int) -> None:
    """Four settings, spread over the models; a fixed draw, so that a failure can be repeated."""
    draw = random.Random(number)
    model = draw.choice(QUICK)
    document = yaml.safe_load((FOLDER / f"{model}.yaml").read_text(encoding="utf-8"))
    entry = draw.choice(document["points"])
    at = At(*entry["at"])
    again = profile_point(
        at, trace_step(at.config(model), affine=True), document["weights_mib"][at.precision]
    )
    assert again == entry, f"made by torch {document['traced']['torch']}"


def test_bf16_takes_its_own_point_where_it_takes_more_memory(tmp_path: Path) -> None:
    """softmax of half-precision scores: read as they are in fp16, copied to fp32 in bf16."""
    at = At(16, 224, "amp", "block", "eager", "full")
    wanted = [at, at._replace(precision="amp-bf16"), at._replace(attention="sdpa")]
    path = tmp_path / "models" / "videomae-s.yaml"
    path.parent.mkdir()
    path.write_text(render(profile(MODELS["videomae-s"], wanted)), encoding="utf-8")
    found = load_profile("videomae-s", tmp_path)
    job = Job(
        model="videomae-s", frames=16, size=224, checkpointing="block", attention="eager",
        precision="bf16",
    )  # fmt: skip
    assert setting(job, found).precision == "amp-bf16"
    assert setting(job.replace(attention="sdpa"), found).precision == "amp"
    mib = {p: max(line.mib(64) for line in point(job.replace(precision=p), found).step)
           for p in ("fp16", "bf16")}  # fmt: skip
    assert mib["bf16"] > 1.05 * mib["fp16"]


def test_what_a_file_holds_is_not_traced_again() -> None:
    one, two = SMALL[:2]
    known = profile(MODELS["videomae-s"], [one])
    known["points"][0]["work"]["memory"] = ["kept"]
    both = profile(MODELS["videomae-s"], [two, one], known)
    assert [entry["at"] for entry in both["points"]] == [list(two), list(one)]
    assert both["points"][1]["work"]["memory"] == ["kept"]


def test_all_profiles_together_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.yaml")) < 2e6


def test_batches_fill_the_cards_they_are_meant_for() -> None:
    trace = trace_step(StepConfig("videomae-s", 8, 112, precision="fp16"), affine=True)
    for batch, target_gib in zip(batches(trace), (21, 37, 74), strict=True):
        assert peak(trace, batch).mib == pytest.approx(target_gib * 1024, rel=0.02)
