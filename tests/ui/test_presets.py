"""Published recipes: valid inputs, a source each, and models that ClipFit has."""

from __future__ import annotations

import pytest

from calc.compare import compare
from calc.job import Job
from ui.data import data, model_names
from ui.presets import PRESETS, Preset


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_a_recipe_is_a_job_that_gets_an_answer(preset: Preset) -> None:
    assert preset.values["model"] in model_names()
    assert compare(Job().replace(**preset.values), data()).offers


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_a_recipe_names_its_source(preset: Preset) -> None:
    assert preset.source.startswith("https://github.com/")
    assert preset.gpus >= 1
