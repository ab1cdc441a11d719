"""The published speed data, the constants fitted to it, and what the docs claim of it."""

from __future__ import annotations

import math

import pytest

from calc import accuracy_speed
from calc.measurements import load_cards, load_published
from calc.speed_constants import CARD_FACTOR
from calc.speed_rows import STACK_WEIGHT, pairs, published, traced
from tools import fit_speed


def test_rows_are_whole() -> None:
    cards = load_cards()
    for row in published():
        assert row.card in cards, row
        assert row.gpus in (1, 2, 4, 8), row
        assert row.precision in ("half", "tf32", "fp32"), row
        assert row.batch is None or row.batch >= 1, row
        assert row.per_s > 0, row
        assert row.mode in ("train", "infer"), row


def test_no_row_stands_twice_and_stacks_are_known() -> None:
    rows = published()
    assert len(set(rows)) == len(rows)
    stacks = {stack["name"] for stack in load_published("throughput")["stacks"]}
    assert set(STACK_WEIGHT) <= stacks
    assert all(
        stack["source"] and stack["path"] for stack in load_published("throughput")["stacks"]
    )


def test_ratios_agree_with_the_throughput_they_come_from() -> None:
    """Lambda's pairs are in both files: one was divided, the other was not."""
    per_s = {
        (row.workload, row.precision, row.card): row.per_s
        for row in published()
        if row.stack == "lambda-pt1.13" and row.gpus == 1 and row.card != "A100 40GB PCIe"
    }
    checked = 0
    for pair in pairs():
        if pair.stack == "lambda-pt1.13" and pair.a100 == "A100 40GB SXM4":
            a100 = per_s[pair.workload, pair.precision, pair.a100]
            ratio = a100 / per_s[pair.workload, pair.precision, "RTX 4090 24GB"]
            assert ratio == pytest.approx(pair.ratio, abs=0.002), pair
            checked += 1
    assert checked == 14


def test_traced_work_is_work() -> None:
    for (name, mode, precision), one in traced().items():
        assert one.params > 0, name
        flops = sum(work.gflop + work.gflop_per_clip for work in one.work.values())
        assert flops > 0, (name, mode, precision)
        for kind, work in one.work.items():
            figures = (work.gflop, work.gflop_per_clip, work.gib, work.gib_per_clip, work.kernels)
            assert all(math.isfinite(x) and x >= 0 for x in figures), (name, kind)


def test_known_models_have_their_known_work() -> None:
    """ResNet-50: 4.09 GMAC forward; BERT-base at 384 tokens: 6 x 85 M x 384 and attention."""
    resnet = traced()["resnet50", "train", "amp"].work
    gflop = sum(work.gflop_per_clip for work in resnet.values())
    assert gflop == pytest.approx(3 * 2 * 4.09, rel=0.03)
    bert = traced()["bert-base@384", "train", "amp"].work["gemm_half"].gflop_per_clip
    matrices = 6 * 85.0e6 * 384 / 1e9
    scores = 3 * 12 * 2 * 2 * 384 * 384 * 768 / 1e9
    assert bert == pytest.approx(matrices + scores, rel=0.02)


def test_constants_are_those_the_rows_give() -> None:
    written = (fit_speed.TARGET).read_text()
    assert written == fit_speed.render(fit_speed.constants()), (
        "run python -m tools.fit_speed --write and give the change a line in CHANGELOG.md"
    )


def test_every_card_of_the_table_has_rates() -> None:
    from calc.attainable import rates

    for card in load_cards().values():
        for precision in ("fp16", "bf16", "tf32", "fp32"):
            found = rates(card, precision)
            if found is None:
                assert None in (card.bandwidth_gb_s.value, card.fp32_tflops.value), card.name
            else:
                assert found.range_factor > 1


def test_title_pair_is_near_the_published_pairs() -> None:
    for precision in ("half", "tf32"):
        published_pairs = sorted(
            pair.ratio
            for pair in pairs()
            if (pair.precision, pair.a100) == (precision, "A100 40GB SXM4")
        )
        factors = CARD_FACTOR[precision]
        ours = factors["A100 40GB SXM4"] / factors["RTX 4090 24GB"]
        assert ours == pytest.approx(published_pairs[len(published_pairs) // 2], rel=0.06)


@pytest.mark.parametrize(
    ("name", "median", "p90"),
    [
        ("step time, family left out, RTX 3090", 0.07, 0.32),
        ("- without grouped convolutions", 0.06, 0.20),
        ("ratio A100 40GB / RTX 4090, workload left out", 0.08, 0.45),
        ("step time, new model, other software, any card", 0.18, 0.60),
    ],
)
def test_claims_hold(name: str, median: float, p90: float) -> None:
    found = accuracy_speed.report()["scores"][name]
    assert found is not None
    assert found.median <= median
    assert found.p90 <= p90


def test_ranges_cover() -> None:
    for name, found in accuracy_speed.report()["scores"].items():
        if found is not None and found.coverage is not None and found.groups >= 7:
            assert found.coverage[1] >= 0.90, name
