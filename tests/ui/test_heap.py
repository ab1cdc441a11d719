"""After the first visit the garbage collector has little left to look at."""

from __future__ import annotations

import subprocess
import sys

from tests.ui.app import SCRIPT

FEW = 5_000
"""Objects of a session and a rerun; everything that is loaded is over a hundred thousand."""

PROGRAM = f"""
import gc
from streamlit.testing.v1 import AppTest
app = AppTest.from_file({str(SCRIPT)!r}, default_timeout=60).run()
print(gc.get_freeze_count(), len(gc.get_objects()))
app.number_input(key="batch").set_value(5).run()
assert not app.exception
print(gc.get_freeze_count(), len(gc.get_objects()))
"""


def test_what_is_loaded_is_frozen_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=SCRIPT.parent, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    frozen, left, later, then = map(int, done.stdout.split())
    assert frozen > 20 * FEW
    assert left < FEW and then < FEW
    assert later <= frozen
