"""The three rules of the article as decisions with their numbers, beside what the money says.

The article compares a card of more memory with one of less and takes the smaller unless (1) it
must cut its batch below a third, (2) training takes longer than 24 hours and the larger saves at
least 30 % of the time, or (3) several GPUs need NVLink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calc.job import Job
from calc.result import OfferResult, shortest_h
from calc.words import Message, clips, hours, money

BATCH_SHARE = 1 / 3
LONG_H = 24.0
TIME_SAVED = 0.30
"""The thresholds of the article's rules 1 and 2."""

NVLINK_SHARE = 0.10
"""Rule 3 gives no figure; ours: the exchange between GPUs takes over 10 % of a step."""


NAMES = {1: "rule_1", 2: "rule_2", 3: "rule_3"}
HOLDS = {True: "holds_yes", False: "holds_no", None: "holds_unknown"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the article for the job.

    number: 1 to 3; holds: None where it cannot be judged; points_to: text of the offer the rule
    speaks for, None where it does not hold; text: the rule with its numbers; money: what the cost
    says beside it and agrees: whether the two agree, None where either is not known.
    """

    number: int
    holds: bool | None
    points_to: str | None
    text: Message
    money: Message | None
    agrees: bool | None


def rules(job: Job, results: Sequence[OfferResult]) -> tuple[Rule, ...]:
    """The three rules for the first pair of offers that differ in memory; () without one."""
    found = pair(results)
    if found is None:
        return ()
    large, small = found
    checks = (_batch(large, small), _time(large, small, shortest_h(results)), _nvlink(large, small))
    return tuple(
        _with_money(job, number, large, small, *check) for number, check in enumerate(checks, 1)
    )


def lines(found: Sequence[Rule]) -> list[Message]:
    """The rules as sentences, each with its name and whether it holds, then what the money says."""
    said = [
        Message("rule_line", {
            "number": rule.number, "name": Message(NAMES[rule.number]),
            "holds": Message(HOLDS[rule.holds]), "text": rule.text,
        })
        for rule in found
    ]  # fmt: skip
    money_says = next((rule.money for rule in found if rule.money), None)
    return said if money_says is None else [*said, Message("rules_money", {"money": money_says})]


def pair(results: Sequence[OfferResult]) -> tuple[OfferResult, OfferResult] | None:
    """The offer with the most memory per GPU and the first with less, as the article's two."""
    if not results:
        return None
    large = max(results, key=lambda result: result.usable_gib.mid)
    edge = 0.9 * large.usable_gib.mid
    small = next((result for result in results if result.usable_gib.mid < edge), None)
    return None if small is None else (large, small)


def _batch(large: OfferResult, small: OfferResult) -> tuple[bool | None, Message]:
    """Rule 1: clips at once on all GPUs of an offer; a share of several is no smaller batch."""
    mine, other = ((one.micro_batch or 0) * one.offer.count for one in (small, large))
    holds = None if other == 0 else mine < BATCH_SHARE * other
    names: dict[str, object] = {
        "small": small.offer.text, "large": large.offer.text, "mine": clips(mine), "other": other,
    }  # fmt: skip
    return holds, Message("rule_batch_unknown" if holds is None else "rule_batch", names)


def _time(
    large: OfferResult, small: OfferResult, beside_h: float | None
) -> tuple[bool | None, Message]:
    """Rule 2: hours on the smaller card, and the share of them the larger saves."""
    names: dict[str, object] = {"small": small.offer.text, "large": large.offer.text}
    if small.hours is None or large.hours is None:
        return None, Message("rule_time_unknown", names)
    saved = 1 - large.hours.mid / small.hours.mid
    names |= {"hours": hours(small.hours.mid, beside_h), "saved": saved}
    holds = small.hours.mid > LONG_H and saved >= TIME_SAVED
    return holds, Message("rule_time" if saved >= 0 else "rule_time_slower", names)


def _nvlink(large: OfferResult, small: OfferResult) -> tuple[bool | None, Message]:
    """Rule 3: share of a step that several cards without NVLink wait for each other."""
    names: dict[str, object] = {"small": small.offer.text, "large": large.offer.text}
    if small.offer.count == 1:
        return False, Message("rule_nvlink_single", names)
    if small.step is None:
        return None, Message("rule_nvlink_unknown", names)
    waits = small.step.parts_s.get("communication", 0.0) / small.step.total_s.mid
    has_nvlink = large.offer.card.nvlink_gb_s_per_direction.value is not None
    return waits > NVLINK_SHARE and has_nvlink, Message("rule_nvlink", {**names, "waits": waits})


def _with_money(
    job: Job, number: int, large: OfferResult, small: OfferResult, holds: bool | None, text: Message
) -> Rule:
    """The rule with what the two offers cost beside it."""
    points_to = large.offer.text if holds else None
    if large.usd is None or small.usd is None:
        return Rule(number, holds, points_to, text, None, None)
    large_cheaper = large.usd.mid < small.usd.mid
    agrees = None if holds is None else holds == large_cheaper
    return Rule(number, holds, points_to, text, _money(job, large, small), agrees)


def _money(job: Job, large: OfferResult, small: OfferResult) -> Message:
    """Both costs, and in how much of the time the larger must finish to be cheaper."""
    amounts = {"large": large, "small": small}
    params: dict[str, object] = {key: result.offer.text for key, result in amounts.items()}
    per_h = {}
    for key, result in amounts.items():
        assert result.usd is not None and result.hours is not None
        params[key + "_usd"] = money(result.usd.mid, job.currency, job.cny_per_usd)
        per_h[key] = result.usd.mid / result.hours.mid
        params[key + "_h"] = result.hours.mid
    ratio = per_h["large"] / per_h["small"] if per_h["small"] else 0.0
    if ratio <= 1:
        return Message("rule_money_plain", params)
    share = large.hours.mid / small.hours.mid if large.hours and small.hours else 0.0
    return Message("rule_money", {**params, "ratio": ratio, "must": 1 / ratio, "share": share})
