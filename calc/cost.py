"""What training costs on an offer: hours, money rented or bought, energy, break-even prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc.card import Card, Offer, Price
from calc.estimate import Range
from calc.job import Job

WEEKS_PER_YEAR = 365.25 / 7

LOST_H_PER_INTERRUPTION = 0.5
"""Hours lost with each spot interruption: a quarter of an hour to get a machine and load the data,
and half of an interval of half an hour between checkpoints. An assumption, stated on the page."""


@dataclass(frozen=True, slots=True)
class PriceUsed:
    """The price that was used for one card.

    usd: per GPU-hour (on_demand, spot) or per card (buy); kind: on_demand | spot | buy;
    typed: by the user; date and source of a published one; usd_min: its cheapest provider.
    """

    usd: float
    kind: str
    typed: bool
    date: str = ""
    source: str = ""
    usd_min: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """One training run on an offer.

    clips_per_s: what the offer trains, capped by the loader; needs_clips_per_s: what it could eat.
    usd: None without a price; usd_per_h: the whole offer for one hour.
    """

    clips_per_s: Range
    needs_clips_per_s: float
    hours: Range
    kwh: Range | None
    usd: Range | None
    usd_per_h: float | None


def cost(
    job: Job,
    offer: Offer,
    step_s: Range,
    prices: Mapping[str, Price],
    clips_per_step: int | None = None,
) -> Cost:
    """Hours, money and energy of the job's clips x epochs on an offer, from its step time.

    clips_per_step: the job's batch, or a little more where micro-batches do not divide it.
    """
    clips = clips_per_step or job.batch
    free = step_s.map(lambda seconds: clips / seconds)
    speed = free.map(lambda value: as_loaded(job, value))
    hours_range = hours(job, speed)
    used = price_used(job, offer.card, prices)
    per_h = None if used is None else usd_per_h(job, offer, used)
    return Cost(
        clips_per_s=speed,
        needs_clips_per_s=free.mid,
        hours=hours_range,
        kwh=energy_kwh(job, offer, hours_range),
        usd=None if per_h is None else hours_range * per_h,
        usd_per_h=per_h,
    )


def hours(job: Job, clips_per_s: Range) -> Range:
    """Hours for clips x epochs, with what spot interruptions lose.

    >>> hours(Job(clips=3600, epochs=10), Range(5.0, 10.0, 20.0))
    Range(low=0.5, mid=1.0, high=2.0)
    """
    return clips_per_s.map(lambda speed: hours_at(job, speed))


def hours_at(job: Job, clips_per_s: float) -> float:
    """`hours` of one speed.

    >>> hours_at(Job(clips=3600, epochs=10), 10.0)
    1.0
    """
    return job.clips * job.epochs / clips_per_s / 3600 * interruption_factor(job)


def interruption_factor(job: Job) -> float:
    """How many times longer a run takes because of spot interruptions.

    >>> interruption_factor(Job(price_kind="spot", interruptions_per_day=2))
    1.0416666666666667
    """
    if job.price_kind != "spot":
        return 1.0
    return 1 + job.interruptions_per_day * LOST_H_PER_INTERRUPTION / 24


def as_loaded(job: Job, clips_per_s: float) -> float:
    """Speed as far as the data loader keeps up.

    >>> as_loaded(Job(loader_clips_per_s=30.0), 39.0), as_loaded(Job(), 39.0)
    (30.0, 39.0)
    """
    cap = job.loader_clips_per_s
    return clips_per_s if cap is None else min(clips_per_s, cap)


def price_used(job: Job, card: Card, prices: Mapping[str, Price]) -> PriceUsed | None:
    """The user's own price if there is one, else the median of the published ones, else None."""
    own = dict(job.buy_prices if job.price_kind == "buy" else job.prices)
    if card.name in own:
        return PriceUsed(own[card.name], job.price_kind, typed=True)
    published = prices.get(card.name)
    if published is None:
        return None
    return _bought(published) if job.price_kind == "buy" else _rented(published, job.price_kind)


def _rented(published: Price, kind: str) -> PriceUsed | None:
    rate = published.spot if kind == "spot" else published.on_demand
    if rate is None:
        return None
    source = ", ".join(rate.sources)
    return PriceUsed(rate.median_usd_per_h, kind, False, rate.newest, source, rate.min_usd_per_h)


