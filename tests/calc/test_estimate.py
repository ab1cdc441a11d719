from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.estimate import Range

amounts = st.floats(1e-6, 1e6)
ranges = st.lists(amounts, min_size=3, max_size=3).map(lambda found: Range(*sorted(found)))


@given(ranges, ranges, amounts)
def test_arithmetic_keeps_the_order(first: Range, second: Range, factor: float) -> None:
    for value in (first + second, first * factor, first.map(lambda x: 1 / x)):
        assert value.low <= value.mid <= value.high


@given(ranges)
def test_a_falling_function_swaps_the_ends(value: Range) -> None:
    twice = value.map(lambda x: 1 / x).map(lambda x: 1 / x)
    assert (twice.low, twice.mid, twice.high) == pytest.approx((value.low, value.mid, value.high))


@pytest.mark.parametrize("ends", [(2, 1, 3), (1, 3, 2), (float("nan"), 1, 2)])
def test_ends_in_the_wrong_order_are_refused(ends: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="low <= mid <= high"):
        Range(*ends)
