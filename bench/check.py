"""`bench check`: what a pull request with measurements must pass. Standard library and PyYAML only.

Without FILES it checks the whole of `measurements/`. With FILES it checks those runs, against all
the others: schema, name, model and card, provenance, physics, text, duplicates, and agreement with
the prediction. All problems are printed, one a line; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import agreement, run_rules
from bench.agreement import Agreement, Effect
from bench.run_rules import Findings
from calc import measurements, runs
from calc.card import Card
from calc.measurements import ROOT, DataError
from calc.problem import Problem
from calc.profile import ModelProfile
from calc.runs import Measured, Run, Stored
from calc.schema import Report
from calc.words import Message

MAX_RUN_BYTES = 400_000
"""A run of 500 rows, the largest a preset makes, has about 300 kB."""
SAME_FIGURES = 1e-3
"""Rows whose figures all agree to 0.1 % are the same measurement: real repeats scatter more."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One run file after its checks; run is None where it could not be read."""

    label: str
    run: Run | None
    findings: Findings
    rows: tuple[Agreement, ...] = ()
    effects: tuple[Effect, ...] = ()

    @property
    def is_outside(self) -> bool:
        """Whether a row lies outside the band of its prediction."""
        return any(row.outside for row in self.rows)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `check`."""
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="default: everything")
    parser.add_argument("--summary", type=Path, help="append the table as Markdown to this file")
    parser.add_argument("--quiet", action="store_true", help="print problems only")


def main(args: argparse.Namespace) -> int:
    """Check, print, and say whether all is well."""
    lines = [] if args.files else measurements.problems()
    if lines:
        return _finish(lines, [], 0)
    files = args.files or list(measurements.run_paths())
    context = Context.load(with_effects=bool(args.files))
    checked = [check_file(path, context) for path in files]
    if args.files:
        _show(summary(checked), args)
    found = [one.findings for one in checked]
    return _finish(
        [line for one in found for line in one.problems],
        [line for one in found for line in one.warnings],
        len(files),
    )


def _show(table: str, args: argparse.Namespace) -> None:
    if args.summary and table:
        with args.summary.open("a", encoding="utf-8") as file:
            file.write(table + "\n")
    if table and not args.quiet:
        print(table)


def _finish(problems: Sequence[str], warnings: Sequence[str], count: int) -> int:
    for line in warnings:
        print(f"warning: {printable(line)}")
    for line in problems:
        print(printable(line), file=sys.stderr)
    state = f"{len(problems)} problems" if problems else "no problems"
    what = f"{count} run files" if count else "measurements"
    print(f"{what}: {state}, {len(warnings)} warnings")
    return 1 if problems else 0


def printable(line: str) -> str:
    """One line that cannot steer a terminal or a CI log, whatever a file holds.

    >>> printable("a\\n::error::b\\x1b[2J")
    'a?::error::b?[2J'
    """
    shown = "".join(sign if sign.isprintable() else "?" for sign in line)
    return shown if len(shown) <= 1000 else shown[:997] + "..."


@dataclass(frozen=True, slots=True)
class Context:
    """What a run is checked against."""

    cards: Mapping[str, Card]
    models: tuple[str, ...]
    stored: tuple[Stored, ...]
    by_point: Mapping[tuple[Any, ...], tuple[Measured, ...]]
    today: datetime.date
    root: Path = ROOT
    with_effects: bool = True

    @classmethod
    def load(cls, root: Path = ROOT, with_effects: bool = True) -> Context:
        """The measurements of this folder; DataError names all that is wrong with them."""
        stored = _readable_runs(root)
        return cls(
            measurements.load_cards(root),
            measurements.model_ids(root),
            stored,
            _by_point(stored),
            datetime.datetime.now(datetime.UTC).date(),
            root,
            with_effects,
        )

    def profile(self, model: str) -> ModelProfile | None:
        """The traced profile of a model; DataError if its file is broken."""
        return measurements.load_profile(model, self.root) if model in self.models else None


def _readable_runs(root: Path) -> tuple[Stored, ...]:
    """The runs to compare with; a broken one is reported when it is checked itself."""
    try:
        return measurements.load_runs(root)
    except DataError:
        return tuple(_each_readable(root))


def _each_readable(root: Path) -> Iterator[Stored]:
    for path in measurements.run_paths(root):
        try:
            name = path.relative_to(root / "runs").as_posix()
            yield Stored(name, measurements.read(Run, path))
        except DataError:
            continue


def _by_point(stored: Iterable[Stored]) -> Mapping[tuple[Any, ...], tuple[Measured, ...]]:
    found: dict[tuple[Any, ...], list[Measured]] = {}
    for entry in stored:
        for row in entry.run.rows:
            one = Measured(entry.file, entry.run, row)
            found.setdefault(one.key, []).append(one)
    return {key: tuple(group) for key, group in found.items()}


def check_file(path: Path, context: Context) -> Checked:
    """Everything about one run file."""
    label = _label(path, context.root)
    findings = Findings([], [])
    try:
        if path.stat().st_size > MAX_RUN_BYTES:
            size = {"n": path.stat().st_size, "most": MAX_RUN_BYTES}
            raise DataError([Problem(label, "", Message("problem_too_large", size))])
        tree = measurements.read_tree(path, label)
        run = measurements.record_of(Run, tree, label)
    except DataError as error:
        return Checked(label, None, Findings(list(error.problems), []))
    except OSError as error:
        what = Message("problem_unreadable_file", {"reason": error.strerror})
        return Checked(label, None, Findings([Problem(label, "", what)], []))
    return check_run(path, tree, run, context, findings)


def _label(path: Path, root: Path) -> str:
    try:
        return measurements.label_of(path.resolve(), root)
    except ValueError:
        return path.name


def check_run(path: Path, tree: Any, run: Run, context: Context, findings: Findings) -> Checked:
    """A readable run: every rule, then agreement and effect."""
    label = _label(path, context.root)
    report, warn = findings.reporter(label), findings.reporter(label, warning=True)
    place = path.resolve()
    _check_name(place, tree, context, report)
    run_rules.check_text(tree, report)
    run_rules.check_provenance(run, context.today, report, warn)
    if run.environment.device == "cpu":
        return Checked(label, run, findings)
    card = _known_card(run, context, report)
    profile = context.profile(run.model)
    if card is not None:
        run_rules.check_card(run, card, report, warn)
    run_rules.check_rows(run, card, profile, report, warn)
    own = _place_in_runs(place, context) or label
    _check_duplicates(run, own, context, report)
    rows = tuple(agreement.compare(Measured(label, run, row), card, profile) for row in run.rows)
    _check_band(run, rows, report, warn)
    return Checked(label, run, findings, rows, _effects(rows, own, context, card, run))


def _known_card(run: Run, context: Context, report: Report) -> Card | None:
    """The run's card, if it and the model are known; reports what is not."""
    card = context.cards.get(run.card)
    if run.model not in context.models:
        known = context.models or Message("problem_none_yet")
        report("model", Message("problem_model", {"model": run.model, "allowed": known}))
    if card is None:
        report("card", Message("problem_card", {"card": run.card}))
    return card


