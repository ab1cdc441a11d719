"""A problem of a file: one line that says where it is and what is wrong, in either language."""

from __future__ import annotations

from calc.schema import Report
from calc.words import Message, render


class Problem(str):
    """The line in English, "file: path.to.field: what is wrong"; field may be "".

    >>> missing = Problem("run.yaml", "rows[0].note", Message("problem_no_note"))
    >>> print(missing)
    run.yaml: rows[0].note: is missing; a failed row says why
    >>> missing.in_language("zh")
    'run.yaml: rows[0].note: 缺失；状态为 failed 的行要写明原因'
    """

    __slots__ = ("field", "label", "what")
    label: str
    field: str
    what: Message

    def __new__(cls, label: str, field: str, what: Message) -> Problem:
        problem = super().__new__(cls, _line(label, field, str(what)))
        problem.label, problem.field, problem.what = label, field, what
        return problem

    def __reduce__(self) -> tuple[type[Problem], tuple[str, str, Message]]:
        return Problem, (self.label, self.field, self.what)  # a plain str is copied by its text

    def in_language(self, lang: str) -> str:
        """The line in "en" or "zh"; the names of the file and of the field stay as they are."""
        return _line(self.label, self.field, render(self.what, lang))


def _line(label: str, field: str, what: str) -> str:
    return ": ".join([*filter(None, (label, field)), what])


def reporter(label: str, problems: list[Problem]) -> Report:
    """A function that notes what is wrong at a path of the file called `label`."""
    return lambda field, what: problems.append(Problem(label, field, what))
