"""Order of trust: this point, nearby, another card, the formula; and what each rests on."""

from __future__ import annotations

from typing import Any

import pytest

from calc import measurements, runs
from calc.attainable import factor, kind_of, rates
from calc.card import Offer
from calc.job import Job
from calc.profile import ModelProfile, Setting
from calc.runs import Run, RunBook, Stored
from calc.speed import StepTime, step
from calc.speed_constants import RANGE_FACTOR
from calc.speed_measured import best_step
from tests import run_files
from tests.calc import speed_samples as samples

CARDS = measurements.load_cards()
JOB = Job(model="video-swin-t", frames=32, size=224, batch=8, precision="fp16", attention="eager")


def profile() -> ModelProfile:
    """The round model, under the name and at the setting of the example run."""
    made = samples.profile()
    setting = Setting(32, 224, "amp", "none", "eager", "full")
    point = made.points[samples.SETTING]
    fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
    return ModelProfile(**{**fields, "model": "video-swin-t", "points": {setting: point}})


def book(measured_s: float, **top: Any) -> RunBook:
    """One run of the example's point that took so long."""

    def change(tree: dict[str, Any]) -> None:
        tree["rows"][0]["time"].update(
            median_ms=measured_s * 1e3, p10_ms=measured_s * 990, p90_ms=measured_s * 1010
        )

    tree = run_files.changed(change, **top)
    return runs.book([Stored("a.yaml", measurements.record_of(Run, tree, "a.yaml"))])


def formula(card: str, batch: int = 8) -> StepTime:
    found = step(JOB, profile(), Offer(CARDS[card]), batch, 1)
    assert found is not None
    return found


def best(card: str, known: RunBook, batch: int = 8, accumulation: int = 1) -> StepTime:
    offer = Offer(CARDS[card])
    found = best_step(JOB, profile(), offer, batch, accumulation, known, CARDS)
    assert found is not None
    return found


def test_without_runs_it_is_the_formula() -> None:
    assert best("RTX 4090 24GB", RunBook()) == formula("RTX 4090 24GB")


def test_the_very_point_is_measured_and_its_range_is_narrow() -> None:
    plain = formula("RTX 4090 24GB")
    found = best("RTX 4090 24GB", book(1.1 * plain.total_s.mid))
    assert found.basis == "measured"
    assert found.total_s.mid == pytest.approx(1.1 * plain.total_s.mid)
    assert found.total_s.high / found.total_s.low < 1.1
    assert sum(found.parts_s.values()) == pytest.approx(found.total_s.mid)


def test_nearby_and_accumulated_are_corrected() -> None:
    plain = formula("RTX 4090 24GB")
    known = book(1.1 * plain.total_s.mid)
    near = best("RTX 4090 24GB", known, batch=12)
    assert near.basis == "corrected"
    expected = 1.1 * formula("RTX 4090 24GB", 12).total_s.mid
    assert near.total_s.mid == pytest.approx(expected)
    assert near.total_s.high / near.total_s.mid == pytest.approx(RANGE_FACTOR["nearby"])
    assert best("RTX 4090 24GB", known, accumulation=2).basis == "corrected"


def test_another_cards_run_is_scaled_by_the_ratio_of_the_cards() -> None:
    measured_s = 1.1 * formula("RTX 4090 24GB").total_s.mid
    found = best("A100 40GB SXM4", book(measured_s))
    assert found.basis == "corrected"
    here, there = factor(CARDS["A100 40GB SXM4"], "half"), factor(CARDS["RTX 4090 24GB"], "half")
    assert here and there
    assert found.total_s.mid == pytest.approx(measured_s * there[0] / here[0], rel=0.01)
    near = best("RTX 4090 24GB", book(measured_s), batch=12).total_s
    wider = found.total_s
    assert wider.high / wider.mid > near.high / near.mid


@pytest.mark.parametrize(
    ("card", "precision", "kind"),
    [
        ("V100 16GB SXM2", "fp16", "half"), ("V100 16GB SXM2", "bf16", "fp32"),
        ("T4 16GB", "tf32", "fp32"), ("RTX 4090 24GB", "bf16-pure", "half"),
        ("A100 40GB SXM4", "tf32", "tf32"), ("A100 40GB SXM4", "fp32", "fp32"),
    ],
)  # fmt: skip
def test_what_a_precision_runs_as(card: str, precision: str, kind: str) -> None:
    assert kind_of(CARDS[card], precision) == kind


def test_channels_last_saves_convolutions_the_turning() -> None:
    card = CARDS["A100 40GB SXM4"]
    plain, last = rates(card, "fp16", False), rates(card, "fp16", True)
    assert plain and last
    assert last.s_per_gib["conv_half"] < plain.s_per_gib["conv_half"]
    assert last.s_per_gib["gemm_half"] == plain.s_per_gib["gemm_half"]


def test_no_card_runs_above_its_datasheet() -> None:
    for card in CARDS.values():
        found, peak = rates(card, "fp16"), card.dense_fp16_tflops.value
        if found and peak:
            assert found.s_per_gflop["gemm_half"] >= 1 / 1e3 / peak * 0.999, card.name