def _place_in_runs(place: Path, context: Context) -> str | None:
    """`<card>/<name>.yaml` of a file under `measurements/runs`, None for one elsewhere."""
    folder = context.root.resolve() / "runs"
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else None


def _check_name(place: Path, tree: Any, context: Context, report: Report) -> None:
    wanted = runs.file_name(tree)
    inside = _place_in_runs(place, context)
    right = place.name == Path(wanted).name if inside is None else inside == wanted
    if not right:
        report("", Message("problem_name", {"wanted": wanted}))


def _check_band(run: Run, rows: Iterable[Agreement], report: Report, warn: Report) -> None:
    outside = [row for row in rows if row.outside]
    if outside and run.review == "none":
        what = {"n": len(outside), "point": describe(outside[0].measured)}
        report("review", Message("problem_band", what))
    if run.review == "pending" and not outside:
        warn("review", Message("problem_needless_pending"))


def _check_duplicates(run: Run, own: str, context: Context, report: Report) -> None:
    """The same measurement twice is refused; another measurement of the same point is welcome."""
    for index, row in enumerate(run.rows):
        one = Measured(own, run, row)
        others = (other for other in context.by_point.get(one.key, ()) if other.file != own)
        copied = next((other for other in others if _is_copy(one, other)), None)
        if copied is not None:
            report(f"rows[{index}]", Message("problem_copied", {"file": copied.file}))


