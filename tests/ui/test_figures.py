"""Figures as people read them: what is not there says why."""

from __future__ import annotations

import pytest

from calc.job import Job
from tests.calc.results import result
from ui import figures


@pytest.mark.parametrize(
    ("given", "cost", "time"),
    [({}, "$20", "40.0 h"), ({"usd_per_h": None}, "no price", "40.0 h"),
     ({"hours": None}, "not measured", "not measured"),
     ({"micro": None, "state": "no"}, "–", "–")],
)  # fmt: skip
def test_what_is_missing_says_why(given: dict[str, object], cost: str, time: str) -> None:
    found = result(**given)  # type: ignore[arg-type]
    assert figures.cost(found, Job()) == cost
    assert figures.hours(found, None) == time
