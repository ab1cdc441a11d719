"""The models ClipFit knows: real library models, built with random weights for any clip shape.

Each `ModelSpec` names the library's own constructor and what it takes; nothing is re-implemented
here. Clips are (B, C, T, H, W) for layout BCTHW and (B, T, C, H, W) for BTCHW.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

CLASSES = 400  # Kinetics-400, as the published rows
MASK_RATIO = 0.9  # VideoMAE, https://arxiv.org/abs/2203.12602
PATCH, TUBELET = 16, 2  # of every ViT here, pixels and frames

FRAMES = (8, 16, 32, 64)
SIZES = (112, 160, 224, 384)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model.

    family: group for calibration. make(frames, size, attention) builds the module. reference:
    frames and size of the published training recipe. head: names of the modules a linear probe
    trains. frames, sizes: what is traced. attention: kinds the library offers, its default first.
    """

    id: str
    title: str
    family: str
    source: str
    make: Callable[[int, int, str], nn.Module]
    reference: tuple[int, int]
    head: tuple[str, ...]
    layout: str = "BCTHW"
    frames: tuple[int, ...] = FRAMES
    sizes: tuple[int, ...] = SIZES
    attention: tuple[str, ...] = ("eager",)
    pretraining: bool = False
    extra_shapes: tuple[tuple[int, int], ...] = field(default=())

    def shapes(self) -> list[tuple[int, int]]:
        """Traced (frames, size), the published one first."""
        grid = [(frames, size) for frames in self.frames for size in self.sizes]
        rest = [shape for shape in (*grid, *self.extra_shapes) if shape != self.reference]
        return [self.reference, *dict.fromkeys(rest)]

    @property
    def library(self) -> str:
        """The package the model comes from."""
        return self.source.split(".")[0]


# torchvision


def _torchvision(name: str, frames: int, size: int, attention: str) -> nn.Module:
    return getattr(importlib.import_module("torchvision.models.video"), name)(num_classes=CLASSES)


def _mvit(name: str, frames: int, size: int, attention: str) -> nn.Module:
    """torchvision fixes the shape of its MViT inside the constructor: set it in the call below."""
    module = importlib.import_module("torchvision.models.video.mvit")
    original = module._mvit

    def shaped(*args: Any, **kwargs: Any) -> nn.Module:
        return original(*args, **{**kwargs, "temporal_size": frames, "spatial_size": (size, size)})

    with mock.patch.object(module, "_mvit", shaped):
        return getattr(module, name)(num_classes=CLASSES)


class PerFrame(nn.Module):
    """An image model on every frame, scores averaged over time: TSN's consensus."""

    def __init__(self, image_model: nn.Module) -> None:
        super().__init__()
        self.image_model = image_model

    def forward(self, clips: Tensor) -> Tensor:
        """(B, C, T, H, W) -> (B, classes)."""
        batch, _, frames = clips.shape[:3]
        images = clips.transpose(1, 2).flatten(0, 1)
        return self.image_model(images).view(batch, frames, -1).mean(1)


def _tsn(name: str, frames: int, size: int, attention: str) -> nn.Module:
    return PerFrame(
        getattr(importlib.import_module("torchvision.models"), name)(num_classes=CLASSES)
    )


# transformers


def _transformers(model: str, config: Mapping[str, Any], attention: str) -> nn.Module:
    """A transformers model from its configuration, with the attention asked for."""
    module = importlib.import_module("transformers")
    settings = getattr(module, model.partition("For")[0] + "Config")(**config)
    settings._attn_implementation = attention
    return getattr(module, model)(settings)


def _timesformer(frames: int, size: int, attention: str) -> nn.Module:
    config = {"num_frames": frames, "image_size": size, "num_labels": CLASSES}
    return _transformers("TimesformerForVideoClassification", config, attention)


# width, depth, heads, decoder width, decoder depth, decoder heads: configurations MCG-NJU published
# at https://huggingface.co/MCG-NJU (videomae-small, -base, -large, -huge)
VIDEOMAE = {
    "s": (384, 12, 6, 192, 4, 3),
    "b": (768, 12, 12, 384, 4, 6),
    "l": (1024, 24, 16, 512, 12, 8),
    "h": (1280, 32, 16, 640, 12, 8),
}


