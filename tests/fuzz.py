"""How many examples a property test tries."""

from __future__ import annotations

import os


def examples(usual: int) -> int:
    """`usual` in make test, twenty times as many in make test-long."""
    return usual * 20 if os.environ.get("CLIPFIT_LONG") else usual
