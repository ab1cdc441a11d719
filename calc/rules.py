"""The three rules of the article as decisions with their numbers, beside what the money says."""

from __future__ import annotations

from dataclasses import dataclass

from calc.words import Message


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the article for the job.

    number: 1 to 3; points_to: the card it speaks for, None where it does not apply or cannot be
    judged; holds: True | False | None (not known); text: the rule with its numbers;
    money: what the cost says beside it, None where it is not known; agrees: whether the two do.
    """

    number: int
    holds: bool | None
    points_to: str | None
    text: Message
    money: Message | None
    agrees: bool | None
