"""What the terminal shows while points are measured: a line per point, a bar below."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """rich's bar on a terminal; plain lines where the output goes to a file."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        columns = (
            BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )  # fmt: skip
        terminal = self._console.is_terminal
        self._bar = Progress(*columns, console=self._console, disable=not terminal)
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, markup=False)

    def doing(self, text: Any) -> None:
        """What happens at the moment, beside the bar."""
        self._bar.update(self._task, description=str(text))

    def done(self) -> None:
        """One point more."""
        self._bar.advance(self._task)
