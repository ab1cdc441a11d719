"""How far off the model of speed is, on rows it was not fitted to; `python -m calc accuracy`.

What is left out says what is claimed. Families of models, on the reference card: a new model.
Cards: a card that nobody measured. Workloads, in every source at once: the ratio between cards for
a workload that was never run on them.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from calc.accuracy_memory import wilson
from calc.card import Card
from calc.measurements import load_cards
from calc.network import exchange, exposed_s, link
from calc.speed_fit import (
    ENOUGH,
    REFERENCE,
    Cell,
    Observed,
    SpecRow,
    datasheet_seconds,
    fit_cards,
    fit_classes,
    fit_spec_model,
    predict_s,
    quantile,
    specs,
)
from calc.speed_rows import (
    Pair,
    Published,
    cells,
    model_name,
    observed,
    pairs,
    published,
    work_of,
)

FOLDS = 8
"""Whole families are dealt over this many folds; a fold is predicted from the others."""
ENOUGH_WORKLOADS = 8
"""Below this many traceable workloads, a claim about the ratio of two cards is not shown."""
TRACEABLE = ("resnet50", "bert", "vgg19", "swin", "gpt2-124m")
"""Workloads of the A100 / RTX 4090 pairs whose model current libraries can build."""
SWEPT = tuple(0.5 * 6 ** (step / 60) for step in range(61))
"""Price ratios A100 / RTX 4090 from 0.5 to 3, evenly on the logarithm."""
TRAINING = ("lambda-pt1.13", "lambda-pt2.x", "lambda-pt2.3", "neusight-train")
"""Stacks in which a cell is training in one software on every card."""
RANGE = 0.90


@dataclass(frozen=True, slots=True)
class Item:
    """One graded figure. log_error: logarithm of predicted / measured; source: where it stands."""

    name: str
    group: str
    card: str
    source: str
    predicted: float
    measured: float

    @property
    def log_error(self) -> float:
        """Above 0: predicted too high."""
        return math.log(self.predicted / self.measured)

    @property
    def error(self) -> float:
        """Relative error, with sign."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of graded rows, as fractions; groups: how many different things were left out.

    covered: rows inside the 90 % range learned without them; coverage: Wilson interval of it.
    """

    n: int
    groups: int
    median: float
    mean: float
    p90: float
    worst: float
    covered: int | None
    coverage: tuple[float, float] | None


def score(items: Sequence[Item]) -> Score | None:
    """Score of items, None where there are none; ranges are learned on the other groups."""
    if not items:
        return None
    errors = sorted(abs(item.error) for item in items)
    groups = {item.group for item in items}
    covered = _covered(items) if len(groups) > 2 else None
    return Score(
        n=len(items),
        groups=len(groups),
        median=statistics.median(errors),
        mean=statistics.fmean(errors),
        p90=errors[max(0, math.ceil(0.9 * len(errors)) - 1)],
        worst=errors[-1],
        covered=covered,
        coverage=None if covered is None else wilson(covered, len(items)),
    )


def _covered(items: Sequence[Item]) -> int:
    by_group: dict[str, list[float]] = defaultdict(list)
    for item in items:
        by_group[item.group].append(abs(item.log_error))
    inside = 0
    for group, errors in by_group.items():
        others = [error for name, other in by_group.items() if name != group for error in other]
        inside += sum(error <= quantile(others, RANGE) for error in errors)
    return inside


# --- A new model on the reference card ----------------------------------------------------------


@cache
def model_out() -> tuple[Item, ...]:
    """Every trained model of the reference card, predicted without its family."""
    rows = observed()
    fold_of = {name: i % FOLDS for i, name in enumerate(sorted({row.family for row in rows}))}
    found: list[Item] = []
    for fold in range(FOLDS):
        known = [row for row in rows if fold_of[row.family] != fold]
        classes = fit_classes(known) if known else {}
        found += [_item(row, classes) for row in rows if fold_of[row.family] == fold]
    return tuple(found)


def _item(row: Observed, classes: Mapping[str, float]) -> Item:
    predicted = predict_s(row.seconds, classes)
    return Item(row.name, row.family, REFERENCE, "timm results", predicted, row.measured_s)


def without_grouped(items: Sequence[Item]) -> list[Item]:
    """Items without grouped convolutions of several channels, which no video model has."""
    grouped = {row.name for row in observed() if row.seconds["groupconv_flop"] > 0}
    return [item for item in items if item.name not in grouped]


# --- Another card -------------------------------------------------------------------------------


@cache
def workload_out(precision: str) -> tuple[Item, ...]:
    """Speed of each workload on each card against the reference card's, the workload left out."""
    every = cells(precision)
    found: list[Item] = []
    for name in sorted({cell.workload for cell in every if cell.group[0] in TRAINING}):
        factors = fit_cards([cell for cell in every if cell.workload != name])
        found += _against_reference(every, factors, name)
    return tuple(found)


