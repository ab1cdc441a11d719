"""Verdicts of a few jobs as the page shows them: `python -m tests.ui.golden` writes them anew.

A changed sentence is a changed answer: it needs a new MODEL_VERSION or new data, and a line in the
changelog.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from calc.compare import compare
from calc.job import Job
from calc.words import render
from ui.data import data

FILE = Path(__file__).with_name("golden_verdicts.yaml")

LINKS: dict[str, Job] = {
    "model=video-swin-t&frames=32&batch=8": Job(),
    "model=video-swin-t&frames=16&batch=1": Job(frames=16, batch=1),
    "model=video-swin-b&batch=8&checkpointing=block": Job(
        model="video-swin-b", checkpointing="block"
    ),
    "model=timesformer-b&frames=8&batch=8&precision=fp32&optimizer=sgd": Job(
        model="timesformer-b", frames=8, precision="fp32", optimizer="sgd"
    ),
    "model=videomae-l&frames=16&batch=64&cards=T4+16GB": Job(
        model="videomae-l", frames=16, batch=64, cards=("T4 16GB",)
    ),
    "batch=16&cards=A100+40GB+SXM4&cards=2x+RTX+4090+24GB": Job(
        batch=16, cards=("A100 40GB SXM4", "2x RTX 4090 24GB")
    ),
    "price_kind=buy&usd_buy_a100-40gb-sxm4=6000": Job(
        price_kind="buy", buy_prices=(("A100 40GB SXM4", 6000.0),)
    ),
}


def verdicts() -> dict[str, dict[str, str]]:
    """The sentence of each job in both languages."""
    answers = {link: compare(job, data()).verdict for link, job in LINKS.items()}
    return {
        link: {lang: render(verdict, lang) for lang in ("en", "zh")}
        for link, verdict in answers.items()
    }


if __name__ == "__main__":
    FILE.write_text(
        yaml.safe_dump(verdicts(), allow_unicode=True, sort_keys=False, width=100), encoding="utf-8"
    )
