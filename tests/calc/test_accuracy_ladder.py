"""The ladder of a 24 GB card, and users' reports."""

from __future__ import annotations

from calc import accuracy_ladder, accuracy_reports, calibration
from calc.accuracy_ladder import Model, Step


def model(name: str, cap_gib: float, fits_next: bool, family: str = "a") -> Model:
    """A model whose batch of 64 needs `cap_gib`, and its batch of 32 far less."""
    steps = (Step(64, cap_gib - 0.5, cap_gib), Step(32, 10.0, None))
    return Model(name, family, 64 if fits_next else 32, steps)


def test_the_first_step_that_fits_is_the_answer() -> None:
    assert model("m", 22.0, True).predicted(22.5) == 64
    assert model("m", 23.0, True).predicted(22.5) == 32
    assert Model("m", "a", 1, (Step(1, 30.0, 31.0),)).predicted(22.5) == 0


def test_live_tensors_alone_are_too_hopeful() -> None:
    assert model("m", 22.9, False).predicted_raw(22.5) == 64


def test_usable_memory_is_learned_between_what_ran_and_what_did_not() -> None:
    items = [model("ran", 22.0, True), model("died", 22.4, False)]
    assert 22.0 <= accuracy_ladder.best_usable_gib(items) < 22.4


def test_a_family_is_graded_with_what_the_others_teach(monkeypatch) -> None:
    items = (
        model("ran", 21.5, True, "a"), model("died", 22.0, False, "a"),
        model("odd", 23.5, True, "b"),
    )  # fmt: skip
    monkeypatch.setattr(accuracy_ladder, "models", lambda: items)
    found = {m.name: (p, usable) for m, p, usable in accuracy_ladder.graded()}
    assert found["odd"][0] == 32, "its own success teaches it nothing"
    assert 21.5 <= found["odd"][1] < 22.0


def test_the_shipped_ladder_meets_the_targets() -> None:
    found = accuracy_ladder.report()
    assert found is not None
    held_out = found["held_out"]
    assert held_out.n >= 150 and found["families"] >= 30
    assert held_out.exact / held_out.n >= 0.85
    assert held_out.too_large / held_out.n <= 0.03
    assert held_out.within_one / held_out.n >= 0.97
    assert found["nothing_fitted"].exact >= found["live_tensors_only"].exact


def test_every_high_confidence_report_is_decided_or_explained() -> None:
    found = accuracy_reports.report()
    assert found is not None and len(found) == 31
    for report in found:
        if report.confidence == "high":
            assert report.right or report.why, report.id


def test_decisions_of_reports() -> None:
    assert accuracy_reports.decide(10.0, 10.1, 11.0) == "no"
    assert accuracy_reports.decide(10.5, 10.1, 11.0) == "tight"
    assert accuracy_reports.decide(11.0, 10.1, 11.0) == "fits"


def test_the_headroom_is_what_the_ladder_says() -> None:
    assert abs(calibration.HEADROOM_GIB - accuracy_ladder.headroom_gib()) < 0.01