def _against_reference(
    every: Sequence[Cell], factors: Mapping[str, float], name: str
) -> Iterator[Item]:
    mine = [c for c in every if c.workload == name and c.group[0] in TRAINING]
    base = {cell.group: cell.log_per_s for cell in mine if cell.card == REFERENCE}
    for cell in mine:
        if cell.card != REFERENCE and cell.group in base and cell.card in factors:
            measured = math.exp(cell.log_per_s - base[cell.group])
            label = " ".join(cell.group)
            yield Item(label, name, cell.card, cell.group[0], factors[cell.card], measured)


@cache
def spec_rows(precision: str) -> tuple[SpecRow, ...]:
    """Cards with at least `ENOUGH` measured workloads, with their datasheet; the reference not."""
    weights = card_weights(precision)
    factors = fit_cards(cells(precision))
    return tuple(
        SpecRow(name, _card(name).architecture, *found, math.log(factor))
        for name, factor in sorted(factors.items())
        if name != REFERENCE
        and weights[name] >= ENOUGH
        and (found := specs(_card(name), precision)) is not None
    )


def card_weights(precision: str) -> dict[str, float]:
    """How many workloads in full a card's factor rests on."""
    total: dict[str, float] = defaultdict(float)
    for cell in cells(precision):
        total[cell.card] += cell.weight
    return dict(total)


@cache
def card_out(precision: str) -> tuple[Item, ...]:
    """Each card's factor from its datasheet, everything fitted on the other cards."""
    rows = spec_rows(precision)
    found = []
    for row in rows:
        model = fit_spec_model([other for other in rows if other is not row])
        predicted = model.factor(row.rate, row.bandwidth, row.architecture)
        measured = math.exp(row.log_factor)
        found.append(Item(row.card, row.card, row.card, "datasheet", predicted, measured))
    return tuple(found)


@cache
def card_out_rows(precision: str) -> tuple[Item, ...]:
    """Training rows on a card that was left out: reference card's row times datasheet factor."""
    by_card = {item.card: item.predicted for item in card_out(precision)}
    every = cells(precision)
    return tuple(
        Item(item.name, item.card, item.card, item.source, item.predicted, item.measured)
        for name in sorted({cell.workload for cell in every})
        for item in _against_reference(every, by_card, name)
    )


@cache
def _cards() -> Mapping[str, Card]:
    return load_cards()


def _card(name: str) -> Card:
    return _cards()[name]


# --- The two cards of the title -----------------------------------------------------------------


@cache
def ratio_out() -> tuple[Item, ...]:
    """A100 40GB / RTX 4090 of every published training pair, its workload left out everywhere."""
    return tuple(
        Item(f"{pair.workload} {pair.precision} {pair.a100}", pair.model, pair.a100, pair.stack,
             _ratio_without(pair.model, pair.precision, pair.a100), pair.ratio)
        for pair in pairs()
    )  # fmt: skip


@cache
def _factors_without(model: str, precision: str) -> Mapping[str, float]:
    return fit_cards([cell for cell in cells(precision) if cell.workload != model])


def _ratio_without(model: str, precision: str, a100: str) -> float:
    factors = _factors_without(model, precision)
    return factors[a100] / factors["RTX 4090 24GB"]


def constant_out(known: Sequence[Pair]) -> Iterator[Item]:
    """The baseline: one constant for everything, the median over the other workloads."""
    for pair in known:
        others = [other.ratio for other in known if other.model != pair.model]
        label = f"{pair.workload} {pair.precision} {pair.a100}"
        yield Item(label, pair.model, pair.a100, pair.stack, statistics.median(others), pair.ratio)


def named_wrongly(items: Iterable[Item]) -> float:
    """Share of swept price ratios at which the break-even names the dearer card."""
    wrong = total = 0
    for item in items:
        for price in SWEPT:
            total += 1
            wrong += (price < item.predicted) != (price < item.measured)
    return wrong / total


def always_4090(items: Iterable[Item]) -> Iterator[Item]:
    """The baseline that never names the A100: its break-even is the least price swept."""
    for item in items:
        yield Item(item.name, item.group, item.card, item.source, SWEPT[0], item.measured)


# --- Several GPUs -------------------------------------------------------------------------------


