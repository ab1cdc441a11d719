"""Keeps Python's garbage collector away from what stays for as long as the server runs.

Streamlit collects all garbage after each run of the script (`runner.postScriptGC`). With pandas,
Altair and the measurements loaded that is 130,000 objects, 60 ms in which nothing else runs, and
the collection starts before most of the page has been sent. None of them ever becomes garbage:
frozen, they are not looked at again, and a collection takes less than a millisecond. What the
sessions open at that moment hold in cycles stays as well, about 0.1 MB each.
"""

from __future__ import annotations

import gc

_settled: set[str] = set()


def settle(page: str) -> None:
    """Freeze what is loaded once a page has been shown for the first time in this server."""
    if page not in _settled:
        _settled.add(page)
        gc.collect()
        gc.freeze()
