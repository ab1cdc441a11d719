"""From a plain tree to frozen dataclasses, strictly: the dataclass is the schema.

Every problem is collected, none stops the reading. The same plan that builds a dataclass also
writes its JSON Schema, for editors. A dataclass in `ROWS` is written as a list, in field order.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from calc.card import Sourced
from calc.profile import Line, Setting, Work
from calc.words import Message

T = TypeVar("T")
Report = Callable[[str, Message], None]
"""Called with the path of a field and what is wrong with it."""

ROWS: tuple[type, ...] = (Line, Setting, Work)
MAX_TEXT = 2000
"""Longest text; a command with a long list of models is about 300 characters."""
WRONG = object()
"""Stands for a value that could not be built; its problem has been reported."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a number, both allowed."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """Form of a text, and the same in words."""

    regex: str
    words: Message | str = dataclasses.field(hash=False)  # a Message cannot be hashed


@dataclass(frozen=True, slots=True)
class Size:
    """Limits of a list's length, both allowed."""

    low: int
    high: int


class Plan:
    """How to build one type: `build(value, path, report)` and `json_schema()`."""

    words: Message | str = Message("problem_anything")

    def build(self, value: Any, path: str, report: Report) -> Any:
        """The built value, or WRONG after a report."""
        return value

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema, draft 2020-12, of what `build` accepts."""
        return {}

    def refuse(self, value: Any, path: str, report: Report) -> Any:
        """Report a value of the wrong kind."""
        what = {"value": shown(value), "allowed": self.words}
        report(path, Message("problem_kind", what))
        return WRONG


def shown(value: Any) -> Message | str:
    """A value in a message, never longer than a line.

    >>> [str(shown(value))[:12] for value in ({"a": 1}, "x" * 99, None)]
    ['a mapping', "'xxxxxxxxxxx", 'null']
    """
    if value is None:
        return "null"
    if isinstance(value, (dict, list)):
        return Message("problem_mapping" if isinstance(value, dict) else "problem_list")
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Text(Plan):
    """A text on one line, or several for free text; with a Pattern, of that form."""

    def __init__(self, pattern: Pattern | None = None) -> None:
        self.pattern = pattern
        self.match = re.compile(pattern.regex).fullmatch if pattern else None
        self.words = pattern.words if pattern else Message("problem_text")

    def build(self, value: Any, path: str, report: Report) -> Any:
        if type(value) is not str:
            return self.refuse(value, path, report)
        if len(value) > MAX_TEXT:
            report(path, Message("problem_characters", {"n": len(value), "most": MAX_TEXT}))
            return WRONG
        if self.match and not self.match(value):
            return self.refuse(value, path, report)
        return value

    def json_schema(self) -> dict[str, Any]:
        if not self.pattern:
            return {"type": "string", "maxLength": MAX_TEXT}
        return {
            "type": "string",
            "pattern": f"^(?:{self.pattern.regex})$",
            "description": str(self.pattern.words),
        }


class Number(Plan):
    """A finite number, whole if asked for, within Bounds."""

    def __init__(self, whole: bool, bounds: Bounds | None = None) -> None:
        self.whole = whole
        self.bounds = bounds
        self.low = -math.inf if bounds is None else bounds.low
        self.high = math.inf if bounds is None else bounds.high
        self.words = Message("problem_whole" if whole else "problem_number")
        if bounds:
            limits = {"kind": self.words, "low": bounds.low, "high": bounds.high}
            self.words = Message("problem_within", limits)

    def build(self, value: Any, path: str, report: Report) -> Any:
        kind = type(value)
        if kind is not int and (self.whole or kind is not float):
            return self.refuse(value, path, report)
        if not (self.low <= value <= self.high and math.isfinite(value)):
            return self.refuse(value, path, report)
        return value if self.whole else float(value)

    def json_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "integer" if self.whole else "number"}
        if self.bounds:
            schema |= {"minimum": self.bounds.low, "maximum": self.bounds.high}
        return schema


class Flag(Plan):
    """true or false."""

    words = Message("problem_flag")

    def build(self, value: Any, path: str, report: Report) -> Any:
        return value if type(value) is bool else self.refuse(value, path, report)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Choice(Plan):
    """One of a few values."""

    def __init__(self, options: tuple[Any, ...]) -> None:
        self.options = options
        self.words = str(options[0])
        for option in options[1:]:
            self.words = Message("problem_or", {"one": self.words, "other": str(option)})

    def build(self, value: Any, path: str, report: Report) -> Any:
        known = isinstance(value, (str, int)) and any(
            value == option and type(value) is type(option) for option in self.options
        )
        return value if known else self.refuse(value, path, report)

    def json_schema(self) -> dict[str, Any]:
        return {"enum": list(self.options)}


class Optional(Plan):
    """null, or the inner kind."""

    def __init__(self, inner: Plan) -> None:
        self.inner = inner
        self.words = Message("problem_or_null", {"allowed": inner.words})

    def build(self, value: Any, path: str, report: Report) -> Any:
        return None if value is None else self.inner.build(value, path, report)

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [self.inner.json_schema(), {"type": "null"}]}


class List(Plan):
    """A list of one kind, as a tuple."""

    def __init__(self, inner: Plan, size: Size | None = None) -> None:
        self.inner = inner
        self.size = size or Size(0, 100_000)
        self.words = Message("problem_list_of", {"allowed": inner.words})

    def build(self, value: Any, path: str, report: Report) -> Any:
        if type(value) is not list:
            return self.refuse(value, path, report)
        if not self.size.low <= len(value) <= self.size.high:
            what = {"n": len(value), "low": self.size.low, "high": self.size.high}
            report(path, Message("problem_entries", what))
            return WRONG
        build = self.inner.build
        built = [build(entry, f"{path}[{index}]", report) for index, entry in enumerate(value)]
        return WRONG if WRONG in built else tuple(built)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.inner.json_schema()}


class Table(Plan):
    """A mapping from words to one kind."""

    words = Message("problem_mapping")

    def __init__(self, inner: Plan) -> None:
        self.inner = inner

    def build(self, value: Any, path: str, report: Report) -> Any:
        if type(value) is not dict:
            return self.refuse(value, path, report)
        build = self.inner.build
        built = {key: build(entry, f"{path}.{key}", report) for key, entry in value.items()}
        return WRONG if any(entry is WRONG for entry in built.values()) else built

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.inner.json_schema()}


class Row(Plan):
    """A fixed sequence of kinds: a dataclass written as a list, or a tuple of fixed length."""

    def __init__(
        self, make: Callable[..., Any], names: tuple[Message | str, ...], plans: list[Plan]
    ) -> None:
        self.make, self.plans = make, plans
        self.words = Message("problem_row", {"names": names})

    def build(self, value: Any, path: str, report: Report) -> Any:
        if type(value) is not list or len(value) != len(self.plans):
            return self.refuse(value, path, report)
        built = [
            plan.build(entry, f"{path}[{index}]", report)
            for index, (plan, entry) in enumerate(zip(self.plans, value, strict=True))
        ]
        return WRONG if WRONG in built else self.make(*built)

    def json_schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "prefixItems": [plan.json_schema() for plan in self.plans],
            "minItems": len(self.plans),
            "maxItems": len(self.plans),
        }


class Record(Plan):
    """A mapping with the fields of a dataclass; fields with a default may be left out."""

    words = Message("problem_mapping")

    def __init__(self, make: type) -> None:
        self.make = make
        hints = typing.get_type_hints(make, include_extras=True)
        fields = dataclasses.fields(make)
        self.plans = {field.name: plan(hints[field.name]) for field in fields}
        self.required = [field.name for field in fields if _has_no_default(field)]

    def build(self, value: Any, path: str, report: Report) -> Any:
        if type(value) is not dict:
            return self.refuse(value, path, report)
        dot = f"{path}." if path else ""
        missing = [name for name in self.required if name not in value]
        for name in missing:
            allowed = {"allowed": self.plans[name].words}
            report(f"{dot}{name}", Message("problem_missing", allowed))
        built: dict[str, Any] = {}
        for key, entry in value.items():
            inner = self.plans.get(key)
            if inner is None:
                report(f"{dot}{key[:60]}", self._unknown(key))
            else:
                built[key] = inner.build(entry, dot + key, report)
        wrong = missing or len(built) < len(value) or WRONG in built.values()
        return WRONG if wrong else self._made(built, path, report)

    def _made(self, built: dict[str, Any], path: str, report: Report) -> Any:
        try:
            return self.make(**built)
        except ValueError as error:
            report(path, Message("problem_plain", {"text": str(error)}))
            return WRONG

    def _unknown(self, key: str) -> Message:
        near = difflib.get_close_matches(key, self.plans, 1)
        if near:
            return Message("problem_key_near", {"near": near[0]})
        return Message("problem_key", {"keys": tuple(self.plans)})

    def json_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "additionalProperties": False,
            "required": list(self.required),
            "properties": {name: inner.json_schema() for name, inner in self.plans.items()},
        }


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


class SourcedPlan(Plan):
    """A figure with its source; null stands for one that nobody published."""

    words = Message("problem_sourced")

    def __init__(self) -> None:
        self.record = Record(Sourced)

    def build(self, value: Any, path: str, report: Report) -> Any:
        if value is None:
            return Sourced(None)
        built = self.record.build(value, path, report)
        if built is WRONG or built.source or built.value is None:
            return built
        report(path, Message("problem_no_source"))
        return WRONG

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [self.record.json_schema(), {"type": "null"}]}


@cache
def plan(hint: Any) -> Plan:
    """The plan of a type hint."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if origin is Literal:
        return Choice(arguments)
    if origin is types.UnionType or origin is typing.Union:
        return Optional(plan(next(kind for kind in arguments if kind is not type(None))))
    if origin is tuple:
        return _tuple(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return Table(plan(arguments[1]))
    return _plain(hint)


def _annotated(kind: Any, limits: tuple[Any, ...]) -> Plan:
    """A kind with Bounds, a Pattern or a Size."""
    for limit in limits:
        if isinstance(limit, Bounds):
            return Number(kind is int, limit)
        if isinstance(limit, Pattern):
            return Text(limit)
        if isinstance(limit, Size):
            return List(plan(typing.get_args(kind)[0]), limit)
    return plan(kind)


def _tuple(arguments: tuple[Any, ...]) -> Plan:
    if arguments[-1] is Ellipsis:
        return List(plan(arguments[0]))
    names = tuple(plan(kind).words for kind in arguments)
    return Row(lambda *values: values, names, [plan(kind) for kind in arguments])


def _plain(hint: Any) -> Plan:
    if hint is Sourced:
        return SourcedPlan()
    if hint in ROWS:
        hints = typing.get_type_hints(hint, include_extras=True)
        names = tuple(field.name for field in dataclasses.fields(hint))
        return Row(hint, names, [plan(hints[name]) for name in names])
    if dataclasses.is_dataclass(hint):
        return Record(typing.cast(type, hint))
    plain = {str: Text(), bool: Flag(), int: Number(True), float: Number(False)}
    return plain.get(hint, Plan())


def build(kind: type[T], tree: Any, report: Report) -> T | None:
    """The record in a tree, or None after every problem has been reported.

    >>> build(Sourced, {"value": "12", "sorce": "a"}, lambda path, what: print(path, what))
    value is '12'; allowed is a number
    sorce is an unknown key; source may be meant
    """
    whole: Plan = Record(Sourced) if kind is Sourced else plan(typing.cast(Any, kind))
    built = whole.build(tree, "", report)
    return None if built is WRONG else typing.cast(T, built)


def json_schema(kind: type, title: str) -> dict[str, Any]:
    """JSON Schema of a file, for editors; checks that span fields are not in it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **plan(kind).json_schema(),
    }
