"""The one module of calc that reads files: everything in `measurements/`, strictly, once.

A broken file is never skipped: `DataError` names all problems of all files that were read, one a
line, as `file: path.to.field: what is wrong, what is allowed`.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from calc import strict_yaml
from calc.card import Card, Price, Purchase, Rate, Sourced
from calc.problem import Problem, reporter
from calc.profile import (
    AllocatorRatio,
    Line,
    ModelProfile,
    Point,
    Setting,
    Timeline,
    Trainable,
    Work,
)
from calc.runs import Run, RunBook, Stored, book
from calc.schema import Pattern, Report, build
from calc.words import Message

ROOT = Path(__file__).resolve().parent.parent / "measurements"
VERSION_DIGITS = 8

T = TypeVar("T")
Https = Annotated[str, Pattern(r"https://[^\s<>\"]+", Message("problem_https"))]


class DataError(ValueError):
    """Every problem found, one a line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Source:
    """A source that figures of a file refer to by its key."""

    title: str
    url: Https
    licence: str = ""


@dataclass(frozen=True, slots=True)
class CardFile:
    """`measurements/cards.yaml`."""

    schema: Literal[1]
    sources: Mapping[str, Source]
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class PriceFile:
    """`measurements/prices.yaml`."""

    schema: Literal[1]
    sources: Mapping[str, Source]
    prices: tuple[Price, ...]


