"""The parts of the calculator page, from the sentence on top to the link at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import streamlit as st

from calc import repository, rules
from calc.compare import Comparison, OfferResult, compare, profile_of
from calc.job import Job
from calc.memory import timeline
from calc.profile import NotTraced
from calc.result import shortest_h
from calc.sweep import batch_sweep, batches, tipping_map
from ui import charts, export, figures, inputs, layout, presets, refusal, rows, share
from ui.data import data
from ui.text import language, say, t, use_language

CARD_PX = 270
"""Least width of an offer's box: the peak with its range takes two lines."""


def ink() -> str:
    """ "dark" on a dark page, else "light"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def answered() -> Comparison | ValueError:
    """The comparison for the inputs; where there is none the reason, which is then on the page."""
    try:
        return compare(inputs.job(), data())
    except ValueError as error:
        refusal.show(error)
        return error


def unanswered(reason: ValueError) -> None:
    """What can be done where there is no answer: share the inputs, ask for what is missing."""
    with contextlib.suppress(ValueError):
        job = inputs.job()
        if isinstance(reason, NotTraced):
            ask = repository.issue_link("card-or-model.yml", kind="a model", name=_setting(job))
            st.caption(t("calculator.ask_model", link=ask))
        share_link(share.link(job))


def _setting(job: Job) -> str:
    """What would have to be traced."""
    return (
        f"{job.model}, {job.frames} frames, {job.size} px, {job.precision}, checkpointing "
        f"{job.checkpointing}, {job.attention} attention, trainable {job.trainable}"
    )


def model_line(job: Job) -> None:
    """What the model is, and for which shapes there is an answer."""
    profile = profile_of(job, data())
    if job.model == "custom":
        st.caption(t("calculator.custom_shapes", params=f"{profile.params:,}"))
        return
    frames, sizes = _shapes(job.model)
    st.caption(
        t("calculator.traced_shapes", title=profile.title, params=f"{profile.params:,}",
          frames=frames, sizes=sizes)
    )  # fmt: skip


@cache
def _shapes(model: str) -> tuple[str, str]:
    """Frames and sizes that a model was traced at."""
    profile = data().profile(model)
    frames, sizes = (", ".join(map(str, values)) for values in (profile.frames(), profile.sizes()))
    return frames, sizes


def headline(comparison: Comparison) -> None:
    """The verdict, the one sentence people came for."""
    st.markdown(f"### {figures.as_markdown(say(comparison.verdict))}")


def results(comparison: Comparison) -> None:
    """All that follows from an answer: the cards, advice, charts, rules, what to take away."""
    model_line(comparison.job)
    card_results(comparison)
    sentences(comparison, "advice_title")
    left, right = st.columns(2)
    with left:
        memory_figure(comparison.offers)
        map_figure(comparison.job)
    with right:
        timeline_figure(comparison.job, comparison.offers)
        cost_figure(comparison)
    sweep_figure(comparison.job)
    sentences(comparison, "rules_title", "notes_title")
    take_away(comparison)


def card_results(comparison: Comparison) -> None:
    """One box per offer, three in a row."""
    results, beside_h = comparison.offers, shortest_h(comparison.offers)
    with st.grid(min(3, len(results)), min_column_width=CARD_PX):
        for result in results:
            with st.container(border=True, height="stretch"):
                card_result(result, comparison.job, beside_h)


def card_result(result: OfferResult, job: Job, beside_h: float | None) -> None:
    """One offer: does it fit, what does it cost, how long does it take, and on what grounds."""
    st.markdown(f"**{result.offer.text}** {figures.badge(result.answer)}")
    with st.container(horizontal=True):
        st.metric(
            t("calculator.cost"), figures.cost(result, job),
            delta=figures.cost_ends(result, job) or None, delta_color="off", delta_arrow="off",
        )  # fmt: skip
        st.metric(
            t("calculator.hours"), figures.hours(result, beside_h),
            delta=figures.hours_ends(result, beside_h) or None,
            delta_color="off", delta_arrow="off",
        )  # fmt: skip
    lines = {
        "peak": figures.gib_range(result.memory.allocated),
        "needs": rows.needs(result),
        "max_batch": str(result.max_batch),
        "trains": trains(result),
        "speed": figures.speed(result),
        "price": price(result, job),
        "energy": figures.energy(result),
        "basis": t("calculator.basis_value", memory=figures.basis(result.basis["memory"]),
                   speed=figures.basis(result.basis["speed"])),
    }  # fmt: skip
    colon = t("common.colon")
    help_text = t("calculator.peak_help", reserved=figures.gib(result.memory.reserved.mid))
    st.markdown(
        figures.as_markdown(
            "  \n".join(
                f"{t(f'calculator.{key}')}{colon}{value}" for key, value in lines.items()
            )
        ),
        help=f"{help_text}\n\n{t('calculator.basis_help')}",
    )


def trains(result: OfferResult) -> str:
    """How the batch is trained on one GPU."""
    if result.micro_batch is None or result.accumulation is None:
        return t("common.no")
    return rows.trains_as(result.micro_batch, result.accumulation)


def price(result: OfferResult, job: Job) -> str:
    """The price used and where it is from."""
    used = result.price
    if used is None:
        return t("calculator.price_none")
    bought = used.kind == "buy"
    unit = "price_buy" if bought else "price_hour"
    origin = "price_typed" if used.typed else "price_bought" if bought else "price_dated"
    amount = t(f"calculator.{unit}", usd=figures.money(used.usd, job))
    return f"{amount} ({t(f'calculator.{origin}', date=used.date)})"


def head(title: str, explained: str) -> None:
    """Title of a part, and below it in small what is seen there."""
    st.markdown(f"**{t(f'calculator.{title}_title')}**  \n:small[{explained}]")


def memory_figure(results: Sequence[OfferResult]) -> None:
    """Parts of the peak against capacity."""
    head("memory", t("calculator.memory_caption"))
    st.vega_lite_chart(
        charts.memory_chart(
            rows.parts(results), rows.needed(results), rows.part_names(results),
            t("calculator.gib_axis"), ink(),
        ),
        key="chart_memory", alt=rows.memory_alt(results),
    )  # fmt: skip


def timeline_figure(job: Job, results: Sequence[OfferResult]) -> None:
    """Memory through one step, of the first offer that trains the job."""
    shown = next((result for result in results if result.trains), results[0])
    micro, parts = shown.micro_batch or 1, shown.accumulation or 1
    step = timeline(job, profile_of(job, data()), micro, parts, shown.offer.count)
    if step is None:
        head("timeline", t("calculator.timeline_none"))
        return
    head("timeline", t("calculator.timeline_caption", offer=shown.offer.text, micro=micro))
    st.vega_lite_chart(
        charts.timeline_chart(
            rows.moments(step), rows.phases(step), rows.named_limits(results),
            t("calculator.gib_axis"), t("calculator.progress_axis"), ink(),
        ),
        key="chart_timeline",
        alt=t("calculator.timeline_alt", peak=figures.gib(max(step.gib)),
              phase=t(f"calculator.phase_{step.peak_phase}")),
    )  # fmt: skip


def map_figure(job: Job) -> None:
    """The tipping map over frames or sizes."""
    head("map", t("calculator.map_caption"))
    inputs.widget("map")
    axis = inputs.view("map")
    found = tipping_map(job, data(), axis, batches(job.batch))
    if not found:
        st.caption(t("calculator.map_empty"))
        return
    words = {
        "batch": t("calculator.map_batch"),
        "row": t(f"calculator.map_{axis}"),
        "cost": t("calculator.cost"),
    }
    st.vega_lite_chart(
        charts.tipping_chart(
            rows.cells(found, job, axis), [{"batch": job.batch, "row": getattr(job, axis)}],
            rows.map_names(job), t("calculator.map_none"), words, ink(),
        ),
        key="chart_map", alt=rows.map_alt(found, job, axis),
    )  # fmt: skip


def cost_figure(comparison: Comparison) -> None:
    """Cost against time."""
    points = rows.costs(comparison.offers, comparison.job)
    head("costs", t("calculator.costs_caption") if points else t("calculator.costs_none"))
    if not points:
        return
    cost_axis = t("calculator.cost_axis", currency=comparison.job.currency)
    st.vega_lite_chart(
        charts.cost_chart(
            points, comparison.job.cards, t("calculator.hours_axis"), cost_axis, ink()
        ),
        key="chart_cost", alt=rows.costs_alt(points),
    )  # fmt: skip


def sweep_figure(job: Job) -> None:
    """Speed against batch."""
    points = batch_sweep(job, data(), batches(job.batch))
    head("sweep", t("calculator.sweep_caption") if points else t("calculator.sweep_none"))
    if not points:
        return
    words = {"batch": t("calculator.map_batch"), "clips_per_s": t("calculator.clips_axis")}
    st.vega_lite_chart(
        charts.sweep_chart(rows.sweep(points), [{"batch": job.batch}], job.cards, words, ink()),
        key="chart_sweep",
        alt=rows.sweep_alt(points),
    )


def sentences(comparison: Comparison, *wanted: str) -> None:
    """The wanted ones of advice_title, rules_title and notes_title, as far as there are any."""
    for title in wanted:
        lines = SENTENCES[title](comparison)
        if lines:
            points = [f"- {line}" for line in lines]
            explained = f"  \n:small[{t(EXPLAINED[title])}]" if title in EXPLAINED else ""
            st.markdown("\n".join([f"**{t(f'calculator.{title}')}**{explained}", "", *points]))


def advice(comparison: Comparison) -> list[str]:
    """Each change that would make the job fit, with a link that makes it."""
    links = _links(comparison)
    return [
        figures.as_markdown(say(each.text)) + link
        for each, link in zip(comparison.advice, links, strict=True)
    ]


def _links(comparison: Comparison) -> list[str]:
    """Links to the job with some inputs changed, and the micro-batch left to ClipFit.

    "" where that is the job as it is: accumulation comes of itself.
    """
    job = comparison.job
    wanted = [{**each.changes, "micro_batch": None} for each in comparison.advice]
    found = share.queries(job, language(), wanted) if wanted else []
    return [
        f" ([{t('calculator.advice_apply')}](?{query}))" if job.replace(**changes) != job else ""
        for changes, query in zip(wanted, found, strict=True)
    ]


SENTENCES: Mapping[str, Callable[[Comparison], list[str]]] = {
    "advice_title": advice,
    "rules_title": lambda made: [
        figures.as_markdown(say(line)) for line in rules.lines(made.rules)
    ],
    "notes_title": lambda made: [figures.as_markdown(say(note)) for note in made.notes],
}


EXPLAINED: Mapping[str, str] = {"advice_title": "calculator.advice_caption"}
"""What is said in small below some of these titles."""


def take_away(comparison: Comparison) -> None:
    """The link, what else can be taken along, and where to say that a figure is wrong."""
    link = share.link(comparison.job)
    share_link(link)
    layout.folded(
        t("calculator.export_title"), "open_export", lambda: exported(comparison, link),
        icon=":material/download:",
    )  # fmt: skip
    st.caption(t("calculator.wrong_figure", link=wrong_figure(comparison, link)))


def exported(comparison: Comparison, link: str) -> None:
    """Files, commands, and a summary to paste."""
    lang = language()

    def summary() -> str:
        use_language(lang)  # a download is made outside of the run that offered it
        return export.markdown(comparison, link, lang)

    files = {
        "csv": ("csv", "text/csv", lambda: export.table_csv(comparison.offers)),
        "yaml": ("yaml", "application/yaml", lambda: export.job_yaml(comparison)),
        "markdown": ("md", "text/markdown", summary),
    }
    with st.container(horizontal=True):
        for kind, (ending, mime, content) in files.items():
            st.download_button(
                t(f"calculator.download_{kind}"), content, f"clipfit.{ending}", mime,
                key=f"download_{kind}", icon=":material/download:", on_click="ignore",
            )  # fmt: skip
    st.caption(t("calculator.charts_note"))
    st.markdown(t("calculator.commands"))
    st.code(export.compare_command(comparison.job), language="bash", wrap_lines=True)
    for result in comparison.offers:
        command = export.bench_command(comparison.job, result)
        if command:
            st.markdown(t("calculator.bench_command", offer=result.offer.text))
            st.code(command, language="bash", wrap_lines=True)
            break
    st.markdown(t("calculator.markdown_preview"))
    st.code(summary(), language="markdown", wrap_lines=True)


def share_link(link: str) -> None:
    """The link that shows this page to others, ready to be copied."""
    head("share", t("calculator.share_caption"))
    st.code(link, language=None, wrap_lines=False)


def wrong_figure(comparison: Comparison, link: str) -> str:
    """The form on which a visitor says that the card did something else, with the job filled in."""
    said = "; ".join(
        f"{result.offer.text}: {result.fit.state}, {figures.gib(result.memory.allocated.mid)}"
        for result in comparison.offers
    )
    return repository.issue_link("wrong-figure.yml", link=link, said=said)


def recipes(job: Job) -> None:
    """Published recipes as links, with the visitor's cards and prices."""
    layout.folded(t("calculator.presets_title"), "open_recipes", lambda: _recipes(job))


def _recipes(job: Job) -> None:
    kept = Job(cards=job.cards, prices=job.prices, buy_prices=job.buy_prices,
               price_kind=job.price_kind)  # fmt: skip
    links = share.queries(kept, language(), [preset.values for preset in presets.PRESETS])
    lines = [
        f"- [{preset.title}](?{link}) "
        + t("calculator.preset_of", gpus=preset.gpus, source=preset.source)
        for preset, link in zip(presets.PRESETS, links, strict=True)
    ]
    st.markdown("\n".join([*lines, "", t("calculator.preset_note")]))
