"""YAML as ClipFit reads it: a plain tree of JSON's kinds of values, and nothing else.

No aliases, anchors, tags, merge keys, duplicate keys or second documents. Nothing is guessed: `no`
and `2026-12-01` are text, `1:30` is text, `010` is text. Built from parser events with a stack of
its own, so that neither deep nesting nor an alias bomb can cost more than reading the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from calc.words import Message, Refused

MAX_BYTES = 1_000_000
"""No file of ClipFit comes near; a run of 100 rows has about 60 kB."""
MAX_DEPTH = 12
"""The deepest file there is, a run, has 5 levels."""

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(
    r"([-+]?(?:0|[1-9][0-9]{0,17}))"
    r"|[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?"
).fullmatch
_WORDS: dict[str, Any] = {"null": None, "~": None, "": None, "true": True, "false": False}
_NUMERIC_START = frozenset("-+.0123456789")


class YamlError(Refused):
    """What is wrong with a text, with its line, in one sentence."""


def parse(text: str) -> Any:
    """The tree in a YAML text: dict, list, str, int, float, bool or None.

    >>> parse("a: [1, 2.5, no, 2026-12-01]")
    {'a': [1, 2.5, 'no', '2026-12-01']}
    >>> parse("{a: 1, a: 2}")
    Traceback (most recent call last):
        ...
    calc.strict_yaml.YamlError: line 1: key 'a' stands twice
    """
    if len(text) > MAX_BYTES:
        length = {"n": len(text), "most": MAX_BYTES}
        raise YamlError(Message("problem_characters", length))
    try:
        return _build(yaml.parse(text, Loader=_PARSER))
    except yaml.YAMLError as error:
        raise YamlError(_sentence(error)) from None
    except UnicodeError:
        raise YamlError(Message("problem_not_utf8")) from None


def _sentence(error: yaml.YAMLError) -> Message:
    """What PyYAML says, in its English, with the line it names."""
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or getattr(error, "reason", None)
    reason = " ".join(str(said).split())[:200] if said else Message("problem_unreadable")
    what = Message("problem_yaml", {"reason": reason})
    return _at(mark.line, what) if mark else what


def _build(events: Iterator[Any]) -> Any:
    """The one document of an event stream, without recursion.

    Written out in one loop, and with plain locals, because it runs for every word of every file.
    """
    container: Any = []  # the innermost open container; at first a list for the document itself
    key: str | None = None  # the waiting key, if the container is a mapping
    outer: list[tuple[Any, str | None]] = []
    root = container
    for event in events:
        kind = type(event)
        if kind is ScalarEvent:
            if event.anchor is not None or event.tag is not None:
                raise _mark(event)
            if type(container) is list:
                container.append(_scalar(event.value) if event.implicit[0] else event.value)
            elif key is None:
                key = _checked_key(container, event)
            else:
                container[key] = _scalar(event.value) if event.implicit[0] else event.value
                key = None
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            inner = _opened(kind, container, key, outer, event)
            outer.append((container, None))
            container, key = inner, None
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            container, key = outer.pop()
        elif kind is AliasEvent:
            raise _mark(event)
        elif kind is DocumentStartEvent and root:
            raise _error(event, Message("problem_documents"))
    return root[0] if root else None


def _opened(kind: type, container: Any, key: str | None, outer: list[Any], event: Any) -> Any:
    """A new container, put into the one around it."""
    if len(outer) >= MAX_DEPTH:
        raise _error(event, Message("problem_deep", {"most": MAX_DEPTH}))
    if event.anchor is not None or event.tag is not None:
        raise _mark(event)
    inner: Any = {} if kind is MappingStartEvent else []
    if type(container) is list:
        container.append(inner)
    elif key is None:
        raise _error(event, Message("problem_key_kind"))
    else:
        container[key] = inner
    return inner


def _checked_key(container: dict[str, Any], event: Any) -> str:
    key: str = event.value
    if key in container:
        raise _error(event, Message("problem_key_twice", {"key": key[:60]}))
    if key == "<<":
        raise _error(event, Message("problem_merge_key"))
    return key


def _mark(event: Any) -> YamlError:
    """The error for an anchor, an alias or a tag."""
    if event.anchor is not None:
        return _error(event, Message("problem_anchor"))
    return _error(event, Message("problem_tag"))


def _error(event: Any, what: Message) -> YamlError:
    return YamlError(_at(event.start_mark.line, what))


def _at(line: int, what: Message) -> Message:
    return Message("problem_line", {"line": line + 1, "what": what})


def _scalar(text: str) -> Any:
    """The value of a plain scalar: null, true, false, a number, or else text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    number = _NUMBER(text)
    if number is None:
        return text
    return float(text) if number[1] is None else int(text)
