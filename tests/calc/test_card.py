from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.card import Offer, Sourced, parse_offer, slug
from calc.measurements import load_cards
from tests.calc.speed_samples import card


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_text_of_an_offer_reads_back(count: int) -> None:
    for known in load_cards().values():
        assert parse_offer(Offer(known, count).text) == (known.name, count)


@pytest.mark.parametrize("text", ["", "   ", "0x L4 24GB", "9x L4 24GB", "99999x L4 24GB"])
def test_an_offer_that_cannot_be_is_refused(text: str) -> None:
    if text.startswith("99999"):  # five digits are no count but part of a name
        assert parse_offer(text) == (text, 1)
        return
    with pytest.raises(ValueError, match=r"'2x "):
        parse_offer(text)


@given(st.text(max_size=40))
def test_any_text_is_an_offer_or_one_clear_error(text: str) -> None:
    try:
        name, count = parse_offer(text)
    except ValueError as error:
        assert str(error).startswith("offer ")
    else:
        assert name == name.strip() != ""
        assert 1 <= count <= 8


@given(st.text(max_size=40))
def test_a_slug_is_safe_in_links_and_paths(name: str) -> None:
    assert set(slug(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert slug(slug(name)) == slug(name)


def test_a_published_total_wins_over_an_estimate() -> None:
    known = card(torch_total_gib_low=Sourced(23.5), torch_total_gib_typical=Sourced(23.6))
    guessed = card(torch_total_gib_low=Sourced(None), torch_total_gib_typical=Sourced(None))
    assert known.total_gib == (23.5, 23.6)
    assert not guessed.total_is_published
    assert 22.5 < guessed.total_gib[0] <= guessed.total_gib[1] < 24
