from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.job import FIELD, FIELDS, Field, Job


def test_every_attribute_is_a_field_with_a_valid_default() -> None:
    assert [field.key for field in FIELDS] == [field.name for field in dataclasses.fields(Job)]
    assert all(getattr(Job(), field.key) == field.default for field in FIELDS)


@pytest.mark.parametrize("field", [field for field in FIELDS if field.options], ids=lambda f: f.key)
def test_a_choice_takes_its_options_only(field: Field) -> None:
    for option in field.options:
        assert getattr(Job(**{field.key: option}), field.key) == option
    with pytest.raises(ValueError, match=rf"^{field.key} is 'x'; allowed are "):
        Job(**{field.key: "x"})


@pytest.mark.parametrize(
    "field", [field for field in FIELDS if field.minimum is not None], ids=lambda f: f.key
)
def test_a_number_stays_within_its_bounds(field: Field) -> None:
    assert field.minimum is not None and field.maximum is not None
    whole = field.kind == "int"
    for edge in (field.minimum, field.maximum):
        Job(**{field.key: int(edge) if whole else float(edge)})
    for beyond in (field.minimum - 1, field.maximum + 1, 10**400, math.nan, math.inf, "8", True):
        with pytest.raises(ValueError, match=rf"^{field.key} is .*; allowed are "):
            Job(**{field.key: int(beyond) if whole and beyond in (0, 5) else beyond})


@pytest.mark.parametrize("key", [field.key for field in FIELDS if not field.optional])
def test_only_optional_inputs_may_be_empty(key: str) -> None:
    with pytest.raises(ValueError, match=rf"^{key} is "):
        Job(**{key: None})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r"frames is 7; .*; batch is 0; "):
        Job(batch=0, frames=7)


@pytest.mark.parametrize("cards", [(), ("9x L4 24GB",), ("",), "L4 24GB", (1,), None, ("0x L4",)])
def test_bad_offers_are_refused_in_one_sentence(cards: object) -> None:
    with pytest.raises(ValueError, match=r"card|offer"):
        Job(cards=cards)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "prices",
    [(("L4 24GB", -1.0),), (("L4 24GB", math.nan),), (("L4 24GB", "cheap"),), ("L4 24GB",), 3, None,
     ((1, 2.0),), (("L4 24GB", True),)],
)  # fmt: skip
def test_bad_prices_are_refused_in_one_sentence(prices: object) -> None:
    with pytest.raises(ValueError, match=r"^prices "):
        Job(prices=prices)  # type: ignore[arg-type]


def test_replace_changes_only_what_is_named_and_checks_it() -> None:
    job = Job(frames=16)
    assert job.replace(batch=3) == Job(frames=16, batch=3)
    with pytest.raises(ValueError, match="batch is 0"):
        job.replace(batch=0)
    with pytest.raises(ValueError, match="'bach' is not an input"):
        job.replace(bach=3)


@given(st.dictionaries(st.sampled_from(sorted(FIELD)), st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.tuples(st.text(max_size=3)), st.lists(st.integers(), max_size=2),
), max_size=3))  # fmt: skip
def test_any_input_makes_a_job_or_one_clear_error(values: dict[str, object]) -> None:
    try:
        Job(**values)  # type: ignore[arg-type]
    except ValueError as error:
        assert any(key in str(error) for key in values) or "offer" in str(error)
