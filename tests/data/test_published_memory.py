"""measurements/published: memory rows, timm's ladder and users' reports are whole and sourced."""

from __future__ import annotations

import re

import pytest

from calc.measurements import load_published

ROWS = load_published("video_memory")["rows"]
IDS = [row["id"] for row in ROWS]


def test_ids_are_unique() -> None:
    assert len(set(IDS)) == len(IDS) == 101


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_has_its_source_and_a_plausible_trace(row) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{7,10} .*|[\w.-]+/[\w.-]+.*", row["source"])
    assert row["measured_mib"] > 500 and row["confidence"] in ("high", "medium", "low")
    assert (row["trace"] is None) == (row["confidence"] == "low")
    if row["trace"]:
        parts = sum(row["trace"]["parts_mib"].values())
        assert parts == pytest.approx(row["trace"]["live_mib"], rel=0.002)
        assert 0 <= row["trace"]["rounding_mib"] < 150
        assert row["trace"]["params_m"] > 1


def test_every_assumption_is_said_in_the_file() -> None:
    head = load_published("video_memory")
    assert {"gradients_kept", "old_attention", "new_attention"} <= set(head["assumptions"])
    assert [row["id"] for row in ROWS if row["not_comparable"]] == ["tsm-01", "tsn-01"]


def test_ladder_steps_are_ordered_and_near_the_card() -> None:
    tree = load_published("timm_rtx3090")
    ladder = tree["ladder"]
    for model in tree["models"]:
        batches = [step[0] for step in model["steps"]]
        assert batches == sorted(batches, reverse=True) and set(batches) <= set(ladder)
        assert model["ran"] in ladder and model["ran"] < 512
        for step in model["steps"]:
            if len(step) > 2:
                _, live, counted, reserved, cap, calm = step
                assert live <= counted <= reserved and live <= cap <= calm <= reserved


def test_reports_keep_the_link_to_the_thread() -> None:
    for row in load_published("video_memory_user_reports")["rows"]:
        assert row["source"].startswith("https://github.com/")
        assert row["outcome"] in ("fit", "oom")