def _bought(published: Price) -> PriceUsed | None:
    """The newest purchase price."""
    if not published.purchase:
        return None
    newest = max(published.purchase, key=lambda purchase: purchase.date)
    return PriceUsed(newest.usd, "buy", False, newest.date, newest.source)


def usd_per_h(job: Job, offer: Offer, used: PriceUsed) -> float | None:
    """USD for one hour of the whole offer; bought: the loss of value and electricity.

    None where electricity must be counted and the card's power is not known.
    """
    if used.kind != "buy":
        return used.usd * offer.count
    electricity = electricity_usd_per_h(job, offer)
    return None if electricity is None else owned_usd(job, offer, used) / use_h(job) + electricity


def owned_usd(job: Job, offer: Offer, used: PriceUsed) -> float:
    """What the cards and their host lose in value over the years of use.

    price x count + host, less the share that resale brings back.
    """
    return (used.usd * offer.count + job.host_usd) * (1 - job.resale_pct / 100)


def use_h(job: Job) -> float:
    """Hours of use over the years of ownership.

    >>> round(use_h(Job(years=2, hours_per_week=100)))
    10436
    """
    return job.hours_per_week * WEEKS_PER_YEAR * job.years


def electricity_usd_per_h(job: Job, offer: Offer) -> float | None:
    """USD of electricity for one hour of the offer's cards under load."""
    power = power_kw(job, offer)
    return None if power is None else power * job.electricity_usd_per_kwh


def power_kw(job: Job, offer: Offer) -> float | None:
    """Power of the offer's cards under load, kW: the stated share of their TDP."""
    watts = offer.card.tdp_w.value
    return None if watts is None else watts * offer.count * job.power_pct / 100 / 1000


def energy_kwh(job: Job, offer: Offer, hours_range: Range) -> Range | None:
    """Energy of the run, kWh."""
    power = power_kw(job, offer)
    return None if power is None else hours_range * power


def rent_or_buy_h(job: Job, offer: Offer, prices: Mapping[str, Price]) -> float | None:
    """Hours of use from which buying the offer is cheaper than renting it on demand.

    None where a price is missing; infinite where renting stays cheaper, electricity being dearer.
    """
    rent = price_used(job.replace(price_kind="on_demand"), offer.card, prices)
    buy = price_used(job.replace(price_kind="buy"), offer.card, prices)
    electricity = electricity_usd_per_h(job, offer)
    if rent is None or buy is None or electricity is None:
        return None
    saved_per_h = rent.usd * offer.count - electricity
    return owned_usd(job, offer, buy) / saved_per_h if saved_per_h > 0 else float("inf")


def break_even_usd(job: Job, offer: Offer, hours_h: float, usd: float) -> float | None:
    """Price of one GPU (rent per hour, or purchase) at which the run on the offer costs `usd`.

    None where the card's power is not known; negative where no price makes it that cheap.
    """
    per_h = usd / hours_h
    if job.price_kind != "buy":
        return per_h / offer.count
    electricity = electricity_usd_per_h(job, offer)
    kept = 1 - job.resale_pct / 100
    if electricity is None or kept <= 0:
        return None
    return ((per_h - electricity) * use_h(job) / kept - job.host_usd) / offer.count


def break_even_ratio(
    first: tuple[Offer, Range], second: tuple[Offer, Range], cards: float = 1.0
) -> Range:
    """Hourly price of one GPU of the first offer, in prices of the second's, at equal cost.

    The first is cheaper as long as it costs less than that. Each pair is an offer and its hours.
    Errors of the two times that are common cancel, so each end pairs like with like; `cards` is
    the 90 % range of the speed ratio of the two cards as a factor, which does not cancel.
    """
    (offer_a, hours_a), (offer_b, hours_b) = first, second
    counts = offer_b.count / offer_a.count
    mid = hours_b.mid / hours_a.mid
    ends = (mid / cards, hours_b.low / hours_a.low, hours_b.high / hours_a.high, mid * cards)
    return Range(min(mid, *ends) * counts, mid * counts, max(mid, *ends) * counts)


def in_currency(usd: float, job: Job) -> float:
    """An amount in the currency the job is shown in.

    >>> in_currency(10.0, Job(currency="CNY", cny_per_usd=7.0)), in_currency(10.0, Job())
    (70.0, 10.0)
    """
    return usd * job.cny_per_usd if job.currency == "CNY" else usd