def _videomae(variant: str, model: str, frames: int, size: int, attention: str) -> nn.Module:
    width, depth, heads, decoder_width, decoder_depth, decoder_heads = VIDEOMAE[variant]
    config = {
        "image_size": size,
        "num_frames": frames,
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": heads,
        "intermediate_size": 4 * width,
        "decoder_hidden_size": decoder_width,
        "decoder_num_hidden_layers": decoder_depth,
        "decoder_num_attention_heads": decoder_heads,
        "decoder_intermediate_size": 4 * decoder_width,
        "num_labels": CLASSES,
    }
    return _transformers(model, config, attention)


def _vivit(frames: int, size: int, attention: str) -> nn.Module:
    config = {"image_size": size, "num_frames": frames, "num_labels": CLASSES}
    return _transformers("VivitForVideoClassification", config, attention)


# width, depth, heads, MLP ratio: https://huggingface.co/facebook (vjepa2-vitl, -vith, -vitg)
VJEPA2 = {"l": (1024, 24, 16, 4.0), "h": (1280, 32, 16, 4.0), "g": (1408, 40, 22, 48 / 11)}


def _vjepa2(variant: str, frames: int, size: int, attention: str) -> nn.Module:
    """V-JEPA 2 with its attentive classifier; the predictor, unused in fine-tuning, is removed."""
    width, depth, heads, mlp_ratio = VJEPA2[variant]
    config = {
        "crop_size": size,
        "frames_per_clip": frames,
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": heads,
        "mlp_ratio": mlp_ratio,
        "num_labels": CLASSES,
    }
    model = _transformers("VJEPA2ForVideoClassification", config, attention)
    model.vjepa2.predictor = nn.Identity()
    return model


# pytorchvideo


