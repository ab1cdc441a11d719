"""Prices from gpuhunt's catalogues: the real client against a small catalogue made here."""

from __future__ import annotations

import csv
import datetime
import io
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from calc import measurements
from calc.measurements import ROOT, PriceFile
from tools import refresh_prices
from tools.refresh_prices import Quote

GPUHUNT = Path(sys.prefix) / "gpuhunt"
"""In a folder of its own: its package brings a top-level `tests` that would hide ours."""

COLUMNS = (
    "instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory",
    "spot", "disk_size", "gpu_vendor", "flags", "cpu_arch", "provider_data",
)  # fmt: skip

# instance, price of the instance, GPUs, name, memory of one, spot
CATALOGUES: dict[str, list[tuple[str, float, int, str, float, bool]]] = {
    "aws": [
        ("p4d.24xlarge", 21.6, 8, "A100", 40.0, False),
        ("p4d.24xlarge", 24.0, 8, "A100", 40.0, False),  # a dearer region
        ("p4d.24xlarge", 8.0, 8, "A100", 40.0, True),
        ("g4dn.xlarge", 0.526, 1, "T4", 16.0, False),
        ("m5.large", 0.1, 0, "", 0.0, False),
    ],
    "azure": [
        ("Standard_NC24ads_A100_v4", 3.6, 1, "A100", 80.0, False),
        ("Standard_NV6ads_A10_v5", 0.45, 1, "A10", 4.0, False),  # a sixth of a card
    ],
    "lambdalabs": [("gpu_1x_a100", 1.29, 1, "A100", 40.0, False)],
    "runpod": [
        ("NVIDIA GeForce RTX 4090", 0.69, 1, "RTX4090", 24.0, False),
        ("rebuilt", 0.40, 1, "RTX4090", 48.0, False),
        ("2x", 1.10, 2, "RTX4090", 24.0, False),
    ],
    "gcp": [("a2-highgpu-1g", 3.67, 1, "A100", 40.0, False)],
}


def catalogue(rows: list[tuple[str, float, int, str, float, bool]], provider: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for instance, price, count, name, memory, spot in rows:
        writer.writerow(
            {
                "instance_name": instance,
                "location": "here",
                "price": price,
                "cpu": 8,
                "memory": 32.0,
                "gpu_count": count,
                "gpu_name": name,
                "gpu_memory": memory or "",
                "spot": str(spot),
                "disk_size": "",
                "gpu_vendor": "nvidia" if count else "",
                "flags": "",
                "cpu_arch": "x86",
                "provider_data": "{}",
            }
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(f"{provider}.csv", text.getvalue())
    return packed.getvalue()


class Catalogues(BaseHTTPRequestHandler):
    """`/<provider>/version` and `/<provider>/<version>/catalog.zip`, 404 for other providers."""

    def do_GET(self) -> None:
        provider, _, rest = self.path.strip("/").partition("/")
        if provider not in CATALOGUES:
            self.send_error(404)
            return
        version = b"20261201-1"
        body = version if rest == "version" else catalogue(CATALOGUES[provider], provider)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    if not GPUHUNT.exists():
        pytest.skip(
            f"gpuhunt is optional: pip install --target {GPUHUNT} -r tools/requirements.txt"
        )
    with ThreadingHTTPServer(("127.0.0.1", 0), Catalogues) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_bytes((ROOT / "prices.yaml").read_bytes())
    return path


def refresh(file: Path, server: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command as a maintainer runs it, with the real gpuhunt."""
    command = [sys.executable, "-m", "tools.refresh_prices", "--file", str(file), *words]
    env = {
        **os.environ,
        "GPUHUNT_CATALOG_URL": server,
        "PYTHONPATH": str(GPUHUNT),
        "no_proxy": "127.0.0.1",
    }
    return subprocess.run(
        command, cwd=ROOT.parent, env=env, capture_output=True, text=True, check=True
    )


def test_the_real_client_reduces_the_catalogue(file: Path, server: str) -> None:
    before = {price.card: price for price in measurements.read(PriceFile, file).prices}
    refresh(file, server)
    after = {price.card: price for price in measurements.read(PriceFile, file).prices}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()

    sxm = after["A100 40GB SXM4"].on_demand
    assert sxm is not None  # AWS 2.70, Lambda 1.29 (form factor not stated), Google 3.67
    assert (sxm.min_usd_per_h, sxm.median_usd_per_h, sxm.providers) == (1.29, 2.7, 3)
    assert (sxm.oldest, sxm.newest, sxm.sources) == (today, today, ("gpuhunt",))
    spot = after["A100 40GB SXM4"].spot
    assert spot is not None and (spot.min_usd_per_h, spot.providers) == (1.0, 1)
    pcie = after["A100 40GB PCIe"].on_demand
    assert pcie is not None and (pcie.min_usd_per_h, pcie.providers) == (1.29, 1)

    card = after["RTX 4090 24GB"].on_demand
    assert card is not None and card.min_usd_per_h == 0.55  # the pair, per GPU
    modified = after["RTX 4090 48GB (modified)"].on_demand
    assert modified is not None and modified.min_usd_per_h == 0.4

    assert after["A10 24GB"] == before["A10 24GB"]  # a sixth of a card is no card
    assert after["RTX 3090 24GB"] == before["RTX 3090 24GB"]  # not offered: kept, with its date
    assert after["RTX 4090 24GB"].purchase == before["RTX 4090 24GB"].purchase


def test_the_result_is_a_file_that_loads(file: Path, tmp_path: Path, server: str) -> None:
    refresh(file, server)
    (tmp_path / "cards.yaml").write_bytes((ROOT / "cards.yaml").read_bytes())
    price = measurements.load_prices(tmp_path)["RTX 4090 24GB"]
    assert price.on_demand is not None
    assert price.on_demand.sources == ("https://github.com/dstackai/gpuhunt",)


def test_dry_run_writes_nothing(file: Path, server: str) -> None:
    before = file.read_bytes()
    assert "sources: [gpuhunt]" in refresh(file, server, "--dry-run").stdout
    assert file.read_bytes() == before


def test_what_is_checked_in_is_what_the_tool_writes() -> None:
    path = ROOT / "prices.yaml"
    assert refresh_prices.render(measurements.read(PriceFile, path)) == path.read_text()


def test_each_provider_counts_once_with_its_newest_cheapest_offer() -> None:
    quotes = [
        Quote("X", "spot", "a", 1.0, "2026-01-01", "s"),
        Quote("X", "spot", "a", 5.0, "2026-02-01", "s"),
        Quote("X", "spot", "a", 4.0, "2026-02-01", "s"),
        Quote("X", "spot", "b", 2.0, "2026-01-15", "t"),
    ]
    rate = refresh_prices.reduce_quotes(quotes)["X"]["spot"]
    assert (rate.min_usd_per_h, rate.median_usd_per_h, rate.providers) == (2.0, 3.0, 2)
    assert (rate.oldest, rate.newest, rate.sources) == ("2026-01-15", "2026-02-01", ("s", "t"))


def test_old_prices_are_named() -> None:
    file = measurements.read(PriceFile, ROOT / "prices.yaml")
    found = refresh_prices.too_old(file, 90, datetime.date(2026, 12, 1))
    assert "V100 32GB SXM2 on_demand: 634 days old (newest offer 2025-03-07)" in found
    assert refresh_prices.too_old(file, 100_000, datetime.date(2026, 12, 1)) == []


def test_without_gpuhunt_one_sentence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    assert refresh_prices.main(["--file", str(file)]) == 2
