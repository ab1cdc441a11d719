"""Strict building of records, and the YAML below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import strict_yaml
from calc.card import Sourced
from calc.profile import Line
from calc.runs import Run
from calc.schema import Bounds, Pattern, Size, build, json_schema
from calc.strict_yaml import YamlError, parse
from tests import run_files


@dataclass(frozen=True, slots=True)
class Inner:
    """A nested record."""

    value_gib: Annotated[float, Bounds(0, 10)]
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True, slots=True)
class Outer:
    """One field of every kind."""

    name: Annotated[str, Pattern("[a-z]+", "small letters")]
    count: int
    is_on: bool
    inner: Inner
    maybe: float | None
    entries: Annotated[tuple[Inner, ...], Size(1, 2)]
    table: Mapping[str, float]
    line: Line
    three: tuple[float, float, float]
    free: str = ""

    def __post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("count is 13; allowed is any other")


GOOD: dict[str, Any] = {
    "name": "abc",
    "count": 2,
    "is_on": True,
    "inner": {"value_gib": 1},
    "maybe": None,
    "entries": [{"value_gib": 2.5, "kind": "b"}],
    "table": {"x": 1, "y": 2.0},
    "line": ["forward", 1, 2, 3, 4, 5.5],
    "three": [1, 2, 3],
}


def problems(tree: Any, kind: type = Outer) -> list[str]:
    found: list[str] = []
    built = build(kind, tree, lambda path, what: found.append(f"{path}: {what}"))
    assert (built is None) == bool(found)
    return found


def test_good_tree_becomes_the_record() -> None:
    built = build(Outer, GOOD, lambda path, what: pytest.fail(f"{path}: {what}"))
    assert built == Outer(
        "abc", 2, True, Inner(1.0), None, (Inner(2.5, "b"),), {"x": 1.0, "y": 2.0},
        Line("forward", 1.0, 2.0, 3.0, 4.0, 5.5), (1.0, 2.0, 3.0),
    )  # fmt: skip
    assert built is not None and isinstance(built.inner.value_gib, float)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "ABC"}, "name: is 'ABC'; allowed is small letters"),
        ({"name": 7}, "name: is 7; allowed is small letters"),
        ({"count": 2.0}, "count: is 2.0; allowed is a whole number"),
        ({"count": True}, "count: is true; allowed is a whole number"),
        ({"count": 13}, ": count is 13; allowed is any other"),
        ({"is_on": 1}, "is_on: is 1; allowed is true or false"),
        ({"is_on": "yes"}, "is_on: is 'yes'; allowed is true or false"),
        ({"inner": None}, "inner: is null; allowed is a mapping"),
        ({"inner": {}}, "inner.value_gib: is missing; allowed is a number from 0 to 10"),
        ({"inner": {"value_gib": 11}}, "inner.value_gib: is 11; allowed is a number from 0 to 10"),
        ({"inner": {"value_gib": 1, "kind": "c"}}, "inner.kind: is 'c'; allowed is a or b"),
        ({"maybe": "x"}, "maybe: is 'x'; allowed is a number"),
        ({"entries": []}, "entries: has 0 entries; allowed are 1 to 2"),
        ({"entries": [{}, 3]}, "entries[1]: is 3; allowed is a mapping"),
        ({"table": {"x": "1"}}, "table.x: is '1'; allowed is a number"),
        ({"line": [1, 2]}, "line: is a list; allowed is a list [phase, gradients_mib,"),
        ({"line": ["forward", 1, 2, 3, 4, None]}, "line[5]: is null; allowed is a number"),
        ({"three": [1, 2]}, "three: is a list; allowed is a list [a number,"),
        ({"free": "x" * 2001}, "free: has 2001 characters; allowed are 2000"),
        ({"freee": "x"}, "freee: is an unknown key; free may be meant"),
        ({"zzzzzz": 1}, "zzzzzz: is an unknown key; allowed are name, count,"),
    ],
)
def test_each_wrong_value_is_named(change: dict[str, Any], words: str) -> None:
    assert any(line.startswith(words) for line in problems({**GOOD, **change}))


def test_all_problems_come_at_once() -> None:
    found = problems({**GOOD, "name": 1, "inner": {"value_gib": "x"}, "more": 1})
    assert [line.partition(":")[0] for line in found] == ["name", "inner.value_gib", "more"]


def test_a_figure_needs_a_source() -> None:
    @dataclass(frozen=True, slots=True)
    class Holder:
        figure: Sourced

    globals()["Holder"] = Holder
    assert problems({"figure": None}, Holder) == []
    assert problems({"figure": {"value": 1, "source": "a"}}, Holder) == []
    assert "has a value but no source" in problems({"figure": {"value": 1}}, Holder)[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(tree=JSON)
def test_any_tree_gives_a_record_or_problems(tree: Any) -> None:
    problems(tree)
    problems(tree, Run)


@given(key=st.sampled_from(sorted(GOOD)), value=JSON)
def test_json_schema_allows_what_the_loader_allows(key: str, value: Any) -> None:
    tree = {**GOOD, key: value}
    if not problems(tree):
        jsonschema.validate(tree, json_schema(Outer, "test"))


# --- YAML -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-1", -1), ("+1", 1), ("0", 0), ("01", "01"), ("1_000", "1_000"),
        ("1:30", "1:30"), ("0x1f", "0x1f"), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1e3),
        ("1.0e-09", 1e-9), ("1e", "1e"), (".", "."), ("-", [None]), (".inf", ".inf"),
        (".nan", ".nan"), ("true", True), ("false", False), ("yes", "yes"), ("no", "no"),
        ("on", "on"), ("null", None), ("~", None), ("", None), ("'1'", "1"), ('"true"', "true"),
        ("2026-12-01", "2026-12-01"), ("9" * 19, "9" * 19), ("{}", {}), ("[]", []),
    ],
)  # fmt: skip
def test_nothing_is_guessed(text: str, value: Any) -> None:
    got = parse(text)
    assert got == value
    assert type(got) is type(value)


PRINTED = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp"])
KEYS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
WRITTEN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(PRINTED),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


@given(tree=WRITTEN)
def test_what_bench_writes_is_read_back(tree: Any) -> None:
    text = run_files.dump(tree)
    if "&id" not in text:
        assert parse(text) == tree


@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        parse(text)
    except YamlError as error:
        assert "\n" not in str(error)


@given(text=st.text(st.sampled_from("[]{}:,-? \n\"'&*!|>#%@a1"), max_size=60))
def test_punctuation_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        parse(text)
    except YamlError as error:
        assert "\n" not in str(error)


def test_depth_and_length_are_limited() -> None:
    assert parse("[" * 12 + "]" * 12)
    with pytest.raises(YamlError, match="nested deeper than 12"):
        parse("[" * 13 + "]" * 13)
    with pytest.raises(YamlError, match="allowed are 1000000"):
        parse("#" * (strict_yaml.MAX_BYTES + 1))


def test_pure_python_parser_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyYAML comes without libyaml the answers are the same."""
    import yaml

    text = run_files.dump(run_files.example())
    fast = parse(text)
    monkeypatch.setattr(strict_yaml, "_PARSER", yaml.SafeLoader)
    assert parse(text) == fast
    for bad in ("a: *b", "a: 1\na: 2", "[" * 200, "- " * 200, "\x00", "a: !x 1"):
        with pytest.raises(YamlError):
            parse(bad)