def _pytorchvideo(module: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its imports warn on current torchvision
        return importlib.import_module(f"pytorchvideo.models.{module}")


def _resnet3d(hub: str, name: str, frames: int, size: int, attention: str) -> nn.Module:
    """A pytorchvideo network with a global pool: its own pool takes one clip shape only."""
    model = getattr(_pytorchvideo(f"hub.{hub}"), name)(model_num_class=CLASSES)
    model.blocks[-1].pool = nn.AdaptiveAvgPool3d(1)
    return model


class SlowFast(nn.Module):
    """SlowFast fed from one clip: every fourth frame goes to the slow pathway."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, clips: Tensor) -> Tensor:
        """(B, C, T, H, W) -> (B, classes)."""
        return self.network([clips[:, :, ::4].contiguous(), clips])


def _slowfast(frames: int, size: int, attention: str) -> nn.Module:
    network = _pytorchvideo("hub.slowfast").slowfast_r50(model_num_class=CLASSES)
    network.blocks[-2].pool = nn.ModuleList(nn.AdaptiveAvgPool3d(1) for _ in range(2))
    return SlowFast(network)


def _x3d(frames: int, size: int, attention: str) -> nn.Module:
    """X3D-S and -M are one network, published for 13 frames of 160 and 16 frames of 224 pixels."""
    create = _pytorchvideo("x3d").create_x3d
    return create(input_clip_length=frames, input_crop_size=size, model_num_class=CLASSES)


# The registry

FUSED_OR_NOT = ("sdpa", "eager")


def _specs() -> Iterator[ModelSpec]:
    for size in "tsb":
        yield ModelSpec(
            f"video-swin-{size}", f"Video Swin-{size.upper()}", "swin",
            f"torchvision.models.video.swin3d_{size}", partial(_torchvision, f"swin3d_{size}"),
            (32, 224), ("head",),
        )  # fmt: skip
    for name, title in (("mvit_v1_b", "MViT v1-B"), ("mvit_v2_s", "MViT v2-S")):
        yield ModelSpec(
            name.replace("_", "-"), title, "mvit", f"torchvision.models.video.{name}",
            partial(_mvit, name), (16, 224), ("head",), sizes=(160, 224),
        )  # fmt: skip
    for name, title in (("r3d_18", "R3D-18"), ("mc3_18", "MC3-18"), ("r2plus1d_18", "R(2+1)D-18")):
        yield ModelSpec(
            name.replace("_", "-"), title, "resnet3d", f"torchvision.models.video.{name}",
            partial(_torchvision, name), (16, 112), ("fc",), sizes=(112, 160, 224),
        )  # fmt: skip
    yield ModelSpec(
        "s3d", "S3D", "s3d", "torchvision.models.video.s3d", partial(_torchvision, "s3d"),
        (64, 224), ("classifier",), frames=(16, 32, 64), sizes=(224,),  # its pool takes 224 up
    )  # fmt: skip
    for depth in (50, 101):
        yield ModelSpec(
            f"tsn-r{depth}", f"TSN ResNet-{depth}", "resnet2d",
            f"torchvision.models.resnet{depth}", partial(_tsn, f"resnet{depth}"),
            (8, 224), ("fc",), frames=(3, 8, 16, 32), sizes=(160, 224),
        )  # fmt: skip
    yield from _transformers_specs()
    yield from _pytorchvideo_specs()


def _transformers_specs() -> Iterator[ModelSpec]:
    divided = partial(
        ModelSpec, family="timesformer", source="transformers.TimesformerForVideoClassification",
        make=_timesformer, head=("classifier",), layout="BTCHW",
    )  # fmt: skip
    yield divided("timesformer-b", "TimeSformer-B", reference=(8, 224))
    yield divided(
        "timesformer-hr",
        "TimeSformer-HR",
        reference=(16, 448),
        frames=(8, 16, 32),
        sizes=(336, 448),
    )
    yield divided(
        "timesformer-l", "TimeSformer-L", reference=(96, 224), frames=(64, 96), sizes=(224,)
    )
    joint = partial(ModelSpec, family="vit", layout="BTCHW", attention=FUSED_OR_NOT)
    for size in VIDEOMAE:
        source = "transformers.VideoMAEForVideoClassification"
        yield joint(
            f"videomae-{size}", f"VideoMAE-{size.upper()}", source=source,
            make=partial(_videomae, size, source.split(".")[1]), reference=(16, 224),
            head=("fc_norm", "classifier"),
        )  # fmt: skip
    for size in VIDEOMAE:
        source = "transformers.VideoMAEForPreTraining"
        yield joint(
            f"videomae-{size}-pretrain", f"VideoMAE-{size.upper()} pre-training", source=source,
            make=partial(_videomae, size, source.split(".")[1]), reference=(16, 224), head=(),
            frames=(16, 32), sizes=(160, 224), pretraining=True,
        )  # fmt: skip
    yield joint(
        "vivit-b", "ViViT-B", source="transformers.VivitForVideoClassification", make=_vivit,
        reference=(32, 224), head=("classifier",),
    )  # fmt: skip
    for size in VJEPA2:
        yield joint(
            f"vjepa2-{size}", "V-JEPA 2 ViT-" + {"l": "L", "h": "H", "g": "g"}[size],
            source="transformers.VJEPA2ForVideoClassification", make=partial(_vjepa2, size),
            reference=(16, 256), head=("pooler", "classifier"), frames=(8, 16, 32, 64),
            sizes=(224, 256, 384),
        )  # fmt: skip


def _pytorchvideo_specs() -> Iterator[ModelSpec]:
    hub = "pytorchvideo.models.hub"
    conv = partial(ModelSpec, sizes=(160, 224))
    yield conv(
        "slowfast-r50", "SlowFast-R50", "slowfast", f"{hub}.slowfast_r50", _slowfast,
        (32, 224), ("network.blocks.6",), frames=(16, 32, 64),
    )  # fmt: skip
    yield conv(
        "slowonly-r50", "SlowOnly-R50", "resnet3d", f"{hub}.slow_r50",
        partial(_resnet3d, "resnet", "slow_r50"), (8, 224), ("blocks.5",),
    )  # fmt: skip
    yield conv(
        "i3d-r50", "I3D-R50", "resnet3d", f"{hub}.i3d_r50",
        partial(_resnet3d, "resnet", "i3d_r50"), (8, 224), ("blocks.6",),
    )  # fmt: skip
    for name, shape in (("S", (13, 160)), ("M", (16, 224))):
        yield conv(
            f"x3d-{name.lower()}", f"X3D-{name}", "x3d", "pytorchvideo.models.x3d.create_x3d",
            _x3d, shape, ("blocks.5",), frames=(8, 13, 16, 32),
        )  # fmt: skip
    yield conv(
        "csn-r101", "CSN-R101", "csn", f"{hub}.csn_r101",
        partial(_resnet3d, "csn", "csn_r101"), (32, 224), ("blocks.5",), frames=(8, 16, 32),
    )  # fmt: skip


MODELS: Mapping[str, ModelSpec] = {spec.id: spec for spec in _specs()}


def find(model: str) -> ModelSpec:
    """The spec of a model id; ValueError names the ids there are."""
    if model not in MODELS:
        raise ValueError(f"model is {model!r}; allowed are {', '.join(sorted(MODELS))}")
    return MODELS[model]


def build_model(spec: ModelSpec, frames: int, size: int, attention: str, device: str) -> nn.Module:
    """The model in training mode on `device`; on meta without reading any initial value."""
    with silent_initialisers(device == "meta"), torch.device(device):
        try:
            return spec.make(frames, size, attention).train()
        except (RuntimeError, ValueError, AssertionError) as error:
            raise ValueError(
                f"{spec.title} cannot be built for {frames} frames of {size} pixels: {error}"
            ) from error


def clip_shape(spec: ModelSpec, frames: int, size: int) -> tuple[int, ...]:
    """Shape of one clip without the batch."""
    return (frames, 3, size, size) if spec.layout == "BTCHW" else (3, frames, size, size)


def patch_mask(frames: int, size: int, batch: int) -> Tensor:
    """Mask of VideoMAE's pre-training, (batch, tokens) on the CPU: equally many in every clip."""
    tokens = (frames // TUBELET) * (size // PATCH) ** 2
    per_tube = tokens // (frames // TUBELET)
    mask = torch.zeros(batch, tokens, dtype=torch.bool)
    mask.view(batch, -1, per_tube)[..., : int(MASK_RATIO * per_tube)] = True
    return mask


@contextmanager
def silent_initialisers(active: bool) -> Iterator[None]:
    """No-op ``torch.nn.init`` while `active`: some of its functions read data, meta has none."""
    with ExitStack() as stack:
        if active:
            for name in dir(nn.init):
                if name.endswith("_") and not name.startswith("_"):
                    stack.enter_context(mock.patch.object(nn.init, name, _unchanged))
            videomae = "transformers.models.videomae.modeling_videomae.get_sinusoid_encoding_table"
            stack.enter_context(mock.patch(videomae, _positions))
        yield


def _unchanged(tensor: Tensor, *_: Any, **__: Any) -> Tensor:
    return tensor


def _positions(tokens: int, width: int) -> Tensor:
    """Shape of VideoMAE's table of positions, on the CPU as in the library; one number is kept."""
    return torch.zeros(1, 1, 1, device="cpu").expand(1, tokens, width)


# Users' own models


@dataclass(frozen=True, slots=True)
class Builder:
    """A user's model: the function that makes it and what its file may define beside it."""

    make: Callable[[], nn.Module]
    loss: Callable[[Any], Tensor] | None
    inputs: Callable[[int], Any] | None
    blocks: Callable[[nn.Module], Any] | None


def load_builder(text: str) -> Builder:
    """The builder of `FILE.py:FUNCTION`.

    The function takes no argument and returns a module on (B, *input). `loss(outputs)`,
    `inputs(batch)` and `blocks(model)` in the same file are used where they exist.
    """
    file, _, function = text.rpartition(":")
    if not file or not Path(file).is_file():
        raise ValueError(
            f"builder is {text!r}; give an existing file and a function: FILE.py:FUNCTION"
        )
    spec = importlib.util.spec_from_file_location("clipfit_builder", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, function, None)):
        raise ValueError(f"builder is {text!r}; {file} defines no function {function!r}")
    beside = {name: getattr(module, name, None) for name in ("loss", "inputs", "blocks")}
    return Builder(getattr(module, function), **beside)
