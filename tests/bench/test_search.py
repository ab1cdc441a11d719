"""The largest batch: few probes, right answer, the step below beside it."""

from __future__ import annotations

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.__main__ import main
from bench.search import largest
from tests.bench.measuring import flags, only_run


@settings(deadline=None)
@given(st.integers(0, 5000), st.integers(1, 300), st.integers(1, 8), st.integers(8, 4096))
def test_finds_the_largest_batch_and_asks_each_at_most_once(true, start, step, limit):
    asked = []

    def fits(batch):
        asked.append(batch)
        return batch <= true

    assert largest(fits, start, step, limit) == min(true, limit) // step * step
    assert len(asked) == len(set(asked)) and max(asked) <= limit
    assert len(asked) <= 2 * math.log2(limit) + 3
    assert all(batch % step == 0 for batch in asked)


def search(function, folder, capsys, *more):
    """`python -m bench max-batch` on a tiny model; its result."""
    assert main(["max-batch", *flags(function, folder, (), *more, "--json")]) == 0
    return json.loads(capsys.readouterr().out)


def test_search_on_real_out_of_memory_errors(tmp_path, capsys):
    found = search("out_of_memory_above_five", tmp_path, capsys, "--memory-gib", "24")
    assert found["max_batch"] == 5 and found["memory_limit_gib"] == 24.0
    assert [row["batch"] for row in found["rows"]] == [5, 4]
    assert all(row["clips_per_s"] > 0 for row in found["rows"])
    rows = {row.batch: row for row in only_run(tmp_path).rows}
    assert {batch for batch, row in rows.items() if row.status == "oom"} == {6, 8}
    assert rows[5].memory_limit_gib == 24.0 and rows[6].oom.requested_mib == 2048.0


def test_search_goes_on_from_the_rows_of_its_file(tmp_path, capsys):
    search("out_of_memory_above_five", tmp_path, capsys, "--start", "5")
    before = only_run(tmp_path)
    search("out_of_memory_above_five", tmp_path, capsys, "--start", "5", "--resume")
    assert only_run(tmp_path) == before


def test_search_stops_at_its_limit_and_keeps_to_its_step(tmp_path, capsys):
    found = search("net", tmp_path, capsys, "--limit", "6", "--step", "2")
    assert [row["batch"] for row in found["rows"]] == [6, 4]


def test_search_says_it_in_words(tmp_path, capsys):
    words = flags("out_of_memory_above_five", tmp_path, (), "--start", "5", "--memory-gib", "24")
    assert main(["max-batch", *words]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "largest batch 5 within 24 GiB: tiny-out-of-memory-above-five fp32 4x16"
    )
    assert [line.split(":")[0] for line in rest] == ["  batch 5", "  batch 4"]


def test_a_model_that_does_not_run_is_no_answer(tmp_path, capsys):
    words = flags("net", tmp_path)
    words[words.index("3,4,16,16")] = "3,4,8,8"
    assert main(["max-batch", *words]) == 2
    assert "batch 1 does not run: in forward of step 0" in capsys.readouterr().err
