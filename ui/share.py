"""Links: one with every input for others to open, and what could not be used of one that came in.

Streamlit replaces a value it cannot use by the default without a word, and leaves defaults out of
the address; so the link to share is made here, and the one that was opened is checked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from calc import MODEL_VERSION
from calc.card import slug
from calc.job import FIELDS, Field, Job
from ui import inputs
from ui.data import card_names, data_version
from ui.plain import code
from ui.text import LANGUAGES, language, t

MODEL_PARAM, DATA_PARAM = "v", "data"
"""Parameters that carry MODEL_VERSION and DATA_VERSION."""

FOREIGN = ("utm_", "embed", "fbclid", "gclid")
"""Beginnings of parameters that other programs add to links."""

CARRIED = "link_as_opened"
"""Session entry: the parameters of the address before any input was shown."""


def parameters(job: Job, lang: str) -> list[tuple[str, str]]:
    """Every input of a job as link parameters, with both versions; without what is left empty."""
    pairs = _pairs({f.key: getattr(job, f.key) for f in FIELDS if f.kind != "prices"})
    pairs += [
        (inputs.price_key(key, card), as_text(usd))
        for key in ("prices", "buy_prices")
        for card, usd in getattr(job, key)
    ]
    return [*pairs, ("lang", lang), (MODEL_PARAM, MODEL_VERSION), (DATA_PARAM, data_version())]


def _items(value: Any) -> tuple[Any, ...]:
    """A value as what a link repeats: nothing for None, each card of a choice.

    >>> _items(None), _items(8), _items(["L4 24GB", "T4 16GB"])
    ((), (8,), ('L4 24GB', 'T4 16GB'))
    """
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def as_text(value: Any) -> str:
    """A value as it stands in a link.

    >>> as_text(True), as_text(0.5), as_text(3.0), as_text("fp16")
    ('true', '0.5', '3', 'fp16')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def query(job: Job, lang: str) -> str:
    """The part of a link after the question mark."""
    return _joined(parameters(job, lang))