def _is_copy(one: Measured, other: Measured) -> bool:
    """The same person on the same set-up and day, or anybody with the very same figures."""
    here, there = one.run.environment, other.run.environment
    versions = ("torch", "cuda", "cudnn", "driver", "power_limit_w", "allocator", "libraries")
    same_setup = all(getattr(here, name) == getattr(there, name) for name in versions)
    if same_setup and (one.run.who, one.run.date) == (other.run.who, other.run.date):
        return True
    pairs = ((one.allocated_gib, other.allocated_gib), (one.step_s, other.step_s))
    known = [(a, b) for a, b in pairs if a and b]
    return (
        len(known) == 2
        and all(abs(a - b) <= SAME_FIGURES * b for a, b in known)
        and (one.row.time == other.row.time)
    )


def _effects(
    rows: Sequence[Agreement], own: str, context: Context, card: Card | None, run: Run
) -> tuple[Effect, ...]:
    """What each row changes, against all other runs; () where the whole folder is checked."""
    if card is None or not context.with_effects:
        return ()
    book = runs.book([entry for entry in context.stored if entry.file != own])
    profile = context.profile(run.model)
    return tuple(agreement.effect(row, book, card, profile) for row in rows)


# --- The table ------------------------------------------------------------------------------------


def summary(checked: Iterable[Checked]) -> str:
    """Markdown: every row beside its prediction, and what it changes in the app."""
    lines: list[str] = []
    for one in checked:
        if one.rows and one.run is not None:
            card = re.sub(r"[^\w .()-]", "?", one.run.card)  # unknown cards may be called anything
            lines += ["", f"### {one.run.model} {one.run.precision} on {card}", ""]
            lines += _table(one)
    return "\n".join(lines).strip()


def _table(one: Checked) -> list[str]:
    head = "| point | status | GiB | formula | ratio | step ms | formula | ratio | changes |"
    lines = [head, "|---|---|--:|--:|--:|--:|--:|--:|---|"]
    effects = one.effects or (None,) * len(one.rows)
    for row, effect in zip(one.rows, effects, strict=True):
        cells = (
            describe(row.measured),
            row.measured.row.status + (" outside the band" if row.outside else ""),
            _figure(row.measured.allocated_gib),
            _figure(row.formula_gib.mid if row.formula_gib else None),
            _figure(row.memory_ratio),
            _figure(row.measured.step_s and 1000 * row.measured.step_s, 0),
            _figure(1000 * row.formula_s.mid if row.formula_s else None, 0),
            _figure(row.time_ratio),
            _changes(effect, one.run),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def describe(one: Measured) -> str:
    """A point in a few words.

    >>> from calc.runs import Row
    >>> row = Row(32, 224, 8, "block", "eager", "adamw", "ok")
    >>> describe(Measured("", None, row))
    '32x224 batch 8 block adamw'
    """
    row = one.row
    usual = {"checkpointing": "none", "trainable": "full", "mode": "train", "data": "synthetic"}
    words = [f"{row.frames}x{row.size} batch {row.batch}"]
    words += [str(getattr(row, key)) for key, value in usual.items() if getattr(row, key) != value]
    words.append(row.optimizer)
    words += [f"{row.gpus} GPUs {row.sharding}"] if row.gpus > 1 else []
    words += [f"under {row.memory_limit_gib:g} GiB"] if row.memory_limit_gib else []
    return " ".join(words)


def _figure(value: float | None, digits: int = 2) -> str:
    return "not known" if value is None else f"{value:.{digits}f}"


def _changes(effect: Effect | None, run: Run | None) -> str:
    if effect is None or run is None or (effect.gib is None and effect.step_s is None):
        return "no"
    if run.review == "pending":
        return "not yet (review: pending)"
    words = []
    if effect.gib:
        words.append(f"{effect.gib[0]:.2f} to {effect.gib[1]:.2f} GiB")
    if effect.step_s:
        words.append(f"{1000 * effect.step_s[0]:.0f} to {1000 * effect.step_s[1]:.0f} ms")
    return ", ".join(words)
