"""Verdicts of a few jobs: `python -m tests.ui.golden` writes them anew.

A changed sentence is a changed answer: it needs a new MODEL_VERSION or a changed card or profile,
and a line in the changelog. Prices and measurements change every week and must not change these:
the jobs bring their own prices, and no run counts.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import yaml

from calc import runs
from calc.compare import compare
from calc.job import Job
from calc.words import render
from ui.data import data

FILE = Path(__file__).with_name("golden_verdicts.yaml")

A100, RTX_4090, T4 = "A100 40GB SXM4", "RTX 4090 24GB", "T4 16GB"
HOURLY = ((A100, 2.0), (RTX_4090, 0.5))
PRICED = "&usd_h_a100-40gb-sxm4=2&usd_h_rtx-4090-24gb=0.5"
JOB = Job(prices=HOURLY)

LINKS: dict[str, Job] = {
    "model=video-swin-t&frames=32&batch=8" + PRICED: JOB,
    "model=video-swin-t&frames=16&batch=1" + PRICED: JOB.replace(frames=16, batch=1),
    "model=video-swin-b&batch=8&checkpointing=block" + PRICED: JOB.replace(
        model="video-swin-b", checkpointing="block"
    ),
    "model=timesformer-b&frames=8&batch=8&precision=fp32&optimizer=sgd" + PRICED: JOB.replace(
        model="timesformer-b", frames=8, precision="fp32", optimizer="sgd"
    ),
    "model=videomae-l&frames=16&batch=64&cards=T4+16GB&usd_h_t4-16gb=0.5": Job(
        model="videomae-l", frames=16, batch=64, cards=(T4,), prices=((T4, 0.5),)
    ),
    "batch=16&cards=A100+40GB+SXM4&cards=2x+RTX+4090+24GB" + PRICED: JOB.replace(
        batch=16, cards=(A100, "2x RTX 4090 24GB")
    ),
    "price_kind=buy&usd_buy_a100-40gb-sxm4=6000&usd_buy_rtx-4090-24gb=2000": Job(
        price_kind="buy", buy_prices=((A100, 6000.0), (RTX_4090, 2000.0))
    ),
}


def verdicts() -> dict[str, dict[str, str]]:
    """The sentence of each job in both languages, from formulas alone."""
    formulas = dataclasses.replace(data(), runs=runs.book(()))
    answers = {link: compare(job, formulas).verdict for link, job in LINKS.items()}
    return {
        link: {lang: render(verdict, lang) for lang in ("en", "zh")}
        for link, verdict in answers.items()
    }


if __name__ == "__main__":
    FILE.write_text(
        yaml.safe_dump(verdicts(), allow_unicode=True, sort_keys=False, width=100), encoding="utf-8"
    )
