"""The cheapest changes that make a job fit, each with its price in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc.estimate import Range
from calc.fit import Fit
from calc.words import Message


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that makes the job fit on an offer.

    offer: text of the offer as asked; changes: inputs to change, {"checkpointing": "block"};
    fit: with the changes; time_factor: hours with / without them (the same job on this offer if
    memory were no limit), None where speed is not known; text: the whole in words.
    """

    offer: str
    changes: Mapping[str, object]
    fit: Fit
    time_factor: Range | None
    text: Message
