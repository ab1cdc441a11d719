"""How fast the app is: `python -m benchmarks.app_speed [--json]`, two to three minutes.

- rerun: the calculator beside a bare page with the same widgets, charts and texts but constant
  data, in turns, under Streamlit's own runner, which always runs the whole script. Each rerun has
  another batch than the one before. One process may be a fifth off from the next, whatever it
  runs, so it is the median of five.
- server: the same two pages served, from the message that changes the batch to the end of the run,
  as a browser asks for it: the calculator runs its middle only.
- browser: from the key press that changes the batch to the changed figure on the page.
- cold start: from starting the server to the first answer in a browser.
- memory: growth of the server for each further session (websocket clients that wait for the page).
- tipping map: 120 cells, six offers.

Everything runs on this machine while it does whatever else it does: compare figures of one run.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright
from streamlit.testing.v1 import AppTest

from calc import measurements
from calc.job import Job
from calc.sweep import batches, tipping_map
from tools.browser import find
from tools.serve import ROOT, serve
from tools.visitor import Visitor

RERUNS = 30
PROCESSES = 5
ALONE = "--reruns"
KEY_PRESSES = 30
SESSIONS = 20
CELLS = 120
BARE = ROOT / "benchmarks" / "bare_page.py"
SIX = ("A100 40GB SXM4", "RTX 4090 24GB", "2x RTX 4090 24GB", "L40S 48GB", "H100 80GB SXM5",
       "4x RTX 3090 24GB")  # fmt: skip
TARGETS = {
    "rerun_ratio": 1.25,
    "server_ratio": 1.25,
    "browser_change_ms": 100,
    "rss_mb_per_session": 2,
    "tipping_map_ms": 30,
}


# --- Rerun beside the bare page ------------------------------------------------------------------


def recorded(app: AppTest) -> list[tuple[str, str, dict[str, Any]]]:
    """What a page shows, as calls that show the same again."""
    places = (("main", app.main), ("sidebar", app.sidebar))
    found = ((place, _call(element)) for place, block in places for element in _flat(block))
    return [(place, *call) for place, call in found if call is not None]


def _flat(block: Any) -> list[Any]:
    """All elements and blocks below a block, in their order."""
    found: list[Any] = []
    for child in block.children.values():
        found += [child, *_flat(child)] if hasattr(child, "children") else [child]
    return found


def _call(element: Any) -> tuple[str, dict[str, Any]] | None:
    """One element as a call of Streamlit: its name and arguments."""
    make = CALLS.get(element.type)
    return make(element) if make else None


def _choice(name: str) -> Callable[[Any], tuple[str, dict[str, Any]]]:
    def call(widget: Any) -> tuple[str, dict[str, Any]]:
        extra = (
            {"index": widget.options.index(str(widget.value))}
            if name == "selectbox"
            else {
                "default": [str(v) for v in widget.value]
                if name == "multiselect"
                else str(widget.value)
            }
        )
        return name, {**_common(widget), "options": list(widget.options), **extra}

    return call


def _common(widget: Any) -> dict[str, Any]:
    return {"label": widget.label, "key": widget.key, "help": widget.help or None,
            "disabled": widget.disabled, "bind": "query-params"}  # fmt: skip


def _number(widget: Any) -> tuple[str, dict[str, Any]]:
    bounds = {"min_value": widget.min, "max_value": widget.max, "step": widget.step}
    whole = widget.key in ("batch", "micro_batch", "clips", "epochs", "depth", "width", "heads")
    kind = int if whole else float
    numbers = {key: kind(value) for key, value in bounds.items()}
    value = None if widget.value is None else kind(widget.value)
    return "number_input", {**_common(widget), **numbers, "value": value}


def _number_slider(widget: Any) -> tuple[str, dict[str, Any]]:
    kind = float if widget.key == "mlp_ratio" else int
    bounds = {"min_value": widget.min, "max_value": widget.max, "step": widget.step}
    numbers = {key: kind(value) for key, value in (bounds | {"value": widget.value}).items()}
    return "slider", {**_common(widget), **numbers}


def _chart(element: Any) -> tuple[str, dict[str, Any]]:
    return "vega_lite_chart", {"data": json.loads(element.proto.spec), "alt": element.proto.alt}


CALLS: dict[str, Callable[[Any], tuple[str, dict[str, Any]]]] = {
    "flex_container": lambda e: ("container", {}),
    "grid_container": lambda e: ("container", {}),
    "column": lambda e: ("container", {}),
    "expander": lambda e: ("expander", {"label": e.label}),
    "markdown": lambda e: ("markdown", {"body": e.value}),
    "caption": lambda e: ("caption", {"body": e.value}),
    "code": lambda e: ("code", {"body": e.value, "language": e.language or None}),
    "metric": lambda e: ("metric", {"label": e.label, "value": e.value, "delta": e.delta or None}),
    "selectbox": _choice("selectbox"),
    "multiselect": _choice("multiselect"),
    "segmented_control": _choice("segmented_control"),
    "button_group": _choice("segmented_control"),
    "number_input": _number,
    "slider": _number_slider,
    "toggle": lambda w: ("toggle", {**_common(w), "value": w.value}),
    "vega_lite_chart": _chart,
}


def reruns() -> dict[str, float]:
    """Median rerun of both pages over fresh processes, ms, and the lowest and highest ratio."""
    words = [sys.executable, "-m", "benchmarks.app_speed", ALONE]
    runs = [
        json.loads(subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout)
        for _ in range(PROCESSES)
    ]
    ratios = [run["rerun_ratio"] for run in runs]
    return {
        **{name: statistics.median(run[name] for run in runs) for name in runs[0]},
        "rerun_ratio_lowest": min(ratios),
        "rerun_ratio_highest": max(ratios),
    }


def reruns_here() -> dict[str, float]:
    """Median rerun of both pages in this process, taken in turns, ms."""
    app = _app()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLIPFIT_BARE"] = _bare(app, Path(folder))
        bare = AppTest.from_file(str(BARE), default_timeout=60).run()
        assert not bare.exception, bare.exception[0].message
        wall, cpu = _in_turns({"app": app, "bare": bare})
    return {
        "elements": len(recorded(app)),
        "rerun_app_ms": wall["app"],
        "rerun_bare_ms": wall["bare"],
        "rerun_ratio": wall["app"] / wall["bare"],
        "rerun_ratio_cpu": cpu["app"] / cpu["bare"],
    }


def _app() -> AppTest:
    """The calculator at a batch that does not fit, so that advice is shown, as in most reruns."""
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    return app.number_input(key="batch").set_value(RERUNS // 2).run()


def _bare(app: AppTest, folder: Path) -> str:
    """Where the bare page finds what it has to show."""
    path = folder / "page.json"
    path.write_text(json.dumps(recorded(app)), encoding="utf-8")
    return str(path)


def _in_turns(pages: dict[str, AppTest]) -> tuple[dict[str, float], dict[str, float]]:
    """Median ms of a rerun of each page, on the clock and of processor time."""
    wall: dict[str, list[float]] = {name: [] for name in pages}
    cpu: dict[str, list[float]] = {name: [] for name in pages}
    for turn in range(RERUNS):
        for name, page in pages.items():
            page.number_input(key="batch").set_value(2 + turn)
            used = time.process_time()
            wall[name].append(_timed_ms(page.run))
            cpu[name].append((time.process_time() - used) * 1000)
    return _medians(wall), _medians(cpu)


def _medians(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in times.items()}


def _timed_ms(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


# --- Browser and server --------------------------------------------------------------------------


def _settled(page: Page) -> None:
    app = page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
    expect(app).to_be_attached(timeout=60_000)


def browser() -> dict[str, float]:
    """Key press to changed figure, and cold start to the first answer."""
    with serve() as served, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        started = time.monotonic()
        page.goto(served.url)
        page.locator("[data-testid='stMetricValue']").first.wait_for(timeout=60_000)
        first_s = time.monotonic() - started
        _settled(page)
        changes = _key_presses(page)
        chromium.close()
    return {"server_start_s": served.start_s, "first_answer_s": first_s,
            "browser_change_ms": statistics.median(changes),
            "browser_change_p95_ms": sorted(changes)[int(len(changes) * 0.95)]}  # fmt: skip


def _key_presses(page: Page) -> list[float]:
    """ms from each press of an arrow key in the batch to the first figure that changes."""
    box = page.locator(".st-key-batch input")
    box.focus()
    changes = []
    for _ in range(KEY_PRESSES):
        page.evaluate(CHANGED)
        box.press("ArrowUp")
        changes.append(page.wait_for_function("window.clipfitTaken").json_value())
        _settled(page)
        page.wait_for_timeout(300)
    return changes


CHANGED = """() => {
  window.clipfitTaken = 0;
  let down = 0;
  const main = document.querySelector("[data-testid='stMain']");
  const shown = "[data-testid='stMarkdownContainer'], [data-testid='stMetricValue']";
  const figures = () => [...main.querySelectorAll(shown)].map((e) => e.textContent).join("|");
  const before = figures();
  const box = document.querySelector(".st-key-batch input");
  box.addEventListener("keydown", () => { down = performance.now(); }, {capture: true, once: true});
  const watch = new MutationObserver(() => {
    if (!down || figures() === before) return;
    window.clipfitTaken = performance.now() - down;
    watch.disconnect();
  });
  watch.observe(main, {subtree: true, characterData: true, childList: true});
}"""
"""Looks at every text and figure: the verdict alone often stays the same at the next batch."""


def server() -> dict[str, float]:
    """From the message that changes the batch to the end of the run, of both pages served, ms."""
    app = _app()
    with tempfile.TemporaryDirectory() as folder:
        bare = _bare(app, Path(folder))
        with serve() as one, serve(BARE, {"CLIPFIT_BARE": bare}) as other:
            taken = asyncio.run(_changes_in_turns({"app": one.url, "bare": other.url}))
    return {
        "server_app_ms": taken["app"],
        "server_bare_ms": taken["bare"],
        "server_ratio": taken["app"] / taken["bare"],
    }


async def _changes_in_turns(urls: dict[str, str]) -> dict[str, float]:
    pages = {name: await Visitor.open(url) for name, url in urls.items()}
    taken: dict[str, list[float]] = {name: [] for name in pages}
    for turn in range(RERUNS):
        for name, page in pages.items():
            taken[name].append(await page.set_number("batch", 2 + turn))
            await asyncio.sleep(0.05)
    for page in pages.values():
        await page.close()
    return _medians(taken)


def sessions() -> dict[str, float]:
    """Resident memory of the server after 1 and after 20 open sessions, MB."""
    with serve() as served:
        one, many = asyncio.run(_open_sessions(served.url, served.pid))
    return {"rss_1_mb": one, "rss_20_mb": many, "rss_mb_per_session": (many - one) / (SESSIONS - 1)}


async def _open_sessions(url: str, pid: int) -> tuple[float, float]:
    opened: list[Visitor] = []
    after: list[float] = []
    for _ in range(SESSIONS):
        opened.append(await Visitor.open(url))
        after.append(_rss_mb(pid))
    for visitor in opened:
        await visitor.close()
    return after[0], after[-1]


def _rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def tipping() -> dict[str, float]:
    """The tipping map with six offers, scaled to 120 cells, ms."""
    data, job = measurements.load(), Job(cards=SIX)
    cells = len(tipping_map(job, data, "frames", batches(job.batch)))
    taken = [
        _timed_ms(lambda: tipping_map(job, data, "frames", batches(job.batch))) for _ in range(30)
    ]
    return {"tipping_map_ms": statistics.median(taken) * CELLS / cells}


def main(words: list[str]) -> int:
    """Print every figure beside its target."""
    if words == [ALONE]:
        print(json.dumps(reruns_here()))
        return 0
    figures: dict[str, float] = {}
    for part in (tipping, reruns, server, browser, sessions):
        figures |= part()
    if "--json" in words:
        print(json.dumps(figures, indent=1))
        return 0
    for name, figure in figures.items():
        target = TARGETS.get(name)
        print(f"{name:24} {figure:10.2f}" + (f"   target <= {target}" if target else ""))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
