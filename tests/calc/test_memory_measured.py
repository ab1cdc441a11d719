from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calc.compare import compare
from calc.job import Job
from calc.measurements import load
from tests.run_files import changed, folder, store

EXAMPLE = {"frames": 32, "size": 224, "precision": "fp16", "attention": "eager"}


def plain(tmp_path: Path) -> Any:
    """Measurements without runs."""
    return load(folder(tmp_path / "plain"))


def measured(tmp_path: Path, factor: float, batch: int = 4) -> Any:
    """Measurements with a run on a 4090 that took `factor` times the formula's memory."""
    root = folder(tmp_path / "measured")
    formula_mib = allocated(load(folder(tmp_path / "formula")), batch).allocated.mid * 1024

    def change(tree: dict[str, Any]) -> None:
        row = tree["rows"][0]
        row.update(batch=batch, frames=32, size=224, attention="eager", checkpointing="none")
        row["memory"] |= {
            "first_allocated_mib": round(factor * formula_mib, 3),
            "allocated_mib": round(factor * formula_mib, 3),
            "first_reserved_mib": round(1.1 * factor * formula_mib, 3),
            "reserved_mib": round(1.1 * factor * formula_mib, 3),
        }
        tree["rows"] = [row]

    store(root, changed(change))
    return load(root)


def allocated(data: Any, batch: int = 4, **inputs: Any) -> Any:
    answer = compare(Job(**{**EXAMPLE, "batch": batch, **inputs}), data)
    return answer.offers[1].memory


def test_a_run_of_this_very_point_is_measured(tmp_path: Path) -> None:
    formula = allocated(plain(tmp_path)).allocated.mid
    found = allocated(measured(tmp_path, 1.1))
    assert found.basis == "measured"
    assert found.allocated.mid == pytest.approx(1.1 * formula)
    assert found.allocated.high / found.allocated.low < 1.03
    assert sum(found.parts_gib.values()) == found.allocated.mid
    assert found.allocated.mid <= found.cap.mid <= found.calm.mid


def test_a_run_nearby_or_on_another_card_corrects(tmp_path: Path) -> None:
    data = measured(tmp_path, 1.1)
    assert allocated(data, batch=6).basis == "corrected"
    assert allocated(data, batch=64).basis == "formula"
    assert allocated(data, optimizer="sgd").basis == "formula"
    assert compare(Job(**EXAMPLE, batch=4), data).offers[0].memory.basis == "corrected"  # A100


def test_one_run_moves_an_answer_by_at_most_15_percent(tmp_path: Path) -> None:
    formula = allocated(plain(tmp_path)).allocated.mid
    assert allocated(measured(tmp_path, 2.0)).allocated.mid == pytest.approx(1.15 * formula)


def test_what_was_measured_decides_the_fit(tmp_path: Path) -> None:
    formula = compare(Job(**EXAMPLE, batch=4), plain(tmp_path)).offers[1]
    found = compare(Job(**EXAMPLE, batch=4), measured(tmp_path, 1.12)).offers[1]
    assert found.max_batch < formula.max_batch
