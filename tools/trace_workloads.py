"""Trace the work of public benchmarks' models, for fitting and grading the model of speed.

    python -m tools.trace_workloads --sheets FOLDER    # all, about 15 minutes on one core
    python -m tools.trace_workloads --sheets FOLDER --only timm/resnet50

Writes `measurements/published/speed_work.yaml`. The work is counted by `bench.trace`, as for the
models of ClipFit, on the step that the benchmark ran: its precision, its attention, its loss.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from bench import trace as bench_trace
from bench.models import silent_initialisers
from bench.step import Setup, StepConfig, Tools, autocast, forward
from bench.trace import PRIME_BATCH, Recorder, Work

TARGET = Path("measurements/published/speed_work.yaml")
GIB = 2**30


@dataclass(frozen=True)
class Workload:
    """One model of a benchmark. family: left out together when the model of speed is graded.

    make: builds the module; inputs: one batch; fused: attention by fused kernels.
    """

    name: str
    family: str
    mode: str  # train | infer
    precision: str  # amp | fp32
    make: Callable[[], nn.Module]
    inputs: Callable[[], Tensor]
    fused: bool = False
    tokens: int = 0  # targets per item, for language models

    @property
    def key(self) -> str:
        """Name with the mode and precision it was traced in."""
        return f"{self.name} {self.mode} {self.precision}"


def trace_work(workload: Workload) -> dict[str, Any]:
    """Work of one forward (infer) or forward and backward (train), as one record."""
    config = StepConfig(
        batch=PRIME_BATCH,
        precision="fp16" if workload.precision == "amp" else "fp32",
        attention="sdpa" if workload.fused else "eager",
        mode=workload.mode,
    )
    with silent_initialisers(True), torch.device("meta"):
        module, inputs = workload.make(), workload.inputs()
        targets = torch.zeros(PRIME_BATCH * max(1, workload.tokens), dtype=torch.long)
    setup = Setup(module, inputs, targets, lambda out, wanted: _loss(out, wanted))
    recorder = _run(config, setup, train=workload.mode == "train")
    return {
        "name": workload.name,
        "family": workload.family,
        "mode": workload.mode,
        "precision": workload.precision,
        "params": sum(p.numel() for p in module.parameters()),
        "tensors": sum(1 for _ in module.parameters()),
        "work": {kind: row(work) for kind, work in sorted(recorder.work.items())},
    }


def _run(config: StepConfig, setup: Setup, train: bool) -> Recorder:
    recorder = WorkRecorder(PRIME_BATCH)
    tools = Tools(None, None, lambda: autocast(config, "meta"))
    setup.model.train(train)
    recorder.phase = "forward"
    with recorder:
        loss = forward(setup, tools)
        if train:
            loss.backward()
    return recorder


class WorkRecorder(Recorder):
    """Counts work only: which storage lives when does not matter here."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view and func not in bench_trace.FREE:
            outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
            self._count(func, args, outputs)
        return result


def _loss(outputs: Any, targets: Tensor) -> Tensor:
    logits = getattr(outputs, "logits", getattr(outputs, "start_logits", outputs))
    logits = logits[0] if isinstance(logits, tuple | list) else logits
    if logits.ndim == 3:
        logits = logits.flatten(0, 1)
    return nn.functional.cross_entropy(logits, targets[: len(logits)])


def row(work: Work) -> list[float]:
    """GFLOP fixed, per item, GiB fixed, per item, kernels: the form of a model profile.

    >>> row(Work(flops_per_clip=2_000_000_000, bytes=2**30, kernels=3))
    [0.0, 2.0, 1.0, 0.0, 3]
    """
    gflop = (work.flops / 1e9, work.flops_per_clip / 1e9)
    gib = (work.bytes / GIB, work.bytes_per_clip / GIB)
    return [*(float(f"{figure:.5g}") for figure in (*gflop, *gib)), work.kernels]


def with_grouped(func: Any, args: Any, inputs: list[Tensor], outputs: list[Tensor]) -> Any:
    """`bench.trace.work_of`, with grouped convolutions of several channels in a class of their own.

    No video model has them, and they behave unlike depthwise ones.
    """
    kind, flops, kernels = _WORK_OF(func, args, inputs, outputs)
    if kind.startswith("dwconv"):
        weight = args[2] if func.overloadpacket is torch.ops.aten.convolution_backward else args[1]
        if weight.shape[1] > 1:
            kind = kind.replace("dwconv", "groupconv")
    return kind, flops, kernels


_WORK_OF = bench_trace.work_of


# Workloads


def timm_family(name: str) -> str:
    """Family of a timm model: the architecture without size, variant and weights.

    >>> [timm_family(n) for n in ("tf_efficientnet_b0_ns", "swsl_resnext50_32x4d")]
    ['efficientnet', 'resnext']
    """
    plain = re.sub(r"^(tf|gluon|swsl|ssl|ig|legacy|seresnext|adv_inception)_", "", name)
    return re.split(r"[_\d]", plain)[0]


def _timm(name: str, size: int, mode: str, fused: bool) -> Workload:
    import timm

    def make() -> nn.Module:
        timm.layers.set_fused_attn(fused)
        try:
            return timm.create_model(name, img_size=size)
        except TypeError:
            return timm.create_model(name)

    family = timm_family(name)
    return Workload(f"timm/{name}@{size}", family, mode, "amp", make, _images(size), fused)


def _images(size: int) -> Callable[[], Tensor]:
    return lambda: torch.empty(PRIME_BATCH, 3, size, size)


