"""An uploaded run, checked by the very code that checks a pull request. No Streamlit here.

What comes from an upload is only ever shown as plain text: in code blocks and table cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import check, submit
from bench.check import Checked, Context
from calc import repository, runs
from calc.measurements import DataError, read_tree
from calc.problem import Problem
from calc.words import Message, render

MAX_PROBLEMS = 40
_NAME = re.compile(r"[\w.-]{1,150}\.ya?ml", re.ASCII)


@dataclass(frozen=True, slots=True)
class Uploaded:
    """An upload after its checks.

    problems, warnings: one a line, in the visitor's language and ready to be shown; checked: its
    rows, where it could be read.
    file: `<card>/<name>.yaml`, where it belongs under measurements/runs; content: what belongs
    there: the upload itself, marked `review: pending` where a row lies outside the band.
    """

    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    checked: Checked
    file: str
    content: bytes

    @property
    def is_good(self) -> bool:
        """Whether a pull request with this file would pass."""
        return not self.problems

    @property
    def name(self) -> str:
        """The file name its content asks for."""
        return self.file.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """Its folder in the repository."""
        return f"measurements/runs/{self.file.rpartition('/')[0]}"

    @property
    def link(self) -> str:
        """GitHub's upload page for that folder."""
        return repository.upload_link(self.file)


def check_upload(name: str, content: bytes, context: Context, lang: str = "en") -> Uploaded:
    """Check a file as a pull request would; it never lies outside a temporary folder."""
    with TemporaryDirectory(prefix="clipfit-") as folder:
        path = Path(folder) / _file_name(name)
        path.write_bytes(content)
        checked = submit.prepared(path, context)
        file, content = _wanted(path), path.read_bytes()
    return Uploaded(
        problems=_lines(checked.findings.problems, lang),
        warnings=_lines(checked.findings.warnings, lang),
        checked=checked,
        file=file,
        content=content,
    )


def _file_name(name: str) -> str:
    """The upload's own name if it is a plain one: the check compares it with the content.

    >>> _file_name("../../etc/run.yaml"), _file_name("a b.yaml")
    ('run.yaml', 'upload.yaml')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    return last if _NAME.fullmatch(last) else "upload.yaml"


def _wanted(path: Path) -> str:
    """Folder and name that the content asks for, "" where it does not say."""
    try:
        return runs.file_name(read_tree(path))
    except (DataError, KeyError, TypeError):
        return ""


def _lines(problems: Sequence[Problem], lang: str) -> tuple[str, ...]:
    lines = [problem.in_language(lang) for problem in problems[:MAX_PROBLEMS]]
    more = len(problems) - MAX_PROBLEMS
    if more > 0:
        lines.append(render(Message("problem_more", {"n": more}), lang))
    return tuple(check.printable(line) for line in lines)