@dataclass(frozen=True, slots=True)
class ProfilePoint:
    """One traced setting, as it stands in a profile file."""

    at: Setting
    step: tuple[Line, ...]
    accumulate: tuple[Line, ...]
    work: Mapping[str, Work]


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """`measurements/models/<model>.yaml`; `ModelProfile` says what the fields mean."""

    schema: Literal[1]
    model: str
    title: str
    family: str
    source: str
    attention: tuple[str, ...]
    params: int
    trainable: Mapping[str, Trainable]
    weights_mib: Mapping[str, float]
    gradients_mib: Mapping[str, Mapping[str, float]]
    traced: Mapping[str, str]
    points: tuple[ProfilePoint, ...]
    allocator: tuple[AllocatorRatio, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AcceptedRun:
    """A run that a maintainer has looked into although it lies outside the band."""

    file: str
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class ReviewFile:
    """`measurements/reviewed.yaml`."""

    schema: Literal[1]
    accepted: tuple[AcceptedRun, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Everything but the model profiles, which are read one by one; see `load`.

    Compared by identity, so that what is computed from it can be kept under it.
    """

    cards: Mapping[str, Card]
    prices: Mapping[str, Price]
    runs: RunBook
    models: tuple[str, ...]
    version: str

    def profile(self, model: str) -> ModelProfile:
        """The traced profile of one of `models`."""
        return load_profile(model)


# --- One file ---------------------------------------------------------------------------------


def read_tree(path: Path, label: str = "") -> Any:
    """The plain tree in a file; DataError if it is not a YAML file as ClipFit writes them."""
    label = label or path.name
    try:
        with path.open("rb") as file:
            return tree_of(file.read(strict_yaml.MAX_BYTES + 1), label)
    except OSError as error:
        what = Message("problem_unreadable_file", {"reason": error.strerror})
        raise DataError([Problem(label, "", what)]) from None


def tree_of(content: bytes, label: str) -> Any:
    """The plain tree in the bytes of a file, one that somebody uploads for instance."""
    if len(content) > strict_yaml.MAX_BYTES:
        what = Message("problem_too_long", {"most": strict_yaml.MAX_BYTES})
        raise DataError([Problem(label, "", what)])
    try:
        return strict_yaml.parse(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise DataError([Problem(label, "", Message("problem_not_text"))]) from None
    except strict_yaml.YamlError as error:
        raise DataError([Problem(label, "", error.message)]) from None


Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: dict[tuple[type, int], Migration] = {}
"""From an old format to the next: (record type, its old `schema:`) -> function on the plain tree.
A format that old files do not satisfy gets a new number and an entry here; old files stay valid."""


def migrated(kind: type, tree: Any) -> Any:
    """A tree in today's format; one that needs no migration is returned as it is."""
    while isinstance(tree, dict):
        number = tree.get("schema")
        step = MIGRATIONS.get((kind, number)) if type(number) is int else None
        if step is None:
            break
        tree = step(tree)
    return tree


def record_of(kind: type[T], tree: Any, label: str) -> T:
    """The record in a tree, brought to today's format first; DataError with all its problems."""
    tree = migrated(kind, tree)
    problems: list[Problem] = []
    built = build(kind, tree, reporter(label, problems))
    if built is None:
        raise DataError(problems)
    return built


def read(kind: type[T], path: Path, label: str = "") -> T:
    """The record in a file; DataError with all its problems."""
    label = label or path.name
    return record_of(kind, read_tree(path, label), label)


def label_of(path: Path, root: Path = ROOT) -> str:
    """How a file is called in messages, e.g. "measurements/cards.yaml"."""
    return f"{root.name}/{path.relative_to(root).as_posix()}"


def _read(kind: type[T], path: Path, root: Path) -> T:
    return read(kind, path, label_of(path, root))


# --- Cards and prices -------------------------------------------------------------------------


@cache
def load_cards(root: Path = ROOT) -> Mapping[str, Card]:
    """Cards by name, in the order of the file; sources are addresses."""
    path = root / "cards.yaml"
    file = _read(CardFile, path, root)
    problems: list[Problem] = []
    report = reporter(label_of(path, root), problems)
    cards = [
        _with_addresses(card, file.sources, f"cards[{index}]", report)
        for index, card in enumerate(file.cards)
    ]
    found = _by_name(cards, "name", report)
    if problems:
        raise DataError(problems)
    return found


@cache
def load_prices(root: Path = ROOT) -> Mapping[str, Price]:
    """Prices by card name; sources are addresses."""
    path = root / "prices.yaml"
    file = _read(PriceFile, path, root)
    problems: list[Problem] = []
    report = reporter(label_of(path, root), problems)
    prices = [
        _with_addresses(price, file.sources, f"prices[{index}]", report)
        for index, price in enumerate(file.prices)
    ]
    known = load_cards(root)
    for price in prices:
        if price.card not in known:
            report("", Message("problem_price_card", {"card": price.card}))
    found = _by_name(prices, "card", report)
    if problems:
        raise DataError(problems)
    return found


def _by_name(records: list[T], key: str, report: Report) -> Mapping[str, T]:
    found: dict[str, T] = {}
    for record in records:
        name = getattr(record, key)
        if name in found:
            report("", Message("problem_twice", {"name": name}))
        found[name] = record
    return found


def _with_addresses(record: T, sources: Mapping[str, Source], where: str, report: Report) -> T:
    """The record with the addresses of its sources in place of their keys."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if isinstance(value, (Sourced, Purchase)) and value.source:
            changes[field.name] = dataclasses.replace(
                value, source=_address(value.source, sources, f"{where}.{field.name}", report)
            )
        elif field.name == "source":
            changes["source"] = _address(value, sources, f"{where}.source", report)
        elif isinstance(value, Rate):
            addresses = [
                _address(key, sources, f"{where}.{field.name}", report) for key in value.sources
            ]
            changes[field.name] = dataclasses.replace(value, sources=tuple(addresses))
        elif isinstance(value, tuple):
            changes[field.name] = tuple(
                _with_source(item, sources, f"{where}.{field.name}", report) for item in value
            )
    return dataclasses.replace(record, **changes)  # type: ignore[type-var]


def _with_source(item: Any, sources: Mapping[str, Source], where: str, report: Report) -> Any:
    if not isinstance(item, Purchase):
        return item
    return dataclasses.replace(item, source=_address(item.source, sources, where, report))


def _address(key: str, sources: Mapping[str, Source], where: str, report: Report) -> str:
    if key in sources:
        return sources[key].url
    report(where, Message("problem_source", {"key": key}))
    return key


# --- Models -----------------------------------------------------------------------------------


@cache
def model_ids(root: Path = ROOT) -> tuple[str, ...]:
    """Ids of the traced models: the file names, sorted. Nothing is read."""
    return tuple(sorted(path.stem for path in (root / "models").glob("*.yaml")))


@cache
def load_profile(model: str, root: Path = ROOT) -> ModelProfile:
    """The traced profile of a model; only its file is read."""
    if model not in model_ids(root):
        known = model_ids(root) or Message("problem_none_yet")
        unknown = Message("problem_no_profile", {"model": model, "allowed": known})
        raise DataError([Problem("", "", unknown)])
    path = root / "models" / f"{model}.yaml"
    file = _read(ProfileFile, path, root)
    if file.model != model:
        what = Message("problem_profile_name", {"model": file.model, "stem": model})
        raise DataError([Problem(label_of(path, root), "model", what)])
    return _profile(file)


def _profile(file: ProfileFile) -> ModelProfile:
    points = {entry.at: Point(entry.step, entry.accumulate, entry.work) for entry in file.points}
    names = [field.name for field in dataclasses.fields(ModelProfile) if field.name != "points"]
    return ModelProfile(points=points, **{name: getattr(file, name) for name in names})


# --- Runs and published figures -----------------------------------------------------------------


@cache
def load_runs(root: Path = ROOT) -> tuple[Stored, ...]:
    """Every measured run, with its review state; all problems of all files at once."""
    accepted = _accepted(root)
    stored: list[Stored] = []
    problems: list[Problem] = []
    with _without_collection():
        for path in run_paths(root):
            try:
                run = _read(Run, path, root)
            except DataError as error:
                problems += error.problems
                continue
            name = path.relative_to(root / "runs").as_posix()
            stored.append(Stored(name, run, name in accepted))
    if problems:
        raise DataError(problems)
    return tuple(stored)


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection meanwhile: a million new objects, and all of them are kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def load_book(root: Path = ROOT) -> RunBook:
    """Every measured row with its state, and an index of those that may be used."""
    return book(load_runs(root))


def run_paths(root: Path = ROOT) -> Iterator[Path]:
    """Files of measured runs, in a fixed order."""
    return iter(sorted((root / "runs").rglob("*.yaml")))


def _accepted(root: Path) -> frozenset[str]:
    path = root / "reviewed.yaml"
    if not path.exists():
        return frozenset()
    return frozenset(entry.file for entry in _read(ReviewFile, path, root).accepted)


def load_published(name: str, root: Path = ROOT) -> Any:
    """The plain tree of `measurements/published/<name>.yaml`."""
    path = root / "published" / f"{name}.yaml"
    return read_tree(path, label_of(path, root))


# --- All of it ----------------------------------------------------------------------------------


@cache
def data_version(root: Path = ROOT) -> str:
    """Eight hex digits of everything in `measurements/`; computed, never committed."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.yaml")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:VERSION_DIGITS]


def load(root: Path = ROOT) -> Data:
    """Cards, prices, runs, the list of models and the version; profiles are read when asked for."""
    return Data(
        cards=load_cards(root),
        prices=load_prices(root),
        runs=load_book(root),
        models=model_ids(root),
        version=data_version(root),
    )


def problems(root: Path = ROOT) -> list[Problem]:
    """What is wrong anywhere in `measurements/`; empty if nothing is."""
    found: list[Problem] = []
    readers: list[Callable[[], object]] = [
        lambda: load_cards(root), lambda: load_prices(root), lambda: load_runs(root),
        *(lambda model=model: load_profile(model, root) for model in model_ids(root)),
        *(
            lambda path=path: read_tree(path, label_of(path, root))
            for path in sorted((root / "published").glob("*.yaml"))
        ),
    ]  # fmt: skip
    for reader in readers:
        try:
            reader()
        except DataError as error:
            found += error.problems
    return found
