"""Every sentence that calc computes, in English and Chinese side by side.

calc hands out a `Message`: the key of a template and its figures. `render` makes the sentence, in
the language of the page or of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence not yet in a language. params: figures, names, other messages, or tuples of them.

    >>> render(Message("unit_hours", {"n": 38.2}))
    '38.2 h'
    >>> render(Message("unit_hours", {"n": 38.2}), "zh")
    '38.2 小时'
    """

    key: str
    params: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return render(self)


def render(message: Message, lang: str = "en") -> str:
    """The sentence of a message in "en" or "zh"."""
    template = TEMPLATES[message.key][LANGUAGES.index(lang)]
    return template.format(**{key: _word(value, lang) for key, value in message.params.items()})


def _word(value: object, lang: str) -> object:
    """A parameter as the template wants it: messages as text, tuples as a list of words."""
    if isinstance(value, Message):
        return render(value, lang)
    if isinstance(value, tuple):
        separator = ", " if lang == "en" else "、"
        return separator.join(str(_word(item, lang)) for item in value)
    return value


def hours(value_h: float) -> Message:
    """A duration as people say it: minutes below two hours, days from four days on.

    >>> [render(hours(n)) for n in (0.5, 38.24, 240)]
    ['30 min', '38.2 h', '10.0 days']
    """
    if value_h < 2:
        return Message("unit_minutes", {"n": value_h * 60})
    return Message("unit_days", {"n": value_h / 24}) if value_h >= 96 else Message("unit_hours", {"n": value_h})


def money(usd: float, currency: str = "USD", cny_per_usd: float = 7.1) -> str:
    """An amount with its sign, in the job's currency; the same in both languages.

    >>> money(1234.4), money(0.349), money(10, "CNY", 7.0)
    ('$1,234', '$0.35', '¥70.0')
    """
    amount, sign = (usd * cny_per_usd, "¥") if currency == "CNY" else (usd, "$")
    digits = 0 if amount >= 100 else 1 if amount >= 10 else 2
    return f"{sign}{amount:,.{digits}f}"


TEMPLATES: Mapping[str, tuple[str, str]] = {
    "unit_minutes": ("{n:.0f} min", "{n:.0f} 分钟"),
    "unit_hours": ("{n:.1f} h", "{n:.1f} 小时"),
    "unit_days": ("{n:.1f} days", "{n:.1f} 天"),
    "not_traced_shape": (
        "{model} was not traced at {frames} frames of {size} px; "
        "choose frames x size from {shapes}",
        "{model} 没有 {frames} 帧、{size} 像素的追踪数据；可选的帧数 x 边长为：{shapes}",
    ),
    "not_traced_way": (
        "{model} at {frames} frames of {size} px was not traced as {way} "
        "(precision/checkpointing/attention/trainable); choose from {ways}",
        "{model} 在 {frames} 帧、{size} 像素下没有 {way}（精度/检查点/注意力/训练范围）的追踪数据；可选：{ways}",
    ),
}
