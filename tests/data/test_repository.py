"""Names under measurements/runs, generated schemas, links, workflows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from calc import measurements, repository, strict_yaml
from calc.measurements import ROOT
from calc.runs import Run
from tests import run_files
from tools import check_names, generate_docs

PROJECT = ROOT.parent
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))


def test_names_under_runs_are_in_order() -> None:
    assert list(check_names.problems(ROOT / "runs")) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x.yaml", "lies outside the folder of a card"),
        ("rtx-4090-24gb/mine.yaml", "is not called <model>__"),
        ("RTX 4090/mine.yaml", "allowed are folders of cards"),
        ("rtx-4090-24gb/video-swin-t__fp16__20261301__a__abcdef.yaml", "is not called"),
        ("rtx-4090-24gb/video-swin-t__int8__20261201__a__abcdef.yaml", "is not called"),
        ("rtx-4090-24gb/video-swin-t__fp16__20261201__a--b__abcdef.yaml", "is not called"),
        ("rtx-4090-24gb/deep/video-swin-t__fp16__20261201__a__abcdef.yaml", "allowed are folders"),
    ],
)
def test_wrong_names_are_refused(tmp_path: Path, name: str, words: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("schema: 1\n")
    assert any(words in line for line in check_names.problems(tmp_path))


def test_right_names_pass_and_wrong_bytes_do_not(tmp_path: Path) -> None:
    path = tmp_path / "rtx-4090-24gb" / "video-swin-t__bf16-pure__20261201__anna-k__00ff00.yaml"
    path.parent.mkdir()
    path.write_text("schema: 1\n")
    assert list(check_names.problems(tmp_path)) == []
    path.write_bytes(b"\xff")
    assert any("is not text in UTF-8" in line for line in check_names.problems(tmp_path))
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert any("is a link" in line for line in check_names.problems(tmp_path))


def test_names_agree_with_the_check_of_contents() -> None:
    name = run_files.file_name(run_files.example())
    assert check_names.NAME.fullmatch(name.partition("/")[2])


def schema_of(name: str) -> Any:
    return json.loads((ROOT / "schema" / f"{name}.json").read_text())


@pytest.mark.parametrize("name", generate_docs.SCHEMAS)
def test_schemas_are_valid_and_current(name: str) -> None:
    kind, title = generate_docs.SCHEMAS[name]
    tree = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(tree)
    assert tree == json.loads(
        json.dumps(generate_docs.schema.json_schema(kind, f"ClipFit, {title}"))
    )


@pytest.mark.parametrize("name", ["cards", "prices", "reviewed"])
def test_files_satisfy_their_json_schema(name: str) -> None:
    jsonschema.validate(strict_yaml.parse((ROOT / f"{name}.yaml").read_text()), schema_of(name))


def test_models_satisfy_their_json_schema() -> None:
    for model in measurements.model_ids():
        tree = strict_yaml.parse((ROOT / "models" / f"{model}.yaml").read_text())
        jsonschema.validate(tree, schema_of("model"))


def test_json_schema_refuses_what_the_loader_refuses() -> None:
    tree = run_files.example()
    jsonschema.validate(tree, schema_of("run"))
    assert measurements.record_of(Run, tree, "x")
    for change in ({"licence": "MIT"}, {"gpu": "x"}, {"rows": [{"frames": 1}]}, {"date": "today"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**tree, **change}, schema_of("run"))
        with pytest.raises(measurements.DataError):
            measurements.record_of(Run, {**tree, **change}, "x")


def test_measurements_are_public_domain() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "CC0 1.0 Universal" in text
    assert "public domain" in (PROJECT / ".github" / "PULL_REQUEST_TEMPLATE.md").read_text()


# --- Links ----------------------------------------------------------------------------------------

ADDRESS = re.compile(r"https://github\.com/clipfit/clipfit")
BY_HAND = {"CONTRIBUTING.md", "README.md", ".github/ISSUE_TEMPLATE/config.yml"}
"""Files that cannot compute the address; CONTRIBUTING names them to whoever forks."""


def test_the_address_of_the_repository_stands_in_one_module() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", "*.py", "*.md", "*.yml", "*.yaml", "*.toml"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    users = {
        name
        for name in listed
        if name and (PROJECT / name).exists() and ADDRESS.search((PROJECT / name).read_text())
    }
    in_code = {name for name in users if name.endswith(".py") and not name.startswith("tests/")}
    assert in_code <= {"calc/repository.py"}
    assert {name for name in users if not name.endswith(".py")} <= BY_HAND


def test_links_to_forms_name_forms_that_exist() -> None:
    text = (PROJECT / "CONTRIBUTING.md").read_text()
    forms = set(re.findall(r"issues/new\?template=([\w-]+\.yml)", text))
    assert forms == {"measurement.yml", "card-or-model.yml", "wrong-figure.yml"}
    for form in forms:
        assert (PROJECT / ".github" / "ISSUE_TEMPLATE" / form).exists()


def test_long_links_fall_back() -> None:
    assert repository.new_file_link("a/b.yaml", "x" * repository.LINK_LIMIT) is None
    long = repository.issue_link("wrong-figure.yml", measured="x" * repository.LINK_LIMIT)
    assert long == f"{repository.REPOSITORY}/issues/new?template=wrong-figure.yml"


# --- Workflows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_is_careful(path: Path) -> None:
    text = path.read_text()
    tree = yaml.safe_load(text)
    assert "pull_request_target" not in tree[True]  # YAML 1.1 reads the key `on` as true
    assert tree["permissions"] == {}
    assert "secrets." not in text
    for name, job in tree["jobs"].items():
        assert "permissions" in job, name
        assert job["timeout-minutes"] <= 180, name
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_only_workflows_that_push_may_write(path: Path) -> None:
    may_write = "write" in str([job["permissions"] for job in _jobs(path).values()])
    assert may_write == (path.stem in ("prices", "derived"))


def _jobs(path: Path) -> dict[str, Any]:
    jobs = yaml.safe_load(path.read_text())["jobs"]
    assert isinstance(jobs, dict)
    return jobs


@pytest.mark.parametrize(
    "command", [["zizmor", "--offline", "--quiet", ".github"], ["actionlint"]], ids=lambda c: c[0]
)
def test_linters_of_workflows_find_nothing(command: list[str]) -> None:
    beside = str(Path(sys.executable).parent)
    tool = shutil.which(command[0], path=beside) or shutil.which(command[0])
    if tool is None:
        pytest.skip(f"{command[0]} is not installed; pip install -r tests/requirements.txt")
    command = [tool, *command[1:]]
    result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_issue_forms_have_what_github_asks_for() -> None:
    for path in sorted((PROJECT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")):
        if path.name == "config.yml":
            continue
        tree = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(tree)
        ids = [part["id"] for part in tree["body"] if part["type"] != "markdown"]
        assert len(ids) == len(set(ids)) > 0
