"""calc's figures as people read them: rounded, with their unit, unknown as words."""

from __future__ import annotations

from calc import words
from calc.estimate import Range
from calc.job import Job
from calc.result import OfferResult, missing
from ui.text import say, t

ICONS = {
    "fits": ":material/check_circle:",
    "tight": ":material/warning:",
    "parts": ":material/splitscreen:",
    "no": ":material/cancel:",
}
COLOURS = {"fits": "green", "tight": "orange", "parts": "blue", "no": "red"}


def as_markdown(text: str) -> str:
    """A text whose dollar signs are meant as such: Markdown takes a pair of them for a formula.

    >>> print(as_markdown("$34 against $106"))
    \\$34 against \\$106
    """
    return text.replace("$", "\\$")


def badge(answer: str) -> str:
    """fits | tight | parts | no as a coloured badge with a sign and the word."""
    return f":{COLOURS[answer]}-badge[{ICONS[answer]} {t(f'common.{answer}')}]"


def gib(value: float) -> str:
    """An amount of memory, one decimal below 100.

    >>> gib(20.57), gib(141.0)
    ('20.6 GiB', '141 GiB')
    """
    return f"{value:.0f} GiB" if value >= 100 else f"{value:.1f} GiB"


def gib_range(value: Range) -> str:
    """Memory with its range: "20.6 GiB (19.8 to 21.5)"."""
    ends = (f"{end:.0f}" if value.mid >= 100 else f"{end:.1f}" for end in (value.low, value.high))
    return f"{gib(value.mid)} ({_ends(*ends)})"


def hours(result: OfferResult, beside_h: float | None) -> str:
    """How long an offer takes, minutes to days; beside_h: the duration whose unit all take."""
    value = result.hours
    return _missing(result) if value is None else say(words.hours(value.mid, beside_h))


def hours_ends(result: OfferResult, beside_h: float | None) -> str:
    """The range of a duration, in the same unit; "" where it is not known."""
    value = result.hours
    if value is None:
        return ""
    return _ends(*(say(words.hours(end, beside_h)) for end in (value.low, value.high)))


def money(usd: float, job: Job) -> str:
    """An amount in the job's currency."""
    return words.money(usd, job.currency, job.cny_per_usd)


def cost(result: OfferResult, job: Job) -> str:
    """The cost of the run, or why there is none."""
    if result.usd is None:
        return say(missing(result.trains, result.hours))
    return money(result.usd.mid, job)


def cost_ends(result: OfferResult, job: Job) -> str:
    """The range of the cost; "" where it is not known."""
    value = result.usd
    return "" if value is None else _ends(money(value.low, job), money(value.high, job))


def speed(result: OfferResult) -> str:
    """Clips per second with their range."""
    value = result.clips_per_s
    if value is None:
        return _missing(result)
    ends = _ends(f"{value.low:.3g}", f"{value.high:.3g}")
    return f"{t('calculator.clips_per_s', n=f'{value.mid:.3g}')} ({ends})"


def energy(result: OfferResult) -> str:
    """Energy of the run."""
    value = result.kwh
    return _missing(result) if value is None else t("calculator.kwh", n=f"{value.mid:,.0f}")


def _missing(result: OfferResult) -> str:
    """Why an offer has no speed."""
    return say(missing(result.trains, None))


def basis(word: str | None) -> str:
    """measured | corrected | formula, or that nothing is known."""
    return t(f"common.{word or 'unknown'}")


def _ends(low: str, high: str) -> str:
    return t("calculator.range", low=low, high=high)