def queries(job: Job, lang: str, changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """`query` for the job with each of the changes, which come first in it."""
    own = parameters(job, lang)
    return [
        _joined([*_pairs(change), *(pair for pair in own if pair[0] not in change)])
        for change in changes
    ]


def _joined(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(_encoded(*pair) for pair in pairs)


@lru_cache(4096)
def _encoded(key: str, text: str) -> str:
    """One parameter of a link; kept, since most of them are the same in every link."""
    return urlencode([(key, text)])


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Inputs as link parameters, one for each item; what is empty is left out.

    >>> _pairs({"cards": ("L4 24GB", "T4 16GB"), "micro_batch": None})
    [('cards', 'L4 24GB'), ('cards', 'T4 16GB')]
    """
    return [(key, as_text(item)) for key, value in values.items() for item in _items(value)]


def link(job: Job) -> str:
    """A link that shows this very page to others."""
    address = (st.context.url or "http://localhost:8501").split("?")[0]
    return f"{address}?{_joined([*parameters(job, language()), *_pairs(_view())])}"


def remember() -> None:
    """Keep the address as it was opened; call before the first input is shown.

    What Streamlit would stumble over is taken out of it. What was given is kept, and named as
    unusable like any other bad value.
    """
    if CARRIED not in st.session_state:
        opened = {key: st.query_params.get_all(key) for key in st.query_params}
        st.session_state[CARRIED] = opened
        harmful = [key for key, given in opened.items() if _is_harmful(key, given)]
        for key in harmful:
            del st.query_params[key]
        if harmful:
            st.rerun()


def _is_harmful(key: str, given: list[str]) -> bool:
    """An infinite whole number, which Streamlit fails to make one of; an empty choice, which it
    takes for one although one is required."""
    if key == "lang":
        return not given[-1]
    field = _fields().get(key)
    if field is None:
        return False
    return (field.kind == "int" and any(map(_is_infinite, given))) or (
        field.kind == "choice" and not given[-1]
    )


def _fields() -> dict[str, Field]:
    """Every input that is one parameter of a link."""
    return {**{field.key: field for field in FIELDS if field.kind != "prices"}, **inputs.VIEW}


def problems(opened: Mapping[str, list[str]]) -> list[str]:
    """One sentence for each parameter that could not be used; call after the inputs.

    One whose input the page does not have, as the choice of cards on the page with all cards, is
    no problem there.
    """
    known = _fields()
    drawn = _drawn()
    found = [
        _refused(known[key], given, drawn[key])
        for key, given in opened.items()
        if key in known and key in drawn and not accepted(known[key], given, drawn[key])
    ]
    found += [
        _refused_price(key, given) for key, given in opened.items() if _is_bad_price(key, given)
    ]
    if "lang" in opened and opened["lang"][-1] not in LANGUAGES:
        found.append(_sentence("common.language", "lang", opened["lang"], language(), LANGUAGES))
    unknown = [key for key in opened if key not in known and not _is_known(key)]
    return (
        found
        + [t("inputs.link_unknown", key=code(key)) for key in unknown]
        + _other_version(opened)
    )


def _drawn() -> dict[str, Any]:
    """What the inputs that this page has drawn hold."""
    return {**(inputs.known() or {}), **_view()}


def _view() -> dict[str, Any]:
    """What the drawn inputs hold that only change what is shown."""
    return {key: st.session_state[key] for key in inputs.VIEW if key in st.session_state}


def accepted(field: Field, given: list[str], used: Any) -> bool:
    """Whether the value in use is the one the link asked for.

    >>> from calc.job import FIELD
    >>> accepted(FIELD["frames"], ["16"], 16), accepted(FIELD["frames"], ["7"], 32)
    (True, False)

    Nothing asked for is nothing in use:

    >>> accepted(FIELD["cards"], [""], []), accepted(FIELD["micro_batch"], [""], None)
    (True, True)
    """
    if field.kind == "offers":
        return set(filter(None, given)) == set(used)
    if field.kind in ("int", "number"):
        return _is_number(given[-1], used)
    return (
        given[-1].lower() == as_text(used) if field.kind == "flag" else given[-1] == as_text(used)
    )


def _is_number(text: str, used: float | None) -> bool:
    """Whether a number as written in a link is the one in use; "" is none."""
    return not text if used is None else _number(text) == used


def _number(text: str) -> float | None:
    """A number as written in a link, None for anything else."""
    number = _float(text)
    return number if math.isfinite(number) else None


def _is_infinite(text: str) -> bool:
    """Whether a text is a number without bound: inf, -Infinity, 1e400."""
    return math.isinf(_float(text))


def _float(text: str) -> float:
    """A text as a float, infinite or not; nan for what is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _price_slugs() -> dict[str, str]:
    """Every price parameter there can be, with its card."""
    names = card_names()
    return {start + slug(name): name for start in (inputs.HOURLY, inputs.BUY) for name in names}


def _is_known(key: str) -> bool:
    return (
        key in (MODEL_PARAM, DATA_PARAM, "lang")
        or key.startswith(FOREIGN)
        or key in _price_slugs()
    )


def _is_bad_price(key: str, given: list[str]) -> bool:
    if key not in _price_slugs():
        return False
    return not _is_number(given[-1], st.session_state.get(key))


def _refused_price(key: str, given: list[str]) -> str:
    card, used = _price_slugs()[key], st.session_state.get(key)
    if card not in inputs.chosen_cards() and _number(given[-1]) is not None:
        return t("inputs.link_unchosen", card=card, key=key)
    label = "prices" if key.startswith(inputs.HOURLY) else "buy_prices"
    allowed = t("inputs.range", low=0, high="1,000,000")
    return _sentence(f"inputs.{label}", key, given, used, allowed, card=card)


def _refused(field: Field, given: list[str], used: Any) -> str:
    return _sentence(f"inputs.{field.key}", field.key, given, used, allowed(field))


def _sentence(label: str, key: str, given: list[str], used: Any, allowed: Any, **names: str) -> str:
    return t(
        "inputs.link_bad",
        label=t(label, **names),
        key=key,
        given=code(" + ".join(given)) if any(given) else t("inputs.empty"),
        used=" + ".join(map(as_text, _items(used))) or t("inputs.empty"),
        allowed=allowed if isinstance(allowed, str) else _listed(allowed),
    )


def allowed(field: Field) -> str:
    """What an input takes, in words."""
    if field.kind == "flag":
        return t("inputs.flags")
    if field.kind in ("int", "number"):
        return t("inputs.range", low=f"{field.minimum:,g}", high=f"{field.maximum:,.12g}")
    if field.kind == "offers":
        return t("inputs.offers", most=inputs.MAX_OFFERS, names=_listed(card_names()))
    return _listed(inputs.options(field))


def _listed(values: Iterable[Any]) -> str:
    return t("common.comma").join(map(as_text, values))


def _other_version(opened: Mapping[str, list[str]]) -> list[str]:
    """A sentence if the link was made with other formulas or data."""
    made = {key: opened.get(key, [now])[-1] for key, now in _versions().items()}
    if made == _versions():
        return []
    return [
        t("inputs.link_version", model=code(made[MODEL_PARAM]), data=code(made[DATA_PARAM]),
          model_now=MODEL_VERSION, data_now=data_version())
    ]  # fmt: skip


def _versions() -> dict[str, str]:
    return {MODEL_PARAM: MODEL_VERSION, DATA_PARAM: data_version()}


def versions() -> dict[str, str]:
    """The versions of formulas and data that answer here."""
    return {"model": MODEL_VERSION, "data": data_version()}


def report() -> None:
    """Say what of the opened link could not be used, until the first input is changed.

    Call after all inputs of the page, in a place above them.
    """
    if "link_problems" not in st.session_state:
        opened = st.session_state.get(CARRIED, {})
        st.session_state.link_problems = (_drawn(), problems(opened))
    asked, sentences = st.session_state.link_problems
    if sentences and _drawn() == asked:
        st.warning(
            "\n".join([t("inputs.link_problems"), *(f"- {sentence}" for sentence in sentences)]),
            icon=":material/link_off:",
        )
