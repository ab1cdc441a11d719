from __future__ import annotations

import dataclasses

import pytest

from calc import MODEL_VERSION
from calc.compare import compare
from calc.fit import fit
from calc.job import Job
from calc.profile import NotTraced
from calc.report import as_json, table
from calc.words import LANGUAGES, render
from tests.calc.samples import Example, profile

DATA = Example()
FP32 = {at: made for at, made in profile().points.items() if at.precision == "fp32"}
SAME = FP32 | {dataclasses.replace(at, precision="amp"): made for at, made in FP32.items()}
"""Points that take the same in both precisions."""
MODIFIED = "RTX 4090 48GB (modified)"
KEYS = {"model_version", "data_version", "job", "verdict", "rules", "offers", "advice", "notes"}
OFFER_KEYS = {
    "card", "count", "fit", "memory_gib", "usable_gib", "needs_gib", "sure_gib", "parts_gib",
    "max_batch", "micro_batch", "accumulation", "clips_per_step", "clips_per_s",
    "hours", "usd", "basis",
}  # fmt: skip


def notes(job: Job) -> list[str]:
    return [render(note) for note in compare(job, DATA).notes]


def test_offers_come_in_the_order_asked_and_agree_with_their_parts() -> None:
    job = Job(cards=("L4 24GB", "2x RTX 4090 24GB", "A100 40GB SXM4"), batch=16)
    answer = compare(job, DATA)
    assert [result.offer.text for result in answer.offers] == list(job.cards)
    assert (answer.model_version, answer.data_version) == (MODEL_VERSION, "example")
    for result in answer.offers:
        assert result.fit == fit(job, profile(), result.offer)
        assert result.hours is not None and result.usd is not None and result.step is not None
        assert result.clips_per_s is not None and result.price is not None
        per_h = result.price.usd * result.offer.count
        assert result.usd.mid == pytest.approx(result.hours.mid * per_h)
        clips = job.clips * job.epochs
        assert result.hours.mid == pytest.approx(clips / result.clips_per_s.mid / 3600)


def test_what_does_not_fit_has_no_hours_and_costs_nothing_known() -> None:
    small = compare(Job(batch=1, extra_gib=30.0), DATA).offers[1]
    assert not small.trains
    assert (small.hours, small.usd, small.clips_per_s) == (None, None, None)
    assert small.price is not None, "known whether it trains the job or not"
    assert small.basis == {"memory": "formula", "speed": None}


def test_an_unknown_card_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"card is 'RTX 4090'; allowed are A100 40GB PCIe, "):
        compare(Job(cards=("RTX 4090",)), DATA)


def test_what_was_not_traced_is_refused() -> None:
    with pytest.raises(NotTraced, match="Round"):
        compare(Job(frames=8), DATA)


def test_json_is_as_promised() -> None:
    shown = as_json(compare(Job(batch=16), DATA))
    assert set(shown) == KEYS
    for offer in shown["offers"]:
        assert set(offer) >= OFFER_KEYS
        assert set(offer["memory_gib"]) == {"allocated", "reserved", "cap", "calm"}
        assert set(offer["memory_gib"]["cap"]) == {"low", "mid", "high"}
        assert sum(offer["parts_gib"].values()) == offer["memory_gib"]["allocated"]["mid"]
        assert set(offer["basis"]) == {"memory", "speed"}
        assert isinstance(offer["usable_gib"], float)