def _words(length: int) -> Callable[[], Tensor]:
    return lambda: torch.zeros(PRIME_BATCH, length, dtype=torch.long)


def timm_workloads(sheets: Path) -> Iterator[Workload]:
    """The models of the published timm sheets: training (explicit attention), inference (fused)."""
    with (sheets / "timm_train_rtx3090.csv").open() as sheet:
        trained = [(line["model"], int(line["image_size"])) for line in csv.DictReader(sheet)]
    with (sheets / "throughput_published.csv").open() as sheet:
        lines = [x for x in csv.DictReader(sheet) if x["workload"].startswith("timm/")]
    inferred = []
    for line in lines:
        name, size = line["workload"].removeprefix("timm/").split("@")
        (trained if line["mode"] == "train" else inferred).append((name, int(size)))
    for name, size in dict.fromkeys(trained):
        yield _timm(name, size, "train", fused=False)
    for name, size in dict.fromkeys(inferred):
        yield _timm(name, size, "infer", fused=True)


def other_workloads() -> Iterator[Workload]:
    """Models of torchvision, transformers and timm that the other benchmarks trained."""
    import timm
    import torchvision.models as tv

    vision: dict[str, Callable[[], nn.Module]] = {
        "resnet50": tv.resnet50,
        "vgg19": tv.vgg19,
        "convnext-large": tv.convnext_large,
        "regnet-y-128gf": lambda: timm.create_model("regnety_1280"),
        "vit-b16": tv.vit_b_16,
        "swin-s3-base": lambda: timm.create_model("swin_s3_base_224"),
        "focalnet-base": lambda: timm.create_model("focalnet_base_lrf"),
    }
    for name, make in vision.items():
        for precision in ("amp", "fp32"):
            family = name.split("-")[0].rstrip("0123456789")
            yield Workload(name, family, "train", precision, make, _images(224))
    for precision in ("amp", "fp32"):
        yield from _language(precision)


def _language(precision: str) -> Iterator[Workload]:
    import transformers as tr

    large = {
        "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "intermediate_size": 4096,
    }  # fmt: skip
    eager = {"attn_implementation": "eager"}

    def bert(head: Any, **changes: Any) -> Callable[[], nn.Module]:
        return lambda: head(tr.BertConfig(**changes, **eager))

    def gpt(width: int, layers: int, heads: int, length: int) -> Callable[[], nn.Module]:
        sizes = {"n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": length}
        return lambda: tr.GPT2LMHeadModel(tr.GPT2Config(**sizes, **eager))

    def opt() -> nn.Module:
        sizes = {"hidden_size": 2048, "num_attention_heads": 32, "ffn_dim": 8192}
        return tr.OPTForCausalLM(tr.OPTConfig(num_hidden_layers=24, **sizes, **eager))

    table = [
        ("bert-base@384", bert(tr.BertForQuestionAnswering), 384, 0),
        ("bert-large@512", bert(tr.BertForMaskedLM, **large), 512, 512),
        ("bert-large@128", bert(tr.BertForMaskedLM, **large), 128, 128),
        ("gpt2-124m@1024", gpt(768, 12, 12, 1024), 1024, 1024),
        ("gpt2-large@1024", gpt(1280, 36, 20, 1024), 1024, 1024),
        ("gpt3-2.7b@2048", gpt(2560, 32, 32, 2048), 2048, 2048),
        ("opt-1.3b@2048", opt, 2048, 2048),
    ]
    for name, make, length, tokens in table:
        family = name.split("-")[0]
        yield Workload(name, family, "train", precision, make, _words(length), tokens=tokens)


# File


def write(records: Iterable[dict[str, Any]], target: Path) -> None:
    """One workload a line, in the order of name, mode and precision."""
    import timm
    import torchvision
    import transformers

    libraries = (torch, timm, torchvision, transformers)
    versions = ", ".join(f"{library.__name__} {library.__version__}" for library in libraries)
    lines = [
        "# Work of public benchmarks' models, by python -m tools.trace_workloads.",
        "# work: class: [GFLOP fixed, per item, GiB read and written fixed, per item, kernels].",
        "# train: one forward and backward without the optimizer; infer: one forward.",
        "schema: 1",
        "kind: speed-work",
        f'traced: {{date: {datetime.date.today()}, libraries: "{versions.replace("+cpu", "")}"}}',
        "workloads:",
    ]
    for record in sorted(records, key=lambda r: (r["name"], r["mode"], r["precision"])):
        lines.append("- " + json.dumps(record, separators=(", ", ": ")).replace('"', ""))
    target.write_text("\n".join(lines) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Trace everything, or what --only names; models that do not build are named and left out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sheets", type=Path, required=True, help="folder of the source sheets")
    parser.add_argument("--only", default="", help="start of the names to trace")
    parser.add_argument("--part", default="1/1", help="every n-th workload, as 1/2 and 2/2")
    parser.add_argument("--out", type=Path, default=TARGET)
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore")
    bench_trace.work_of = with_grouped
    part, parts = map(int, options.part.split("/"))
    chosen = [*other_workloads(), *timm_workloads(options.sheets)]
    records: list[dict[str, Any]] = []
    for workload in [w for w in chosen if w.name.startswith(options.only)][part - 1 :: parts]:
        try:
            records.append(trace_work(workload))
        except Exception as error:  # a library's own failure: name it, go on
            print(f"{workload.key}: {type(error).__name__}: {error}"[:160], file=sys.stderr)
        if len(records) % 25 == 0:
            write(records, options.out)
    write(records, options.out)
    print(f"{len(records)} workloads in {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
