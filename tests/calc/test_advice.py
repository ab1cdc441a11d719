from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.advice import SHOWN, Advice, _combinations, advise
from calc.card import Offer, parse_offer
from calc.compare import evaluate_all
from calc.fit import fit
from calc.job import Job
from calc.measurements import load_cards
from calc.words import render
from tests.calc.samples import Example, profile
from tests.fuzz import examples

ROUND = profile()
CARDS = load_cards()


def advice(job: Job, *names: str) -> tuple[Advice, ...]:
    """Advice for a job on cards."""
    offers = [Offer(CARDS[name]) for name in names or ("RTX 4090 24GB",)]
    return advise(job, ROUND, evaluate_all(job, ROUND, offers, Example()))


def changed(job: Job, piece: Advice) -> tuple[Job, Offer]:
    """The job and the offer that a piece of advice asks for."""
    offer = dict(piece.changes).get("cards", (piece.offer,))[0]  # type: ignore[index]
    name, count = parse_offer(str(offer))
    return job.replace(**{**piece.changes, "micro_batch": None}), Offer(CARDS[name], count)


def test_what_fits_needs_no_advice() -> None:
    assert advice(Job(batch=8)) == ()


def test_every_piece_of_advice_really_fits() -> None:
    for batch in (24, 64, 256, 4096):
        for piece in advice(Job(batch=batch)):
            job, offer = changed(Job(batch=batch), piece)
            found = fit(job, ROUND, offer)
            assert (found.micro_batch, found.accumulation) == (
                piece.fit.micro_batch, piece.fit.accumulation,
            )  # fmt: skip
            assert found.micro_batch is not None


def test_the_known_ways_out_are_found() -> None:
    """64 clips of 1 GiB on 23 GiB: accumulate, checkpoint, or take four cards."""
    texts = [render(piece.text) for piece in advice(Job(batch=64))]
    assert len(texts) == SHOWN
    assert any("4 x 16 clips with accumulation" in text for text in texts)
    assert any("checkpoint each block" in text for text in texts)
    assert any("take 4x RTX 4090 24GB" in text for text in texts)


def test_advice_that_keeps_the_training_comes_first_and_by_time() -> None:
    found = advice(Job(batch=64, precision="fp32"))
    assert found[0].changes.get("precision") == "fp16"
    times = [piece.time_factor.mid for piece in found if piece.time_factor]
    same = [piece for piece in found if "cards" not in piece.changes]
    assert times[: len(same)] == sorted(times[: len(same)])


def test_time_that_the_data_loader_takes_is_not_saved_by_more_cards() -> None:
    def of_more_cards(loader: float | None) -> float:
        found = advice(Job(batch=64, loader_clips_per_s=loader))
        (piece,) = (piece for piece in found if "cards" in piece.changes)
        assert piece.time_factor is not None
        return piece.time_factor.mid

    assert of_more_cards(None) == of_more_cards(1e6) < 0.5
    assert of_more_cards(0.5) == 1


def test_a_combination_is_only_told_if_it_saves_micro_batches_or_time() -> None:
    found = [piece for piece in advice(Job(batch=64)) if "cards" not in piece.changes]
    for piece in found:
        for other in found:
            if other.changes.items() < piece.changes.items():
                assert (other.fit.accumulation or 0) > (piece.fit.accumulation or 0)


def test_fewer_frames_only_where_nothing_else_helps() -> None:
    """One clip, 21.2 and 21.6 GiB taken elsewhere: a lighter training is the last of the ways."""
    found = [dict(piece.changes) for piece in advice(Job(batch=1, extra_gib=21.2))]
    assert found[0]["checkpointing"] == "block"
    lighter = advice(Job(batch=1, extra_gib=21.6, checkpointing="block"))
    assert dict(lighter[-1].changes) in ({"frames": 16}, {"trainable": "head"})
    assert dict(lighter[0].changes) == {"optimizer": "adamw8bit"}


def test_what_fits_nowhere_gets_no_advice() -> None:
    assert advice(Job(batch=1, extra_gib=200.0)) == ()


def test_explicit_attention_has_a_fused_relative() -> None:
    """Only where the library offers both; the example's attention costs the same, so on its own
    it helps nothing and is not told."""
    job = Job(batch=64, attention="eager")
    assert {"attention": "sdpa"} in list(_combinations(job, ROUND))
    eager = profile(attention=("eager",))
    assert not any("attention" in changes for changes in _combinations(job, eager))


@settings(max_examples=examples(30))
@given(st.integers(1, 4096), st.sampled_from(("fp32", "fp16")), st.floats(0, 25))
def test_at_most_three_for_each_card_and_every_one_fits(
    batch: int, precision: str, extra_gib: float
) -> None:
    job = Job(batch=batch, precision=precision, extra_gib=extra_gib)
    names = ("RTX 4090 24GB", "L4 24GB", "A100 40GB SXM4")
    found = advice(job, *names)
    for name in names:
        assert sum(piece.offer == name for piece in found) <= SHOWN
    for piece in found:
        asked, offer = changed(job, piece)
        assert fit(asked, ROUND, offer).max_batch > 0


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_words_of_every_kind_of_advice(lang: str) -> None:
    for job in (Job(batch=64, precision="fp32"), Job(batch=4096), Job(batch=1, extra_gib=21.2)):
        for piece in advice(job):
            text = render(piece.text, lang)
            assert text.startswith("RTX 4090 24GB")
            assert "{" not in text
