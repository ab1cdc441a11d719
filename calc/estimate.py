"""Low / mid / high: the one form in which ClipFit states an estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """An estimate with its range; low <= mid <= high, all in the unit of the field that holds it.

    >>> Range(1.0, 2.0, 4.0) * 10
    Range(low=10.0, mid=20.0, high=40.0)
    >>> Range(1.0, 2.0, 4.0) + Range.exact(1.0)
    Range(low=2.0, mid=3.0, high=5.0)
    >>> Range(3.0, 2.0, 4.0)
    Traceback (most recent call last):
        ...
    ValueError: a range needs low <= mid <= high, but got 3.0 / 2.0 / 4.0
    """

    low: float
    mid: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.mid <= self.high:
            raise ValueError(
                f"a range needs low <= mid <= high, but got {self.low} / {self.mid} / {self.high}"
            )

    @classmethod
    def exact(cls, value: float) -> Range:
        """A figure without uncertainty."""
        return cls(value, value, value)

    @classmethod
    def around(cls, mid: float, factor: float) -> Range:
        """Range from mid / factor to mid * factor; factor >= 1.

        >>> Range.around(10.0, 1.25)
        Range(low=8.0, mid=10.0, high=12.5)
        """
        return cls(mid / factor, mid, mid * factor)

    def map(self, function: Callable[[float], float]) -> Range:
        """Apply a rising function to all three; a falling one swaps the ends.

        >>> Range(1.0, 2.0, 4.0).map(lambda step_s: 8 / step_s)
        Range(low=2.0, mid=4.0, high=8.0)
        """
        first, mid, last = function(self.low), function(self.mid), function(self.high)
        return Range(min(first, last), mid, max(first, last))

    def __mul__(self, factor: float) -> Range:
        return self.map(lambda value: value * factor)

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.mid + other.mid, self.high + other.high)
