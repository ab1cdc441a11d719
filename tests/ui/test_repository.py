"""Links to GitHub come from the clone or the environment, never from nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ui import repository


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/ada/clip-fit.git", "ada/clip-fit"),
        ("https://github.com/ada/clipfit", "ada/clipfit"),
        ("https://token@github.com/ada/clipfit.git", "ada/clipfit"),
        ("git@github.com:ada/clipfit.git", "ada/clipfit"),
        ("https://gitlab.com/ada/clipfit.git", ""),
        ("https://example.com/github.com/ada/clipfit", ""),
        ("/srv/clipfit.git", ""),
    ],
)
def test_the_origin_of_a_clone(tmp_path: Path, url: str, name: str) -> None:
    config = tmp_path / "config"
    config.write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n\tfetch = +x\n')
    assert repository.from_config(config) == name


def test_no_clone_no_link(tmp_path: Path) -> None:
    assert repository.from_config(tmp_path / "config") == ""


def test_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(repository.VARIABLE, "ada/clipfit")
    repository.address.cache_clear()
    try:
        expected = "https://github.com/ada/clipfit/upload/main/measurements/runs/l4-24gb"
        assert repository.upload_link("measurements/runs/l4-24gb") == expected
        monkeypatch.setenv(repository.VARIABLE, "javascript:alert(1)")
        repository.address.cache_clear()
        assert repository.upload_link("measurements") is None
    finally:
        repository.address.cache_clear()
