"""The table of all cards for a job."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calc import repository
from calc.compare import OfferResult, evaluate_all, offers, profile_of
from calc.cost import in_currency
from calc.job import Job
from ui import export, inputs, refusal
from ui.data import card_names, data
from ui.figures import basis
from ui.text import t

STATE_PX = 100
"""Room for "does not fit"; columns are otherwise as wide as their titles."""


def job_of_all(count: int) -> Job | None:
    """The visitor's job with every card, `count` of each; None, with the reason on the page."""
    offers = tuple(inputs.offer_text(name, count) for name in card_names())
    try:
        return inputs.job(cards=offers)
    except ValueError as error:
        refusal.show(error)
        return None


def show(job: Job, intro: DeltaGenerator) -> None:
    """Table, sentence and CSV; or the reason why there is none."""
    try:
        measured = data()
        profile = profile_of(job, measured)
        found = evaluate_all(job, profile, offers(job, measured.cards), measured)
    except ValueError as error:
        refusal.show(error)
        return
    kept = sorted((result for result in found if _wanted(result, job)), key=_cost_order)
    if not kept:
        st.info(t("cards.none_left"), icon=":material/filter_alt_off:")
        return
    intro.markdown(_summary(kept))
    rows = [_row(result, job) for result in kept]
    st.dataframe(
        pd.DataFrame(rows), column_config=_columns(job, rows), hide_index=True, height="content",
        placeholder="–", key="all_cards",
        alt=t("cards.alt", all=len(kept), first=kept[0].offer.text),
    )  # fmt: skip
    ask = repository.issue_link("card-or-model.yml", kind="a card")
    paid = "caption_buy" if job.price_kind == "buy" else "caption"
    st.caption(f"{t(f'cards.{paid}')} {t('cards.unknown')} {t('cards.ask_card', link=ask)}")
    st.download_button(
        t("cards.download"), lambda: export.table_csv(kept), "clipfit-cards.csv", "text/csv",
        key="download_cards", icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _wanted(result: OfferResult, job: Job) -> bool:
    """Whether the filters keep an offer; the one by price is for rented cards."""
    limit = None if job.price_kind == "buy" else inputs.view("max_price")
    if inputs.view("only_trains") and not result.trains:
        return False
    return limit is None or (result.price is not None and result.price.usd <= limit)


def _cost_order(result: OfferResult) -> tuple[bool, float]:
    """Cheapest first, offers without a cost last."""
    return (result.usd is None, result.usd.mid if result.usd else 0.0)


def _summary(results: Sequence[OfferResult]) -> str:
    """How many fit, and which is the cheapest."""
    fits = sum(result.fit.state == "fits" for result in results)
    trains = sum(result.trains for result in results)
    counts = {"fits": fits, "trains": trains, "all": len(results)}
    if not results or results[0].usd is None:
        return t("cards.intro_unpriced", **counts)
    return t("cards.intro", best=results[0].offer.text, **counts)


def _row(result: OfferResult, job: Job) -> dict[str, Any]:
    price = result.price
    return {
        "card": result.offer.text,
        "state": t(f"common.{result.answer}"),
        "used": None if result.used_share is None else 100 * result.used_share,
        "needs": result.needs_gib,
        "usable": result.usable_gib.mid,
        "max_batch": result.max_batch,
        "speed": result.clips_per_s and result.clips_per_s.mid,
        "hours": result.hours and result.hours.mid,
        "cost": result.usd and in_currency(result.usd.mid, job),
        "price": price and price.usd,
        "date": price and price.date,
        "basis": basis(result.basis["speed"]),
    }


def _decimals(values: Iterable[float | None], least: int) -> str:
    """Format of a column: `least` decimals, or more so that its smallest figure has two digits.

    >>> _decimals([20.0, 106.0], 0), _decimals([0.35, None, 4.0], 0), _decimals([], 1)
    ('%.0f', '%.2f', '%.1f')
    """
    smallest = min((value for value in values if value), default=100.0)
    return f"%.{max(least, 1 - math.floor(math.log10(smallest)))}f"


def _columns(job: Job, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    bought = job.price_kind == "buy"
    forms = {
        key: _decimals((row[key] for row in rows), least)
        for key, least in {"speed": 1, "hours": 1, "cost": 0}.items()
    }
    number = st.column_config.NumberColumn
    return {
        "card": st.column_config.TextColumn(t("cards.card"), pinned=True),
        "state": st.column_config.TextColumn(t("cards.state"), width=STATE_PX),
        "used": st.column_config.ProgressColumn(
            t("cards.used"),
            help=t("cards.used_help"),
            format="%.0f%%",
            min_value=0,
            max_value=100,
        ),
        "needs": number(t("cards.needs"), format="%.1f"),
        "usable": number(t("cards.usable"), format="%.1f"),
        "max_batch": number(t("cards.max_batch"), format="%d"),
        "speed": number(t("cards.speed"), format=forms["speed"]),
        "hours": number(t("cards.hours"), format=forms["hours"]),
        "cost": number(t("cards.cost", currency=job.currency), format=forms["cost"]),
        "price": number(t(f"cards.price{'_buy' if bought else ''}"), format="%.2f"),
        "date": st.column_config.TextColumn(t("cards.date")),
        "basis": st.column_config.TextColumn(t("cards.basis")),
    }
