"""The inputs: every widget is made from `calc.job.FIELDS`, and their values make the Job.

Each widget is bound to the address (`?frames=16`). Streamlit writes a widget's label into the
address, so options stay as they are in `FIELDS`, untranslated; and its bounds never change,
because a bound widget whose bounds move loses its value. What makes no sense is disabled, not
hidden, for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

import streamlit as st

from calc.card import parse_offer, slug
from calc.job import FIELD, FIELDS, Field, Job
from ui.data import card_names, model_names, price_hint
from ui.text import LANGUAGES, Language, browser_language, language, t, text, use_language

HOURLY, BUY = "usd_h_", "usd_buy_"
"""Beginnings of the inputs for a card's own price; the card's slug follows."""

SEGMENTED = {"checkpointing", "attention", "trainable", "sharding", "os", "price_kind",
             "currency", "patch", "tubelet", "pattern", "map", "count"}  # fmt: skip
"""Choices with a few short options: one click instead of two."""

VIEW: Mapping[str, Field] = {
    field.key: field
    for field in (
        Field("map", "choice", "frames", "view", options=("frames", "size")),
        Field("count", "choice", 1, "view", options=(1, 2, 4, 8)),
        Field("max_price", "number", None, "view", minimum=0, maximum=1e6, step=0.5, optional=True),
        Field("only_trains", "flag", False, "view"),
    )
}
"""Inputs that only change what is shown, not the job."""

MAX_OFFERS = 6
"""Offers on one page: what the charts have colours for."""

SLIDERS = {"depth", "heads", "mlp_ratio"}
"""Numbers whose rough size matters more than the last digit."""

MAIN = tuple(field.key for field in FIELDS if field.group == "main")
"""The inputs in the middle of the page."""

SINGLE = tuple(field.key for field in FIELDS if field.kind != "prices")
"""The inputs with one widget; of the others there is one for each chosen card."""

OFFER_COUNTS = (1, 2, 4, 8, 3, 5, 6, 7)

DISABLED: Mapping[str, Callable[[], bool]] = {
    "interruptions_per_day": lambda: value("price_kind") != "spot",
    "host_usd": lambda: value("price_kind") != "buy",
    "years": lambda: value("price_kind") != "buy",
    "resale_pct": lambda: value("price_kind") != "buy",
    "hours_per_week": lambda: value("price_kind") != "buy",
    "cny_per_usd": lambda: value("currency") != "CNY",
    "max_price": lambda: value("price_kind") == "buy",
}


_known: ContextVar[Mapping[str, Any] | None] = ContextVar("known", default=None)
"""What the inputs held when `read` was last called: asking the session costs 20 times more."""


def read(cards: bool) -> Mapping[str, Any] | None:
    """What every input of a page holds now; None before they were drawn for the first time.

    cards: whether the page has the choice of cards.
    """
    state = st.session_state.to_dict()
    needed = [key for key in SINGLE if cards or key != "cards"]
    held = {key: state[key] for key in state if key in FIELD or str(key).startswith((HOURLY, BUY))}
    _known.set(held if all(key in held for key in needed) else None)
    return known()


def known() -> Mapping[str, Any] | None:
    """What `read` found."""
    return _known.get()


def value(key: str) -> Any:
    """What an input holds; its default before it was ever shown."""
    held = known()
    return (st.session_state if held is None else held).get(key, FIELD[key].default)


def beside(held: Mapping[str, Any]) -> dict[str, Any]:
    """What the sidebar is drawn for: its own inputs, the chosen cards, whether sliders count."""
    own = {key: value for key, value in held.items() if key not in MAIN}
    return own | {"custom": held.get("model") == "custom", "cards": held.get("cards")}


def options(field: Field) -> tuple[Any, ...]:
    """The constant options of a choice; models and offers come from the data."""
    if field.key == "model":
        return model_names()
    return offer_texts() if field.kind == "offers" else field.options


@cache
def offer_texts() -> tuple[str, ...]:
    """Every offer there is: all cards alone, then by two, and so on."""
    return tuple(offer_text(name, count) for count in OFFER_COUNTS for name in card_names())


def offer_text(card: str, count: int) -> str:
    """An offer as it is written.

    >>> offer_text("L4 24GB", 1), offer_text("L4 24GB", 2)
    ('L4 24GB', '2x L4 24GB')
    """
    return card if count == 1 else f"{count}x {card}"


def _choice(field: Field, common: dict[str, Any]) -> None:
    choices = options(field)
    if field.key in SEGMENTED:
        st.segmented_control(options=choices, default=field.default, required=True, **common)
    else:
        st.selectbox(options=choices, index=choices.index(field.default), **common)


def _whole(field: Field, common: dict[str, Any]) -> None:
    low, high = int(field.minimum or 0), int(field.maximum or 0)
    st.number_input(min_value=low, max_value=high, value=field.default, step=1, **common)


def _slider(field: Field, common: dict[str, Any]) -> None:
    number = int if field.kind == "int" else float
    low, high, step = (number(bound or 0) for bound in (field.minimum, field.maximum, field.step))
    st.slider(min_value=low, max_value=high, value=number(field.default), step=step, **common)


def _number(field: Field, common: dict[str, Any]) -> None:
    low, high = float(field.minimum or 0), float(field.maximum or 0)
    step = float(field.step or 1)
    st.number_input(
        min_value=low, max_value=high, value=field.default, step=step, format="%g", **common
    )


def _flag(field: Field, common: dict[str, Any]) -> None:
    st.toggle(value=field.default, **common)


def _offers(field: Field, common: dict[str, Any]) -> None:
    default, most = list(field.default), MAX_OFFERS
    st.multiselect(options=offer_texts(), default=default, max_selections=most, **common)


KINDS: Mapping[str, Callable[[Field, dict[str, Any]], None]] = {
    "choice": _choice,
    "int": _whole,
    "number": _number,
    "flag": _flag,
    "offers": _offers,
}


@cache
def _words(key: str, lang: Language) -> tuple[str, str]:
    """Label and help of an input; kept, since there are forty in each rerun."""
    return text(f"inputs.{key}", lang), text(f"inputs.{key}_help", lang)


def widget(key: str) -> None:
    """One input, bound to the address, labelled in the visitor's language."""
    field = FIELD.get(key) or VIEW[key]
    closed = field.group == "custom" and value("model") != "custom"
    label, explained = _words(key, language())
    common = {
        "label": label,
        "help": explained,
        "key": key,
        "bind": "query-params",
        "disabled": closed or DISABLED.get(key, lambda: False)(),
    }
    draw = _slider if key in SLIDERS else KINDS[field.kind]
    draw(field, common)