ANOMALOUS = frozenset({"A100 40GB SXM4", "A100 80GB SXM4"})
"""Lambda's virtual machines with several A100 SXM4: half of the speed of one GPU is lost, as over
no NVLink at all. Reported apart."""


@cache
def scaling() -> tuple[Item, ...]:
    """ResNet-50 on 2 to 8 GPUs: throughput of one GPU, kept share predicted, against published."""
    rows = [row for row in published() if row.workload == "resnet50" and row.stack in TRAINING]
    alone = {(row.stack, row.card, row.precision): row for row in rows if row.gpus == 1}
    return tuple(
        _scaled(row, one)
        for row in rows
        if row.gpus > 1 and (one := alone.get((row.stack, row.card, row.precision)))
    )


def _scaled(row: Published, one: Published) -> Item:
    label = f"{row.gpus}x {row.card} {row.precision}"
    step_s = (one.batch or RESNET_BATCH) / one.per_s
    moved = exchange("ddp", RESNET_GB, RESNET_GB, row.gpus, 1)
    waits_s = exposed_s(moved, link(_card(row.card)), step_s, row.gpus)
    kept = step_s / (step_s + waits_s)
    return Item(label, row.card, row.card, row.stack, kept, row.per_s / one.per_s / row.gpus)


RESNET_GB = 25.6e6 * 4 / 1e9
"""Gradients of ResNet-50 in fp32, GB."""
RESNET_BATCH = 1024
"""Where Lambda does not state the batch."""


# --- New models in other software, and batches nearby --------------------------------------------


@cache
def elsewhere() -> tuple[Item, ...]:
    """Traced models trained in other software, on any card: everything predicted, nothing seen.

    Classes come from timm's models without this family, the card's factor from the other
    workloads. The software of the source is part of the error: Lambda's BERT under AMP runs fused
    kernels that eager PyTorch has not.
    """
    rows = [row for row in published() if _is_elsewhere(row)]
    return tuple(item for row in rows if (item := _elsewhere(row)) is not None)


def _is_elsewhere(row: Published) -> bool:
    trained = row.gpus == 1 and row.mode == "train"
    return trained and row.precision != "fp32" and row.stack in ABSOLUTE and (row.batch or 0) >= 8


def _elsewhere(row: Published) -> Item | None:
    trace = work_of(row)
    if trace is None or any(kind.startswith("groupconv") for kind in trace.work):
        return None
    factors = _factors_without(model_name(row.workload), row.precision)
    if row.batch is None or row.card not in factors:
        return None
    seconds = datasheet_seconds(trace.work, row.batch, trace.params, contiguous=True)
    predicted = predict_s(seconds, _classes_without(trace.family)) / factors[row.card]
    name = f"{row.workload} {row.precision} batch {row.batch}"
    return Item(name, trace.family, row.card, row.stack, predicted, row.batch / row.per_s)


ABSOLUTE = ("lambda-pt1.13", "lambda-pt2.3", "milabench")
"""Stacks that state throughput and batch of a model that could be traced."""


@cache
def _classes_without(family: str) -> Mapping[str, float]:
    return fit_classes([row for row in observed() if row.family != family])


@cache
def nearby() -> tuple[Item, ...]:
    """A step from the same model on the same card at up to twice or half the batch (milabench)."""
    items = [item for item in elsewhere() if item.source == "milabench"]
    batch_of = {item: int(item.name.rsplit(" ", 1)[1]) for item in items}
    found: list[Item] = []
    for one in items:
        others = [o for o in items if _model_card(o) == _model_card(one) and o is not one]
        near = [o for o in others if 0.5 <= batch_of[o] / batch_of[one] <= 2]
        if near and {batch_of[o] for o in near} != {batch_of[one]}:
            other = min(near, key=lambda o: (batch_of[o] == batch_of[one], -batch_of[o]))
            moved = one.predicted * other.measured / other.predicted
            found.append(Item(one.name, one.group, one.card, one.source, moved, one.measured))
    return tuple(found)


def one_each(items: Sequence[Item]) -> list[Item]:
    """The largest batch of each model, card, precision and source."""
    largest: dict[tuple[object, ...], Item] = {}
    for item in sorted(items, key=lambda item: item.measured):
        largest[(*_model_card(item), item.source)] = item
    return list(largest.values())


def _model_card(item: Item) -> tuple[str, str]:
    return item.name.rsplit(" batch ", 1)[0], item.card


# --- Ranges -------------------------------------------------------------------------------------


