"""The command line: `python -m calc compare ...` and `python -m calc accuracy`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from calc.compare import Comparison, compare
from calc.job import FIELDS, Field, Job
from calc.measurements import load
from calc.report import as_json, table
from calc.words import LANGUAGES, Refused, render

USAGE = "compare or accuracy, as in python -m calc compare --help"


class OneSentence(argparse.ArgumentParser):
    """A parser whose errors are one sentence, exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where help is."""
        self.exit(2, f"{message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments else ""
    if command == "compare":
        return _compare(arguments[1:])
    if command == "accuracy":
        return int(importlib.import_module("calc.accuracy").main(arguments[1:]) or 0)
    if command in ("-h", "--help"):
        print(f"commands: {USAGE}")
        return 0
    given = f"{command!r} is not a command; allowed are" if command else "name a command:"
    print(f"{given} {USAGE}", file=sys.stderr)
    return 2


def _compare(arguments: Sequence[str]) -> int:
    parsed = parser().parse_args(arguments)
    try:
        answer = compare(job_of(parsed), load())
    except Refused as refused:
        print(render(refused.message, parsed.lang), file=sys.stderr)
        return 2
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(_shown(answer, parsed))
    return 0


def _shown(answer: Comparison, parsed: argparse.Namespace) -> str:
    if parsed.json:
        return json.dumps(as_json(answer, parsed.lang), indent=2, ensure_ascii=False)
    return table(answer, parsed.lang)


def parser() -> argparse.ArgumentParser:
    """The flags of `compare`: one for each input of the job."""
    about = "Which GPU fits, and which costs less."
    made = OneSentence("python -m calc compare", description=about, allow_abbrev=False)
    for field in FIELDS:
        _add(made, field)
    made.add_argument("--json", action="store_true", help="print JSON")
    made.add_argument("--lang", choices=LANGUAGES, default="en", help="language of sentences")
    return made


def _add(made: argparse.ArgumentParser, field: Field) -> None:
    if field.kind == "flag":
        made.add_argument(
            field.flag, dest=field.key, action="store_true", default=None, help=field.group
        )
        return
    repeated = "append" if field.repeated else "store"
    name = {"offers": "OFFER", "prices": "CARD=USD"}.get(field.kind, "X")
    made.add_argument(
        field.flag, dest=field.key, action=repeated, metavar=name, help=_help(field)
    )


def _help(field: Field) -> str:
    """What is allowed and what is taken without the flag; % doubled for argparse."""
    if field.options:
        allowed = ", ".join(str(option) for option in field.options)
    elif field.minimum is not None:
        allowed = f"{field.minimum:.12g} to {field.maximum:.12g}"
    else:
        allowed = "repeat for several" if field.repeated else "see measurements/models"
    default = "none" if field.default in (None, ()) else field.default
    return f"{allowed} {field.unit} (default {default})".replace("  ", " ").replace("%", "%%")


def job_of(parsed: argparse.Namespace) -> Job:
    """The job that the flags ask for; ValueError says what is wrong with it."""
    given = {field: getattr(parsed, field.key) for field in FIELDS}
    values = {field.key: value_of(field, text) for field, text in given.items() if text is not None}
    return Job(**values)


def value_of(field: Field, text: Any) -> Any:
    """A flag's text as the value of a field; text that is no such value is left for Job to refuse.

    >>> from calc.job import FIELD
    >>> [value_of(FIELD["batch"], text) for text in ("8", "x")]
    [8, 'x']
    >>> value_of(FIELD["prices"], ["RTX 4090 24GB=0.35"])
    (('RTX 4090 24GB', 0.35),)
    """
    if field.kind == "offers":
        return tuple(text)
    if field.kind == "prices":
        return tuple(_price(field, item) for item in text)
    number = _number(text) if field.kind in ("int", "number") or _is_whole(field) else text
    return float(number) if field.kind == "number" and isinstance(number, int) else number


def _is_whole(field: Field) -> bool:
    return bool(field.options) and all(isinstance(option, int) for option in field.options)


def _number(text: Any) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _price(field: Field, text: str) -> tuple[str, float]:
    card, equals, amount = text.rpartition("=")
    number = _number(amount)
    if not equals or isinstance(number, str):
        raise ValueError(
            f"{field.flag} is {text!r}; write card=USD, as in {field.flag} 'RTX 4090 24GB=0.35'"
        )
    return card, float(number)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader, as in `| head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
