"""The first check of a pull request: names, sizes and encoding under `measurements/runs`.

Standard library only, so that it runs before anything is installed. What is in the files is the
business of `python -m bench check`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

RUNS = Path(__file__).resolve().parent.parent / "measurements" / "runs"
MAX_BYTES = 400_000
CARD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
NAME = re.compile(
    r"[a-z0-9]+(?:-[a-z0-9]+)*"  # model
    r"__(?:fp32|tf32|fp16|bf16|bf16-pure)"
    r"__20[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"__[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,38}"  # who
    r"__[0-9a-f]{6}\.yaml"
)
FORM = "<model>__<precision>__<yyyymmdd>__<who>__<6 hex>.yaml, as `python -m bench run` writes it"


def problems(folder: Path) -> Iterator[str]:
    """What is wrong with the names and sizes under a folder of runs."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        label = f"measurements/runs/{place.as_posix()}"
        if path.is_symlink():
            yield f"{label}: is a link; allowed are files"
        elif path.is_dir():
            if len(place.parts) > 1 or not CARD.fullmatch(path.name):
                yield f"{label}: allowed are folders of cards, as in rtx-4090-24gb"
        elif path.name != ".gitkeep":
            yield from _file_problems(path, place, label)


def _file_problems(path: Path, place: Path, label: str) -> Iterator[str]:
    if len(place.parts) != 2:
        yield f"{label}: lies outside the folder of a card"
    if not NAME.fullmatch(path.name):
        yield f"{label}: is not called {FORM}"
    size = path.stat().st_size
    if size > MAX_BYTES:
        yield f"{label}: has {size} bytes; allowed are {MAX_BYTES}"
        return
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        yield f"{label}: is not text in UTF-8"
    if b"\0" in content:
        yield f"{label}: has a zero byte; it is not text"


def main(folder: Path = RUNS) -> int:
    """Print every problem; 1 if there is one."""
    found = list(problems(folder))
    for line in found:
        print("".join(sign if sign.isprintable() else "?" for sign in line))
    print(f"{len(found)} problems in the names of measurements/runs")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
