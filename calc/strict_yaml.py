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

MAX_BYTES = 1_000_000
"""No file of ClipFit comes near; a run of 100 rows has about 60 kB."""
MAX_DEPTH = 12
"""The deepest file there is, a run, has 5 levels."""

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, Any] = {"null": None, "~": None, "": None, "true": True, "false": False}
_NUMERIC_START = frozenset("-+.0123456789")


class YamlError(ValueError):
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
        raise YamlError(f"has {len(text)} characters; allowed are {MAX_BYTES}")
    try:
        return _build(yaml.parse(text, Loader=_PARSER))
    except yaml.YAMLError as error:
        raise YamlError(_sentence(error)) from None
    except UnicodeError:
        raise YamlError("has characters that UTF-8 does not allow; save it as UTF-8") from None


def _sentence(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}: " if mark else ""
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
    return f"{where}is not YAML: {' '.join(str(what).split())[:200]}"


def _build(events: Iterator[Any]) -> Any:
    """The one document of an event stream, without recursion."""
    root: list[Any] = []
    stack: list[Any] = [root]  # open containers; for a mapping also its waiting key
    keys: list[Any] = [None]
    for event in events:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            _refuse_marks(event)
            _put(stack, keys, _scalar(event), event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            _refuse_marks(event)
            _open(stack, keys, {} if kind is yaml.MappingStartEvent else [], event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            stack.pop()
            keys.pop()
        elif kind is yaml.AliasEvent:
            raise _error(event, "anchors and aliases (&, *) are not allowed; write the value out")
        elif kind is yaml.DocumentStartEvent and root:
            raise _error(event, "a second document begins; a file holds one")
    return root[0] if root else None


_NO_KEY = object()


def _open(stack: list[Any], keys: list[Any], container: Any, event: Any) -> None:
    if len(stack) > MAX_DEPTH:
        raise _error(event, f"is nested deeper than {MAX_DEPTH} levels")
    if keys[-1] is _NO_KEY:
        raise _error(event, "a key is a list or a mapping; keys are words")
    _put(stack, keys, container, event)
    stack.append(container)
    keys.append(_NO_KEY if type(container) is dict else None)


def _put(stack: list[Any], keys: list[Any], value: Any, event: Any) -> None:
    """Add a value to the innermost open container; in a mapping every other one is a key."""
    container, key = stack[-1], keys[-1]
    if type(container) is list:
        container.append(value)
    elif key is _NO_KEY:
        keys[-1] = _checked_key(container, event)
    else:
        container[key] = value
        keys[-1] = _NO_KEY


def _checked_key(container: dict[str, Any], event: Any) -> str:
    key: str = event.value
    if key == "<<":
        raise _error(event, "merge keys (<<) are not allowed; write the values out")
    if key in container:
        raise _error(event, f"key {key[:60]!r} stands twice")
    return key


def _refuse_marks(event: Any) -> None:
    if event.anchor is not None:
        raise _error(event, "anchors and aliases (&, *) are not allowed; write the value out")
    if event.tag is not None:
        raise _error(event, "tags (!) are not allowed; write plain values")


def _error(event: Any, what: str) -> YamlError:
    return YamlError(f"line {event.start_mark.line + 1}: {what}")


def _scalar(event: Any) -> Any:
    """The value of a scalar: quoted ones are text, plain ones null, bool, number or text."""
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
