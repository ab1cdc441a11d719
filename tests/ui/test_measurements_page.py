"""The measurements page: tables, plots, and what it says about an uploaded run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bench.check import Context
from calc import accuracy_speed, measurements
from calc.runs import file_name
from tests.chinese import CHINESE
from tests.run_files import changed, dump, example, folder
from ui import measured_chart, published
from ui.upload import MAX_PROBLEMS, Uploaded, check_upload

SCRIPT = Path(__file__).parents[2] / "streamlit_app.py"


def page(lang: str = "en") -> AppTest:
    app = AppTest.from_file(str(SCRIPT), default_timeout=60)
    app.query_params["lang"] = lang
    app.switch_page("ui/pages/measurements.py").run()
    assert not app.exception, app.exception[0].message
    return app


def uploaded(app: AppTest, name: str, content: bytes) -> AppTest:
    app.file_uploader[0].set_value((name, content, "application/yaml")).run()
    assert not app.exception, app.exception[0].message
    return app


def name_of(tree: dict[str, Any]) -> str:
    return file_name(tree).rpartition("/")[2]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Real cards and one small model."""
    return Context.load(folder(tmp_path))


def check(tree: dict[str, Any], context: Context) -> Uploaded:
    return check_upload(name_of(tree), dump(tree).encode(), context)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_opens_in_both_languages(lang: str) -> None:
    app = page(lang)
    assert app.title[0].value == ("Measurements" if lang == "en" else "实测数据")
    assert len(app.header) == 4


def test_every_published_row_is_shown_with_its_source() -> None:
    rows = measurements.load_published("video_memory")["rows"]
    assert len(rows) >= 90
    table = published.table()
    assert [entry["id"] for entry in rows] == list(table["id"])
    assert all(source.startswith("https://github.com/") for source in table["source"])
    low = [i for i, word in enumerate(table["confidence"]) if word == "low"]
    assert low and all(table["formula_mib"][i] is None for i in low)


def test_the_speed_table_has_every_published_throughput() -> None:
    stacks = measurements.load_published("throughput")["stacks"]
    count = sum(len(work["rows"]) for stack in stacks for work in stack["workloads"])
    assert len(published.speed_table()["card"]) == count > 1000


def test_the_plot_has_one_point_per_graded_row() -> None:
    points = published.points()
    overall = published.overall()
    assert overall is not None and len(points) == overall.n
    spec = measured_chart.chart(
        points, ["a"], dict.fromkeys(("predicted", "measured", "ratio"), "x"), "dark"
    )
    assert sum(len(layer["data"]["values"]) for layer in spec["layer"]) == 2 * len(points) + 2


def test_a_good_file_passes_and_knows_where_it_belongs(context: Context) -> None:
    tree = example()
    found = check(tree, context)
    assert found.problems == ()
    assert found.file == file_name(tree)
    assert found.link.endswith("/upload/main/measurements/runs/rtx-4090-24gb")
    assert found.checked.rows[0].memory_ratio == pytest.approx(1, abs=0.1)


def test_a_file_outside_the_band_is_marked_pending(context: Context) -> None:
    def twice(tree: dict[str, Any]) -> None:
        for key in ("first_allocated_mib", "allocated_mib"):
            tree["rows"][0]["memory"][key] = 14_000.0

    found = check(changed(twice), context)
    assert found.problems == ()
    assert found.checked.is_outside
    assert found.content.rstrip().endswith(b"review: pending")


