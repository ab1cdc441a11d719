"""The one module of calc that reads files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from calc import measurements
from calc.measurements import DataError, ReviewFile

CARDS = """schema: 1
sources:
  a: {title: A datasheet, url: "https://example.org/a"}
cards:
- name: X 8GB
  architecture: Ampere
  compute_capability: "8.6"
  marketed_gb: 8
  memory_type: GDDR6
  torch_total_gib_low: null
  torch_total_gib_typical: {value: 7.6, source: a}
  driver_total_gib: null
  bandwidth_gb_s: {value: 448, source: a}
  dense_fp16_tflops: {value: 40, source: a}
  dense_bf16_tflops: {value: 40, source: a}
  dense_tf32_tflops: {value: 20, source: a}
  fp32_tflops: {value: 20, source: a}
  measured_fp16_tflops: null
  measured_fp32_tflops: null
  fp16_accumulate_tflops: null
  sparse_fp16_tflops: null
  advertised_tflops: null
  l2_mb: null
  sms: {value: 46, source: a}
  nvlink_gb_s_per_direction: {value: null, note: no NVLink}
  peer_access: false
  pcie_gen: 4
  tdp_w: {value: 220, source: a}
  ecc: false
  launch: "2020-09-17"
  source: a
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small measurements folder with one card."""
    folder = tmp_path / "measurements"
    (folder / "runs").mkdir(parents=True)
    (folder / "models").mkdir()
    (folder / "cards.yaml").write_text(CARDS)
    (folder / "prices.yaml").write_text("schema: 1\nsources: {}\nprices: []\n")
    return folder


def test_card_is_built_with_the_address_of_its_source(root: Path) -> None:
    card = measurements.load_cards(root)["X 8GB"]
    assert card.bandwidth_gb_s.value == 448
    assert card.bandwidth_gb_s.source == "https://example.org/a"
    assert card.measured_fp16_tflops.value is None


def test_total_memory_is_estimated_only_where_it_is_not_published(root: Path) -> None:
    card = measurements.load_cards(root)["X 8GB"]
    assert card.total_is_published
    assert card.total_gib == (7.5, 7.6)  # low: 8 less half a GiB


def test_all_problems_of_a_file_come_at_once(root: Path) -> None:
    broken = CARDS.replace("pcie_gen: 4", "pcie_gen: four").replace("ecc: false\n", "ecg: false\n")
    (root / "cards.yaml").write_text(broken.replace("{value: 46, source: a}", "{value: 46}"))
    with pytest.raises(DataError) as error:
        measurements.load_cards(root)
    assert set(error.value.problems) == {
        "measurements/cards.yaml: cards[0].pcie_gen: is 'four'; allowed is a whole number",
        "measurements/cards.yaml: cards[0].ecc: is missing; allowed is true or false",
        "measurements/cards.yaml: cards[0].ecg: is an unknown key; ecc may be meant",
        "measurements/cards.yaml: cards[0].sms: has a value but no source; "
        "name one of the sources at the top of the file",
    }


def test_unknown_source_is_named(root: Path) -> None:
    (root / "cards.yaml").write_text(
        CARDS.replace("{value: 46, source: a}", "{value: 46, source: b}")
    )
    with pytest.raises(DataError, match=r"cards\[0\]\.sms: source 'b' is not in the list"):
        measurements.load_cards(root)


def test_a_card_may_stand_only_once(root: Path) -> None:
    entry = CARDS[CARDS.index("- name") :]
    (root / "cards.yaml").write_text(CARDS + entry)
    with pytest.raises(DataError, match="X 8GB stands twice"):
        measurements.load_cards(root)


def test_prices_of_an_unknown_card_are_refused(root: Path) -> None:
    text = "schema: 1\nsources: {}\nprices:\n- card: Y\n  on_demand: null\n"
    (root / "prices.yaml").write_text(text)
    with pytest.raises(DataError, match=r"Y is not in cards\.yaml; add it there first"):
        measurements.load_prices(root)


def test_problems_of_all_files_are_listed(root: Path) -> None:
    (root / "models" / "a.yaml").write_text("schema: 2\n")
    (root / "models" / "b.yaml").write_text("x: [\n")
    (root / "runs" / "c.yaml").write_bytes(b"\xff\xfe")
    found = measurements.problems(root)
    assert any(
        line.startswith("measurements/models/a.yaml: schema: is 2; allowed is 1") for line in found
    )
    assert any(line.startswith("measurements/models/b.yaml: line 2: is not YAML") for line in found)
    assert "measurements/runs/c.yaml: is not text in UTF-8; save it as UTF-8" in found


def test_a_profile_must_be_called_like_its_model(root: Path) -> None:
    with pytest.raises(DataError, match="model is 'nothing'; allowed are none yet"):
        measurements.load_profile("nothing", root)


def test_an_old_format_is_read_through_its_migrations(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(tree: dict[str, Any]) -> dict[str, Any]:
        return {"schema": 1, "accepted": tree["listed"]}

    (root / "reviewed.yaml").write_text("schema: 0\nlisted: [{file: a, by: b, why: c}]\n")
    with pytest.raises(DataError, match="schema: is 0; allowed is 1"):
        measurements.read(ReviewFile, root / "reviewed.yaml")
    monkeypatch.setitem(measurements.MIGRATIONS, (ReviewFile, 0), rename)
    assert measurements.read(ReviewFile, root / "reviewed.yaml").accepted[0].file == "a"


def test_data_version_changes_with_any_byte_but_not_with_line_ends(root: Path) -> None:
    def version() -> str:
        measurements.data_version.cache_clear()
        return measurements.data_version(root)

    before = version()
    (root / "cards.yaml").write_bytes(CARDS.replace("\n", "\r\n").encode())
    assert version() == before
    (root / "cards.yaml").write_text(CARDS.replace("448", "449"))
    assert version() != before


def test_cards_and_prices_load_in_50_ms() -> None:
    def load() -> float:
        measurements.load_cards.cache_clear()
        measurements.load_prices.cache_clear()
        start = time.process_time()
        measurements.load_prices()  # loads the cards too
        return time.process_time() - start

    assert min(load() for _ in range(5)) < 0.050
