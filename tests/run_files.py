"""Run files and a small measurements folder for tests: the example of measurements/README.md."""

from __future__ import annotations

import copy
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from calc import strict_yaml
from calc.measurements import ROOT
from calc.runs import file_name

PROFILE = """schema: 1
model: video-swin-t
title: Video Swin-T
family: swin
source: torchvision.models.video.swin3d_t
attention: [eager]
params: 28158070
trainable: {full: {params: 28158070, tensors: 173}, head: {params: 307600, tensors: 2}}
weights_mib: {fp32: 107.6, amp: 107.6, bf16-pure: 53.8}
gradients_mib: {full: {fp32: 107.4, amp: 107.4, bf16-pure: 53.7}}
traced: {torch: 2.14.1, library: torchvision 0.29.1, date: 2026-12-01, command: test}
points:
- at: [32, 224, amp, none, eager, full]
  step: [[forward, 0, 8.0, 2480.0, 0, 30.0], [backward, 60.0, 8.0, 2300.0, 12.0, 210.0]]
  accumulate: [[backward, 107.4, 8.0, 2300.0, 12.0, 210.0]]
  work: {gemm_half: [0, 500.0, 0.1, 3.2, 420], memory: [0, 0, 0.3, 60.0, 900]}
"""


def example() -> dict[str, Any]:
    """The complete run of measurements/README.md, as a tree."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- example -->\n```yaml\n(.*?)```", text, re.DOTALL)
    assert found, "measurements/README.md has lost its example"
    tree = strict_yaml.parse(found[1])
    assert isinstance(tree, dict)
    return tree


def changed(change: Callable[[dict[str, Any]], object], **top: Any) -> dict[str, Any]:
    """The example with something changed."""
    tree = copy.deepcopy(example())
    tree.update(top)
    change(tree)
    return tree


def dump(tree: Any) -> str:
    """YAML as bench writes it."""
    return yaml.safe_dump(tree, sort_keys=False, default_flow_style=None, allow_unicode=True)


def folder(path: Path) -> Path:
    """A measurements folder with the real cards and prices and one small model."""
    root = path / "measurements"
    (root / "models").mkdir(parents=True)
    (root / "runs").mkdir()
    shutil.copy(ROOT / "cards.yaml", root)
    shutil.copy(ROOT / "prices.yaml", root)
    (root / "models" / "video-swin-t.yaml").write_text(PROFILE)
    return root


def store(root: Path, tree: dict[str, Any], name: str | None = None) -> Path:
    """Write a run where it belongs, or under another name."""
    path = root / "runs" / (name or file_name(tree))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(tree), encoding="utf-8")
    return path
