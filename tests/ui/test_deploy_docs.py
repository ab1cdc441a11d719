"""What the documents say about deployment and method is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit import config

from calc import hub_map, repository
from calc.job import Job
from calc.measurements import load_cards, load_profile
from calc.memory import estimate
from ui import hub

ROOT = Path(__file__).parents[2]
DEPLOY = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
METHOD = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


def test_every_streamlit_flag_in_the_deployment_guide_exists() -> None:
    flags = set(re.findall(r"--((?:server|browser)\.\w+)", DEPLOY))
    assert flags >= {"server.address", "server.port", "server.enableXsrfProtection"}
    assert {flag for flag in flags if flag not in config.get_config_options()} == set()


def test_community_cloud_takes_requirements_txt() -> None:
    for name in re.findall(r"`(uv\.lock|Pipfile|environment\.yml)`", DEPLOY):
        assert not (ROOT / name).exists()
    assert (ROOT / "requirements.txt").exists()
    assert "python:3.12" in DEPLOY and "Python 3.12" in DEPLOY


def test_the_limits_of_the_look_up_are_those_of_the_code() -> None:
    assert f"at most {hub.CONFIG_BYTES >> 20} MiB and\n{hub.HEADER_BYTES >> 20} MiB" in DEPLOY
    assert hub.TIMEOUT_S == 5 and "ends after five seconds" in DEPLOY
    assert f"Change `REPOSITORY` in `{repository.__name__.replace('.', '/')}.py`" in DEPLOY
    assert repository.file_link("README.md").startswith(repository.REPOSITORY)


@pytest.mark.parametrize("text", [DEPLOY, METHOD], ids=["deploy", "method"])
def test_files_and_modules_that_are_named_exist(text: str) -> None:
    named = set(re.findall(r"`((?:calc|bench|ui|measurements)/[\w/]+\.(?:py|yaml))`", text))
    named |= {f"docs/{name}" for name in re.findall(r"\]\((\w+\.md)\)", text)}
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_the_rates_in_the_method_are_those_of_the_cards() -> None:
    cards = load_cards()
    rates = [cards[name].dense_fp16_tflops.value for name in ("RTX 4090 24GB", "A100 40GB SXM4")]
    assert rates == [165.2, 312]
    assert "165.2 there and 312 on the A100" in METHOD


def test_the_swin_table_in_the_method_is_what_calc_says() -> None:
    rows = re.findall(r"\| (video-swin-\w) \| ([\d,]+) \| ([\d,]+) \|", METHOD)
    assert [name for name, *_ in rows] == ["video-swin-t", "video-swin-s", "video-swin-b"]
    for name, *figures in rows:
        published, ours = (int(figure.replace(",", "")) for figure in figures)
        job = Job(model=name, frames=32, size=224, batch=8, precision="fp16", optimizer="adamw")
        mid_mib = estimate(job, load_profile(name), 8, 1, count=8).allocated.mid * 1024
        assert mid_mib == pytest.approx(ours, rel=0.01)
        assert mid_mib == pytest.approx(published, rel=0.03)


def test_known_architectures_are_words_without_markup() -> None:
    assert all(re.fullmatch(r"\w+", name) for name in hub_map.KNOWN)