def language_choice() -> None:
    """The language, bound like every input; starts as the browser's."""
    use_language(st.session_state.get("lang") or browser_language())
    chosen = st.segmented_control(
        t("common.language"),
        LANGUAGES,
        default=browser_language(),
        required=True,
        key="lang",
        bind="query-params",
        label_visibility="collapsed",
    )
    use_language(chosen)


def main_controls(cards: bool = True) -> None:
    """The six inputs that decide most, and the choice of cards, in the page itself."""
    with st.grid(3):
        for key in MAIN:
            if key != "cards":
                widget(key)
    if cards:
        widget("cards")


def sidebar() -> None:
    """Everything that is rarely changed, and a price for each chosen card."""
    for group in ("memory", "training", "money", "custom"):
        with st.sidebar.expander(t(f"inputs.group_{group}"), expanded=group == "money"):
            if group == "custom" and value("model") != "custom":
                st.caption(t("inputs.custom_closed"))
            for field in FIELDS:
                if field.group == group and field.kind == "prices":
                    _prices(field)
                elif field.group == group:
                    widget(field.key)


def chosen_cards() -> list[str]:
    """Names of the chosen cards without their counts, each once."""
    return list(dict.fromkeys(parse_offer(text)[0] for text in value("cards")))


def price_key(field_key: str, card: str) -> str:
    """The input (and link parameter) for a card's own price.

    >>> price_key("prices", "RTX 4090 24GB")
    'usd_h_rtx-4090-24gb'
    """
    return (HOURLY if field_key == "prices" else BUY) + slug(card)


def _prices(field: Field) -> None:
    buying = value("price_kind") == "buy"
    for card in chosen_cards():
        st.number_input(
            t(f"inputs.{field.key}", card=card),
            min_value=0.0,
            max_value=1e6,
            value=None,
            step=100.0 if field.key == "buy_prices" else 0.05,
            format="%g",
            placeholder=price_hint(card, field.key, value("price_kind"))
            or t("inputs.price_missing"),
            help=t(f"inputs.{field.key}_help"),
            key=price_key(field.key, card),
            bind="query-params",
            disabled=buying != (field.key == "buy_prices"),
        )


def _entered_prices(field_key: str) -> tuple[tuple[str, float], ...]:
    """The prices the visitor entered: (card, USD) for the chosen cards."""
    held = known() or st.session_state
    entered = ((card, held.get(price_key(field_key, card))) for card in chosen_cards())
    return tuple((card, price) for card, price in entered if price is not None)


def job(cards: tuple[str, ...] | None = None) -> Job:
    """The inputs as a Job, for other cards if any are named.

    Raises ValueError with one sentence when the inputs do not go together.
    """
    values = {key: value(key) for key in SINGLE}
    values["cards"] = cards or tuple(values["cards"])
    values |= {key: _entered_prices(key) for key in ("prices", "buy_prices")}
    return Job(**values)


def view(key: str) -> Any:
    """What one of VIEW holds now."""
    return st.session_state.get(key, VIEW[key].default)


def card_filters() -> None:
    """Filters of the table of all cards."""
    for column, key in zip(
        st.columns(3, vertical_alignment="bottom"), ("count", "max_price", "only_trains"),
        strict=True,
    ):  # fmt: skip
        with column:
            widget(key)
