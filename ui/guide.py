"""The sections of the guide, with figures computed on the spot; `ui/pages/guide.py` shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import pandas as pd
import streamlit as st

from calc import guide, repository
from calc.card import Card, Offer, Sourced
from calc.compare import compare
from calc.job import Job
from calc.profile import NotTraced
from calc.rules import HOLDS
from calc.words import Message
from ui import accuracy_view
from ui.data import data
from ui.figures import as_markdown
from ui.snippets import source
from ui.text import say, t

SWIN = Job(model="video-swin-t", frames=32, size=224, batch=8, precision="fp16")
EXAMPLES = (
    SWIN,
    SWIN.replace(model="timesformer-b", frames=8),
    SWIN.replace(model="videomae-b", frames=16),
    SWIN.replace(model="mvit-v2-s", frames=16),
    SWIN.replace(model="r2plus1d-18", frames=16),
    SWIN.replace(model="slowfast-r50"),
)
"""One model of each kind, each at the frames its authors use."""
BATCHES = (1, 2, 4, 8, 16, 32)
CARDS = (
    "A100 40GB PCIe", "A100 40GB SXM4", "RTX 3090 24GB", "RTX 4090 24GB", "RTX 5090 32GB",
    "L40S 48GB", "H100 80GB SXM5",
)  # fmt: skip
A100, RTX_4090 = "A100 40GB SXM4", "RTX 4090 24GB"


def table(columns: Mapping[str, Sequence[object]], alt: str) -> None:
    """A small table, readable by screen readers; every text in it is our own."""
    width: Literal["stretch", "content"] = "stretch" if len(columns) > 3 else "content"
    st.table(
        pd.DataFrame(dict(columns)), hide_index=True, alt=alt, border="horizontal", width=width
    )


def traced(jobs: Sequence[Job]) -> list[Job]:
    """The example jobs that can be computed in this copy."""
    return [job for job in jobs if job.model in data().models and _is_traced(job)]


def _is_traced(job: Job) -> bool:
    try:
        guide.peaks(job, data().profile(job.model), (1,))
    except NotTraced:
        return False
    return True


def no_figures(model: str) -> None:
    st.caption(t("guide.no_figures", model=model))


def setting(job: Job) -> str:
    """ "32 x 224 px, batch 8, fp16"."""
    shape = {"frames": job.frames, "size": job.size, "batch": job.batch}
    return t("guide.setting", precision=job.precision, **shape)


def shape(job: Job) -> str:
    """ "32 x 224 px, batch 8"."""
    return t("guide.shape", frames=job.frames, size=job.size, batch=job.batch)


def side_by_side(left: str, right: str) -> None:
    """A wrong and a right snippet beside each other."""
    for column, name, word, icon in zip(
        st.columns(2), (left, right), ("wrong", "right"), ("close", "check"), strict=True
    ):
        with column:
            st.markdown(f":material/{icon}: **{t(f'guide.{word}')}** {t(f'guide.{name}')}")
            st.code(source(name), language="python", wrap_lines=True)


# The sections, in order


def memory() -> None:
    st.markdown(t("guide.memory_text"))
    rows = [guide.beside(job, data().profile(job.model)) for job in traced(EXAMPLES)]
    if not rows:
        return no_figures(SWIN.model)
    columns = {
        t("guide.column_model"): [row.title for row in rows],
        t("guide.column_setting"): [setting(row.job) for row in rows],
        t("guide.column_params"): [f"{row.params_m:,.1f}" for row in rows],
        t("guide.column_article"): [f"{row.article_gib:.2f}" for row in rows],
        t("guide.column_fixed"): [f"{row.fixed_gib:.2f}" for row in rows],
        t("guide.column_peak"): [f"{row.peak.mid:.1f}" for row in rows],
        t("guide.column_act"): [f"{row.act_m:.1f}" for row in rows],
    }
    table(columns, t("guide.memory_table"))
    st.caption(t("guide.memory_caption"))


def oom() -> None:
    st.markdown(t("guide.oom_text"))
    jobs = traced([SWIN.replace(frames=16)])
    if jobs:
        _batches(jobs[0])
    else:
        no_figures(SWIN.model)
    side_by_side("accumulation_wrong", "accumulation_right")
    st.caption(t("guide.snippets"))


def _batches(job: Job) -> None:
    profile = data().profile(job.model)
    found = guide.peaks(job, profile, BATCHES)
    limit = guide.ARTICLE_SWIN_T_16_FRAMES_GIB
    batch = guide.first_above(limit, found)
    word = "guide.oom_sentence" if batch else "guide.oom_sentence_never"
    st.markdown(t(word, one=found[0][1].mid, batch=batch, limit=limit))
    columns = {
        t("guide.column_batch"): [str(batch) for batch, _ in found],
        t("guide.column_peak"): [f"{peak.mid:.1f}" for _, peak in found],
        t("guide.column_range"): [t("guide.range", low=p.low, high=p.high) for _, p in found],
    }
    table(columns, t("guide.oom_table", model=profile.title, frames=job.frames))


def precision() -> None:
    st.markdown(t("guide.precision_text"))
    jobs = [job for job in traced(EXAMPLES) if _is_traced(job.replace(precision="fp32"))]
    if jobs:
        profiles = [data().profile(job.model) for job in jobs]
        changes = [
            guide.change(job.replace(precision="fp32"), job, profile)
            for job, profile in zip(jobs, profiles, strict=True)
        ]
        columns = {
            t("guide.column_model"): [profile.title for profile in profiles],
            t("guide.column_setting"): [shape(job) for job in jobs],
            t("guide.column_fp32"): [f"{found.before_gib:.1f}" for found in changes],
            t("guide.column_fp16"): [f"{found.after_gib:.1f}" for found in changes],
            t("guide.column_saved"): [f"{found.saved:.0%}" for found in changes],
        }
        table(columns, t("guide.precision_table"))
    else:
        no_figures(SWIN.model)
    side_by_side("precision_wrong", "precision_right")
    with st.expander(t("guide.precision_bf16")):
        st.code(source("precision_bf16"), language="python", wrap_lines=True)


def checkpointing() -> None:
    st.markdown(t("guide.checkpointing_text"))
    ways = ("wrapper", "block")
    jobs = [
        job
        for job in traced(EXAMPLES)
        if all(_is_traced(job.replace(checkpointing=way)) for way in ways)
    ]
    if jobs:
        _checkpointing_table(jobs)
    else:
        no_figures(SWIN.model)
    side_by_side("checkpointing_wrong", "checkpointing_right")


def _checkpointing_table(jobs: Sequence[Job]) -> None:
    offer = Offer(data().cards[RTX_4090])
    profiles = [data().profile(job.model) for job in jobs]
    wrapper, block = (
        [
            guide.change(job, job.replace(checkpointing=way), profile, offer)
            for job, profile in zip(jobs, profiles, strict=True)
        ]
        for way in ("wrapper", "block")
    )
    columns = {
        t("guide.column_model"): [profile.title for profile in profiles],
        t("guide.column_setting"): [setting(job) for job in jobs],
        t("guide.column_none"): [f"{found.before_gib:.1f}" for found in block],
        t("guide.column_wrapper"): [f"{found.after_gib:.1f}" for found in wrapper],
        t("guide.column_block"): [f"{found.after_gib:.1f}" for found in block],
        t("guide.column_block_saved"): [f"{found.saved:.0%}" for found in block],
        t("guide.column_block_time"): [_times(found) for found in block],
    }
    table(columns, t("guide.checkpointing_table"))
    st.caption(t("guide.checkpointing_caption", card=RTX_4090))


def _times(found: guide.Change) -> str:
    return t("common.unknown") if found.time is None else t("guide.times", n=found.time)


def cards() -> None:
    known = data().cards
    a100, rtx_4090 = (known[name].dense_fp16_tflops.value for name in (A100, RTX_4090))
    if a100 and rtx_4090:
        words = {
            "advertised": guide.ARTICLE_4090_TFLOPS,
            "rate_a100": a100,
            "rate_4090": rtx_4090,
            "article": guide.times(a100, guide.ARTICLE_4090_TFLOPS),
            "dense": guide.times(a100, rtx_4090),
        }
        st.markdown(t("guide.cards_text", **words))
    shown = [known[name] for name in CARDS if name in known]
    columns = {
        t("guide.column_card"): [card.name for card in shown],
        t("guide.column_total"): [_total(card) for card in shown],
        t("guide.column_dense"): [_figure(card.dense_fp16_tflops) for card in shown],
        t("guide.column_matmul"): [_figure(card.measured_fp16_tflops) for card in shown],
        t("guide.column_bandwidth"): [_figure(card.bandwidth_gb_s) for card in shown],
        t("guide.column_nvlink"): [
            _figure(card.nvlink_gb_s_per_direction, t("guide.no_nvlink")) for card in shown
        ],
        t("guide.column_tdp"): [_figure(card.tdp_w) for card in shown],
    }
    table(columns, t("guide.cards_table"))
    st.caption(t("guide.cards_caption"))


def _figure(figure: Sourced, missing: str = "") -> str:
    if figure.value is None:
        return missing or t("common.unknown")
    return f"{figure.value:,.4g}" if figure.value < 1000 else f"{figure.value:,.0f}"


def _total(card: Card) -> str:
    typical = card.total_gib[1]
    return f"{typical:.1f}" if card.total_is_published else t("guide.estimated", n=typical)


def environment() -> None:
    card = data().cards[RTX_4090]
    words = {"launch": card.launch, "capability": card.compute_capability}
    st.markdown(t("guide.environment_text", **words))


def rules() -> None:
    if not traced([SWIN]):
        return no_figures(SWIN.model)
    job = Job()
    cards = ", ".join(job.cards)
    st.markdown(t("guide.rules_text", setting=setting(job), cards=cards))
    for rule in compare(job, data()).rules:
        said = {
            "name": f"{rule.number}. {t(f'guide.rule_{rule.number}')}",
            "held": say(Message(HOLDS[rule.holds])),
            "text": say(rule.text).rstrip(".。"),
        }
        line = t("guide.rule_line", **said)
        if rule.money is not None and rule.number == 2:
            line += t("guide.rule_money", money=say(rule.money).rstrip(".。"))
        st.markdown(as_markdown(line))


def windows() -> None:
    st.markdown(t("guide.windows_text"))


def accuracy() -> None:
    st.markdown(t("guide.accuracy_text"))
    accuracy_view.memory_table()
    accuracy_view.speed_table("guide")
    st.page_link(
        "ui/pages/measurements.py", label=t("guide.to_measurements"), icon=":material/science:"
    )
    st.caption(t("guide.accuracy_more", method=repository.file_link("docs/method.md")))


def limits() -> None:
    st.markdown(t("guide.limits_text"))


SECTIONS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("memory", memory),
    ("oom", oom),
    ("precision", precision),
    ("checkpointing", checkpointing),
    ("cards", cards),
    ("environment", environment),
    ("rules", rules),
    ("windows", windows),
    ("accuracy", accuracy),
    ("limits", limits),
)
