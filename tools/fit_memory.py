"""Write the constants of calc/calibration.py from published rows: python -m tools.fit_memory."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from calc import accuracy_ladder, accuracy_memory

TARGET = Path(__file__).resolve().parent.parent / "calc/calibration.py"


def with_constants(text: str, constants: dict[str, Any]) -> str:
    """The module's text with new values behind the same names.

    >>> with_constants("LOW = 1.0\\nX = 2\\n", {"LOW": 0.9})
    'LOW = 0.9\\nX = 2\\n'
    """
    for name, value in constants.items():
        pattern = rf"^({name}(?:: [^=\n]+)? = )(?:\{{[^}}]*\}}|[^\n]*)$"
        text, found = re.subn(pattern, lambda m, v=value: m[1] + shown(v), text, flags=re.M)
        if found != 1:
            raise ValueError(f"{name} stands {found} times in {TARGET.name}; it must stand once")
    return text


def shown(value: Any) -> str:
    """A value as Python source; a mapping on one line each."""
    if not isinstance(value, dict):
        return repr(value)
    return "{\n" + "".join(f'    "{key}": {item!r},\n' for key, item in value.items()) + "}"


def main() -> int:
    """Rewrite the constants and print them."""
    constants = accuracy_memory.constants() | {"HEADROOM_GIB": accuracy_ladder.headroom_gib()}
    TARGET.write_text(with_constants(TARGET.read_text(encoding="utf-8"), constants), "utf-8")
    print(constants)
    return 0


if __name__ == "__main__":
    sys.exit(main())