BAD: list[tuple[str, bytes]] = [
    ("empty.yaml", b""),
    ("list.yaml", b"- 1\n- 2\n"),
    ("text.yaml", b"hello"),
    ("binary.yaml", bytes(range(256))),
    ("aliases.yaml", b"a: &a [x]\nb: [*a, *a]\n"),
    ("tag.yaml", b"!!python/object/apply:os.system ['true']"),
    ("deep.yaml", b"[" * 5000),
    ("nan.yaml", b"schema: .nan\nrows: .inf\n"),
    ("html.yaml", b"<script>alert(1)</script>: <img src=x onerror=alert(1)>\n"),
    ("../../escape.yaml", b"schema: 1\n"),
    ("C:\\run.yaml", b"schema: 1\n"),
    ("large.yaml", b"a: " + b"x" * 600_000),
    ("many.yaml", b"".join(b"key%d: 1\n" % n for n in range(500))),
]


@pytest.mark.parametrize(("name", "content"), BAD, ids=[name for name, _ in BAD])
def test_a_bad_file_is_refused_in_words(name: str, content: bytes, context: Context) -> None:
    found = check_upload(name, content, context)
    assert found.problems
    assert len(found.problems) <= MAX_PROBLEMS + 1
    for line in found.problems:
        assert line.isprintable() and len(line) <= 1000
        assert "Traceback" not in line and "/tmp" not in line


@pytest.mark.parametrize(("name", "content"), BAD, ids=[name for name, _ in BAD])
def test_a_bad_file_is_refused_in_chinese_words(
    name: str, content: bytes, context: Context
) -> None:
    english = check_upload(name, content, context).problems
    found = check_upload(name, content, context, "zh").problems
    assert len(found) == len(english)
    for line, other in zip(found, english, strict=True):
        assert CHINESE.search(line) and line != other
        assert line.isprintable() and len(line) <= 1000
        assert line.startswith("……") or line.partition(": ")[0] == other.partition(": ")[0]


def test_uploads_leave_nothing_behind(context: Context, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    check_upload("../a.yaml", b"schema: 1\n", context)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_page_shows_problems_as_code_and_never_as_html() -> None:
    evil = b"schema: 1\n<img src=x onerror=alert(1)>: '![x](https://example.com/x.png)'\n"
    app = uploaded(page(), "evil.yaml", evil)
    assert app.error
    assert any("onerror" in block.value for block in app.code)
    shown = [*app.markdown, *app.caption, *app.error, *app.info, *app.success]
    assert not any("onerror" in text.value or "example.com" in text.value for text in shown)


@pytest.mark.parametrize(
    ("lang", "problem", "warning"),
    [
        (
            "en",
            "environment.driver: is not given; a run on a GPU states it",
            "calibration: is not given; odd cards cannot be told from it",
        ),
        (
            "zh",
            "environment.driver: 未填写；GPU 上的实测必须写明",
            "calibration: 未填写；因此无法识别性能异常的显卡",
        ),
    ],
)
def test_problems_and_warnings_are_in_the_language_of_the_page(
    lang: str, problem: str, warning: str
) -> None:
    tree = changed(lambda tree: tree["environment"].update(driver=None), calibration=None)
    app = uploaded(page(lang), name_of(tree), dump(tree).encode())
    name = name_of(tree)
    assert {f"{name}: {problem}", f"{name}: {warning}"} <= {block.value for block in app.code}


def test_the_page_takes_the_example_of_the_readme() -> None:
    tree = example()
    app = page()
    charts = len(app.get("vega_lite_chart"))
    app = uploaded(app, name_of(tree), dump(tree).encode())
    assert [text.value for text in app.success] == ["This file passes every check."]
    assert len(app.get("vega_lite_chart")) == charts + 2  # the file's memory and time
    assert app.get("link_button")[0].proto.url.endswith("/runs/rtx-4090-24gb")


def test_every_claim_about_speed_is_graded_and_named_in_both_languages() -> None:
    app = page("zh")
    app.toggle(key="measurements_speed_accuracy").set_value(True).run(timeout=120)
    assert not app.exception
    table = app.table[1].value
    assert len(table) == len([one for one in accuracy_speed.report()["scores"].values() if one])
    assert all(re.search(r"[\u4e00-\u9fff]", name) for name in table.iloc[:, 0])
