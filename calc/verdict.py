"""The answer in one sentence: what fits, what costs less, and whether a rule points elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from calc.attainable import ratio_factor
from calc.cost import break_even_ratio, break_even_usd
from calc.job import Job
from calc.result import OfferResult, shortest_h
from calc.rules import Rule
from calc.words import Message, clips, hours, money, render


def verdict(job: Job, results: Sequence[OfferResult], rules: Sequence[Rule] = ()) -> Message:
    """One sentence for the job."""
    training = [result for result in results if result.trains]
    if not training:
        return _nothing_fits(job, results)
    params = {"fit": _fit(job, results, training), "money": _money(job, training)}
    other = _rule_elsewhere(training, rules)
    if other is None:
        return Message("verdict", params)
    return Message("verdict_but", {**params, "rule": other})


def cheapest(results: Sequence[OfferResult]) -> OfferResult | None:
    """The offer that costs least, if every one that trains the job has a price and a speed."""
    training = [result for result in results if result.trains]
    if not training or any(result.usd is None for result in training):
        return None
    return min(training, key=lambda result: result.usd.mid if result.usd else 0.0)


def _nothing_fits(job: Job, results: Sequence[OfferResult]) -> Message:
    best = max(results, key=lambda result: result.usable_gib.mid)
    params = {"offer": best.offer.text, **_needs(job, best)}
    return Message("verdict_none_one" if len(results) == 1 else "verdict_none", params)


def _needs(job: Job, result: OfferResult) -> dict[str, object]:
    """What an offer has, and what the least that was tried on it needs."""
    pinned = Message("tried_pinned", {"clips": job.micro_batch})
    return {
        "usable": result.usable_gib.mid,
        "need": result.fit.least_gib,
        "tried": pinned if job.micro_batch else Message("tried_one"),
    }


def _fit(
    job: Job, results: Sequence[OfferResult], training: Sequence[OfferResult]
) -> Message:
    """Which offers train the job, and how."""
    failing = tuple(_fails(job, result) for result in results if not result.trains)
    hard = tuple(_how(result) for result in training if _is_hard(result))
    if failing:
        names = tuple(result.offer.text for result in training)
        key = "fit_only" if len(names) == 1 else "fit_some"
        return _with_how(hard, key, {"names": names, "failing": failing})
    if len(results) == 1:
        return _with_how(hard, "fit_one", {"name": results[0].offer.text})
    key = "fit_both" if len(results) == 2 else "fit_all"
    return _with_how(hard, key, {"n": len(results)})


def _with_how(hard: tuple[Message, ...], key: str, params: dict[str, object]) -> Message:
    """Message `key`, or its variant that says on which offers it is not easy."""
    return Message(key + "_hard", {**params, "hard": hard}) if hard else Message(key, params)


def _is_hard(result: OfferResult) -> bool:
    return result.fit.state != "fits" or (result.accumulation or 1) > 1


def _how(result: OfferResult) -> Message:
    """"RTX 4090 24GB in 2 x 4 clips", or that it is tight."""
    params = {
        "name": result.offer.text, "micro": clips(result.micro_batch), "times": result.accumulation,
    }  # fmt: skip
    return Message("how_parts" if (result.accumulation or 1) > 1 else "how_tight", params)


def _fails(job: Job, result: OfferResult) -> Message:
    return Message("fails", {"name": result.offer.text, **_needs(job, result)})


def _money(job: Job, training: Sequence[OfferResult]) -> Message:
    """Who costs less, or at which price who would."""
    if any(result.hours is None for result in training):
        names = tuple(result.offer.text for result in training if result.hours is None)
        return Message("money_no_speed", {"names": names})
    if len(training) == 1:
        return _alone(job, training[0])
    best = cheapest(training)
    return _break_even(job, training) if best is None else _winner(job, best, training)


def _alone(job: Job, result: OfferResult) -> Message:
    assert result.hours is not None
    params: dict[str, object] = {"hours": hours(result.hours.mid)}
    if result.usd is None:
        return Message("money_alone_unpriced", params)
    return Message("money_alone", {**params, "usd": _amount(job, result)})


def _winner(job: Job, best: OfferResult, training: Sequence[OfferResult]) -> Message:
    """The cheapest against the next."""
    others = [result for result in training if result is not best]
    other = min(others, key=lambda result: result.usd.mid if result.usd else 0.0)
    assert best.hours and other.hours and best.usd and other.usd
    params = {
        "best": best.offer.text, "other": other.offer.text,
        "usd": _amount(job, best), "other_usd": _amount(job, other),
        "less": 1 - best.usd.mid / other.usd.mid if other.usd.mid else 0.0,
    }  # fmt: skip
    sure = "money_" if _is_sure(job, best, other) else "money_likely_"
    when, times = _times(best.hours.mid, other.hours.mid, shortest_h(training))
    return Message(sure + when, params | times)


def _times(best_h: float, other_h: float, beside_h: float | None) -> tuple[str, dict[str, object]]:
    """Whether the best is sooner, later or the same as far as is shown; in the unit of beside_h."""
    times = hours(best_h, beside_h), hours(other_h, beside_h)
    same = render(times[0]) == render(times[1])
    when = "same" if same else "sooner" if best_h < other_h else "later"
    return when, {"hours": times[0], "other_hours": times[1]}


def _is_sure(job: Job, best: OfferResult, other: OfferResult) -> bool:
    """Whether best stays cheaper over the range of the ratio of the two times.

    The model's error is common to both cards and cancels; that of the cards' ratio does not.
    """
    assert best.hours and other.hours and best.usd and other.usd
    price_ratio = (best.usd.mid / best.hours.mid) / (other.usd.mid / other.hours.mid or 1e-9)
    counts = best.offer.count / other.offer.count
    ratio = break_even_ratio((best.offer, best.hours), (other.offer, other.hours))
    if best.basis["speed"] == other.basis["speed"] == "measured":
        return price_ratio / counts <= ratio.low
    cards = ratio_factor(best.offer.card, other.offer.card, job.precision) or 1.0
    return price_ratio / counts <= min(ratio.low, ratio.mid / cards)


def _amount(job: Job, result: OfferResult) -> str:
    assert result.usd is not None
    return money(result.usd.mid, job.currency, job.cny_per_usd)


def _break_even(job: Job, training: Sequence[OfferResult]) -> Message:
    """The price that decides: of the first offer without one, against the first with one."""
    first = next(result for result in training if result.usd is None)
    priced = [result for result in training if result.usd is not None]
    second = priced[0] if priced else next(result for result in training if result is not first)
    assert first.hours and second.hours
    ratio = break_even_ratio((first.offer, first.hours), (second.offer, second.hours)).mid
    params = {"first": first.offer.text, "second": second.offer.text, "ratio": ratio}
    if second.usd is None:
        return Message("money_break_even", params)
    usd = break_even_usd(job, first.offer, first.hours.mid, second.usd.mid)
    if usd is None or usd <= 0:
        return Message("money_never_cheaper", params)
    bought = job.price_kind == "buy"
    amount = {"usd": money(usd, job.currency, job.cny_per_usd)}
    return Message("money_break_even_buy" if bought else "money_break_even_usd", params | amount)


def _rule_elsewhere(training: Sequence[OfferResult], rules: Sequence[Rule]) -> Message | None:
    """The first rule that holds and points to another offer than the money."""
    best = cheapest(training)
    for rule in rules:
        if best is not None and rule.points_to and rule.points_to != best.offer.text:
            return Message("rule_elsewhere", {"number": rule.number, "name": rule.points_to})
    return None