def held_out_ranges() -> dict[str, float]:
    """90 % range factors for the model of speed, from held-out residuals.

    model: a new model in other software, on a card with a measured factor; card: the ratio of two
    measured cards for a new workload; specs: the same where one is known by its datasheet only;
    nearby: a step moved by a run at a batch nearby.
    """
    kinds = ("half", "tf32")
    return {
        "model": _range(one_each(elsewhere())),
        "card": _range([item for kind in kinds for item in workload_out(kind)]),
        "specs": _range([item for kind in kinds for item in card_out_rows(kind)]),
        "nearby": _range(nearby()),
    }


def _range(items: Sequence[Item]) -> float:
    return math.exp(quantile([abs(item.log_error) for item in items], RANGE))


# --- Report -------------------------------------------------------------------------------------


def report() -> dict[str, Any]:
    """Every claim about speed with its figure, n, and the rows furthest off."""
    models, ratios = model_out(), ratio_out()
    constant = tuple(constant_out(list(pairs())))
    usual = [item for item in scaling() if item.card not in ANOMALOUS]
    odd = [item for item in scaling() if item.card in ANOMALOUS]
    lambda_only = [item for item in ratios if item.source == "lambda-pt1.13"]
    return {
        "scores": {
            "step time, family left out, RTX 3090": score(models),
            "- without grouped convolutions": score(without_grouped(models)),
            "step time, new model, other software, any card": score(elsewhere()),
            "- one row a model, card and precision": score(one_each(elsewhere())),
            "step time from a batch nearby, same model and card": score(nearby()),
            **_card_scores(),
            "ratio A100 40GB / RTX 4090, workload left out": score(ratios),
            "- in one software on both cards": score(lambda_only),
            "- baseline: one constant": score(constant),
            "share of speed kept on 2 to 8 GPUs, ResNet-50": score(usual),
            "- on Lambda's A100 SXM4 machines": score(odd),
        },
        "break_even": {
            "card factors": named_wrongly(ratios),
            "one constant": named_wrongly(constant),
            "always the RTX 4090": named_wrongly(always_4090(ratios)),
        },
        "traceable": _traceable(ratios),
        "furthest": {
            "step time": _furthest(models), "ratio": _furthest(ratios),
            "cards": _furthest([item for kind in ("half", "tf32") for item in card_out(kind)]),
        },
    }  # fmt: skip


def _card_scores() -> dict[str, Score | None]:
    found: dict[str, Score | None] = {}
    for kind in ("half", "tf32"):
        found[f"speed against the RTX 3090, {kind}, workload left out"] = score(workload_out(kind))
        found[f"card factor, {kind}, card left out"] = score(card_out(kind))
        found[f"step on a card left out, {kind}"] = score(card_out_rows(kind))
    return found


def _traceable(items: Sequence[Item]) -> dict[str, Any]:
    mine = {item.group for item in items} & set(TRACEABLE)
    shown = len(mine) >= ENOUGH_WORKLOADS
    return {"workloads": sorted(mine), "n": len(mine), "needed": ENOUGH_WORKLOADS, "shown": shown}


def _furthest(items: Sequence[Item], count: int = 5) -> list[Item]:
    return sorted(items, key=lambda item: -abs(item.log_error))[:count]


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The report for a terminal."""
    columns = f"{'n':>5}{'left out':>9}{'median':>8}{'mean':>7}{'p90':>7}{'worst':>7}"
    yield f"  {'':52}{columns}  in range"
    for name, one in found["scores"].items():
        yield _line(name, one)
    wrong = ", ".join(f"{name} {share:.0%}" for name, share in found["break_even"].items())
    yield f"  price ratios 0.5 to 3 at which the dearer card is named: {wrong}"
    trace = found["traceable"]
    shown = "shown" if trace["shown"] else "not shown, so the ratio is a constant of the two cards"
    yield (
        f"  traceable workloads of the pair: {trace['n']} of {trace['needed']} needed "
        f"({', '.join(trace['workloads'])}): that a finer ratio is better is {shown}"
    )
    for title, items in found["furthest"].items():
        yield f"  furthest off, {title}:"
        yield from (
            f"    {item.error:+7.0%}  {item.name} on {item.card} ({item.source})" for item in items
        )


def _line(name: str, one: Score | None) -> str:
    if one is None:
        return f"  {name:52}    0   not validated"
    inside = ""
    if one.covered is not None and one.coverage is not None:
        low, high = one.coverage
        inside = f"{one.covered}/{one.n} ({low:.0%}-{high:.0%})"
    return (
        f"  {name:52}{one.n:5}{one.groups:9}{one.median:8.1%}{one.mean:7.1%}{one.p90:7.0%}"
        f"{one.worst:7.0%}  {inside}"
    )


__all__ = ["Item", "Score", "held_out_ranges", "lines", "report", "score"]
