"""The app under Streamlit's own test runner."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

from streamlit.testing.v1 import AppTest

SCRIPT = Path(__file__).parents[2] / "streamlit_app.py"


def opened(query: str = "", page: str | None = None) -> AppTest:
    """The app as it looks after a link was opened; fails if anything was raised."""
    app = AppTest.from_file(str(SCRIPT), default_timeout=60)
    for key, values in parse_qs(query, keep_blank_values=True).items():
        app.query_params[key] = values if len(values) > 1 else values[0]
    if page:
        app.switch_page(f"ui/pages/{page}.py")
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def verdict(app: AppTest) -> str:
    """The sentence on top."""
    head = next(text.value[4:] for text in app.markdown if text.value.startswith("### "))
    return head.replace("\\$", "$")