def test_unknown_is_null_in_json_and_never_zero() -> None:
    job = Job(batch=1, extra_gib=30.0, cards=("RTX 4090 24GB", "RTX 4090 D 24GB"))
    for offer in as_json(compare(job, DATA))["offers"]:
        for key in ("micro_batch", "accumulation", "clips_per_step", "clips_per_s", "hours", "usd"):
            assert offer[key] is None
    unpriced = as_json(compare(Job(cards=("RTX 4090 D 24GB",)), DATA))["offers"][0]
    assert unpriced["usd"] is None and unpriced["price"] is None
    assert unpriced["hours"] is not None


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(
    "job",
    [Job(), Job(batch=64, cards=("2x RTX 4090 24GB", "RTX 4090 D 24GB", MODIFIED)),
     Job(batch=1, extra_gib=30.0, os="windows"), Job(price_kind="buy", currency="CNY"),
     Job(price_kind="spot", interruptions_per_day=3.0, loader_clips_per_s=20.0)],
    ids=["both", "several", "none", "bought", "spot"],
)  # fmt: skip
def test_the_table_has_a_line_for_every_offer(job: Job, lang: str) -> None:
    text = table(compare(job, DATA), lang)
    assert "{" not in text
    for name in job.cards:
        assert any(line.startswith(name) for line in text.splitlines())


def test_notes_tell_what_people_get_wrong() -> None:
    assert any("spills into system memory" in note for note in notes(Job(os="windows")))
    assert any("several cards do not add up" in note for note in notes(Job(cards=("2x L4 24GB",))))
    sharded = notes(Job(cards=("2x L4 24GB",), sharding="fsdp"))
    assert any("not validated on GPUs" in note for note in sharded)
    assert any("slows down A100 40GB SXM4" in note for note in notes(Job(loader_clips_per_s=1.0)))
    assert any("rebuilt by third" in note for note in notes(Job(cards=(MODIFIED,))))
    assert any("derived from the driver's" in note for note in notes(Job(cards=("L4 24GB",))))


def test_notes_tell_how_far_the_figures_can_be_trusted() -> None:
    told = notes(Job(checkpointing="block"))
    assert told[0].startswith("mixed precision needs ")
    assert any("published rows" in note or "was not validated" in note for note in told)
    assert told[-1] == (
        "not validated on a GPU: autocast, checkpointing, smallest memory that works"
    )
    assert notes(Job(precision="fp32"))[-1] == (
        "not validated on a GPU: smallest memory that works"
    )


def test_break_even_between_offers_and_between_renting_and_buying() -> None:
    told = notes(Job())
    answer = compare(Job(), DATA)
    first, second = (result.hours.mid for result in answer.offers if result.hours)
    ratio = f"{second / first:.2f} x as much an hour"
    assert any(note.startswith("A100 40GB SXM4 is cheaper than RTX 4090") and ratio in note
               for note in told)  # fmt: skip
    bought = [note for note in told if "buying costs less than renting" in note]
    assert [note.partition(":")[0] for note in bought] == ["RTX 4090 24GB"]  # the A100 has no price
    assert not any("as much an hour" in note for note in notes(Job(price_kind="buy")))
    counts = Job(cards=("2x RTX 4090 24GB", "RTX 4090 24GB"))  # GPUs of one price
    assert not any("as much an hour" in note for note in notes(counts))


@pytest.mark.parametrize(
    ("more_mib", "word"), [(-100, "less memory"), (0, "as much memory"), (100, "more memory")]
)
def test_what_mixed_precision_does_to_memory_is_said(more_mib: float, word: str) -> None:
    class Mixed(Example):
        def profile(self, model: str) -> object:  # type: ignore[override]
            weights = {"fp32": 400.0, "amp": 400.0 + more_mib, "bf16-pure": 50.0}
            return profile(weights_mib=weights, points=SAME)

    told = [render(note) for note in compare(Job(batch=1), Mixed()).notes]
    assert sum(f" {word} " in note and "mixed" in note for note in told) == 1


def test_a_library_that_has_one_attention_is_told() -> None:
    class Eager(Example):
        def profile(self, model: str) -> object:  # type: ignore[override]
            return profile(attention=("eager",))

    told = [render(note) for note in compare(Job(attention="sdpa"), Eager()).notes]
    assert "Round has only eager attention in this library, so sdpa was not used" in told
