"""A model's `config.json` from the Hugging Face Hub -> a traced profile, or the custom sliders.

Arithmetic and tables only: what is looked up over the network is in `ui/hub.py`. A config is
untrusted input: every value is checked before it is used, and a wrong one is named.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from calc.job import FIELD

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A video transformer as ClipFit's custom sliders describe it.

    depth: blocks; width: channels; mlp_ratio: hidden channels of a block's MLP over width;
    patch: pixels a token spans; tubelet: frames a token spans; frames, size: of one clip, if given.
    """

    depth: int
    width: int
    heads: int
    mlp_ratio: float
    patch: int
    tubelet: int
    pattern: str
    frames: int | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a config says to ClipFit.

    model: a traced profile, or "custom"; values: inputs of the job to set, by `calc.job.FIELD`.
    read: what was read from the config, as (name in the config, value).
    notes: words for what the reader must know: diffusion | frames | size | pretraining.
    """

    architecture: str
    model: str
    values: Mapping[str, int | float | str]
    read: tuple[tuple[str, int | float | str], ...]
    notes: tuple[str, ...]


class UnknownArchitecture(ValueError):
    """The config names an architecture that ClipFit has no table for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"architecture {name!r} is unknown; known are {', '.join(KNOWN)}")
        self.name = name


class BadValue(ValueError):
    """A value of the config is missing, of the wrong kind or beyond what the sliders offer."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        shown = repr(value)[:40]
        super().__init__(f"{key} is {shown}; allowed are {allowed}")
        self.key, self.value, self.allowed = key, shown, allowed


# Profiles by (width, depth, heads), from the config.json of the repositories named.
_VIDEOMAE = {
    (384, 12, 6): "videomae-s",  # MCG-NJU/videomae-small-finetuned-kinetics
    (768, 12, 12): "videomae-b",  # MCG-NJU/videomae-base
    (1024, 24, 16): "videomae-l",  # MCG-NJU/videomae-large
    (1280, 32, 16): "videomae-h",  # MCG-NJU/videomae-huge-finetuned-kinetics
}
_VJEPA2 = {
    (1024, 24, 16): "vjepa2-l",  # facebook/vjepa2-vitl-fpc64-256
    (1280, 32, 16): "vjepa2-h",  # facebook/vjepa2-vith-fpc64-256
    (1408, 40, 22): "vjepa2-g",  # facebook/vjepa2-vitg-fpc64-256
}
# TimeSformer-B, HR and L share one shape and differ in (frames, size): facebook/timesformer-*.
_TIMESFORMER = {(16, 448): "timesformer-hr", (96, 224): "timesformer-l"}

# Class of a diffusers transformer -> (pixels, frames) that one latent of its video VAE spans.
# Sources: the models' own model cards and VAE configs (Wan: vae_stride 4, 8, 8).
_LATENT = {
    "WanTransformer3DModel": (8, 4),  # Wan-AI/Wan2.1-T2V-1.3B-Diffusers
    "CogVideoXTransformer3DModel": (8, 4),  # THUDM/CogVideoX-2b
    "HunyuanVideoTransformer3DModel": (8, 4),  # hunyuanvideo-community/HunyuanVideo
}

KNOWN = ("videomae", "timesformer", "vivit", "vjepa2", *_LATENT)


def map_config(config: Config, available: Collection[str]) -> Mapped:
    """What to set in ClipFit for a config; `available` are the models that have a profile.

    >>> videomae = {"model_type": "videomae", "hidden_size": 768, "num_hidden_layers": 12,
    ...             "num_attention_heads": 12, "intermediate_size": 3072, "patch_size": 16,
    ...             "tubelet_size": 2, "num_frames": 16, "image_size": 224}
    >>> map_config(videomae, {"videomae-b"}).model
    'videomae-b'
    >>> map_config(videomae, set()).values["depth"]
    12
    >>> map_config({"model_type": "llama"}, set())
    Traceback (most recent call last):
        ...
    calc.hub_map.UnknownArchitecture: architecture 'llama' is unknown; known are videomae, \
timesformer, vivit, vjepa2, WanTransformer3DModel, CogVideoXTransformer3DModel, \
HunyuanVideoTransformer3DModel
    """
    name = architecture(config)
    if name not in KNOWN:
        raise UnknownArchitecture(name)
    shape, read = _diffusion(config, name) if name in _LATENT else _READERS[name](config)
    profile = None if name in _LATENT else _profile(name, shape)
    if profile in available:
        return _to_profile(config, name, str(profile), shape, read)
    return _to_custom(name, shape, read)


def architecture(config: Config) -> str:
    """`model_type` of transformers, `_class_name` of diffusers, else what else the config names.

    >>> architecture({"_class_name": "WanTransformer3DModel"})
    'WanTransformer3DModel'
    >>> architecture({})
    'not named'
    """
    for key in ("model_type", "_class_name", "architecture", "architectures"):
        value = config.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value:
            return value[:60]
    return "not named"


def millions(params: int) -> float:
    """Parameters in millions.

    >>> millions(94_212_864)
    94.212864
    """
    return params / 1e6


def _to_profile(config: Config, name: str, model: str, shape: Shape, read: Any) -> Mapped:
    values, notes = _clip(shape)
    if "ForPreTraining" in str(config.get("architectures")):
        notes = (*notes, "pretraining")
    return Mapped(name, model, {"model": model, **values}, read, notes)


def _to_custom(name: str, shape: Shape, read: Any) -> Mapped:
    values, notes = _clip(shape)
    keys = ("depth", "width", "heads", "mlp_ratio", "patch", "tubelet", "pattern")
    sliders = {key: _offered(key, getattr(shape, key)) for key in keys}
    if name in _LATENT:
        notes = (*notes, "diffusion")
    return Mapped(name, "custom", {"model": "custom", **sliders, **values}, read, notes)


def _clip(shape: Shape) -> tuple[dict[str, int], tuple[str, ...]]:
    """Frames and size where the job offers them, and the words for those it does not."""
    wanted = {"frames": shape.frames, "size": shape.size}
    given = {key: value for key, value in wanted.items() if value is not None}
    values = {key: value for key, value in given.items() if value in FIELD[key].options}
    return values, tuple(key for key in given if key not in values)


def _offered(key: str, value: Any) -> Any:
    """A slider's value, or BadValue where the slider does not reach it."""
    field = FIELD[key]
    if field.options:
        if value not in field.options:
            raise BadValue(key, value, ", ".join(str(option) for option in field.options))
    elif not (field.minimum or 0) <= value <= (field.maximum or math.inf):
        raise BadValue(key, value, f"{field.minimum:g} to {field.maximum:g}")
    return value


def _profile(name: str, shape: Shape) -> str | None:
    size = (shape.width, shape.depth, shape.heads)
    if name == "timesformer" and size == (768, 12, 12):
        return _TIMESFORMER.get((shape.frames or 0, shape.size or 0), "timesformer-b")
    if name == "vivit" and size == (768, 12, 12):  # google/vivit-b-16x2-kinetics400
        return "vivit-b"
    return {"videomae": _VIDEOMAE, "vjepa2": _VJEPA2}.get(name, {}).get(size)


# Readers: config -> (Shape, what was read)


class _Reader:
    """Reads checked numbers from a config and remembers them."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._seen: dict[str, int | float | str] = {}

    @property
    def seen(self) -> tuple[tuple[str, int | float | str], ...]:
        return tuple(self._seen.items())

    def whole(self, key: str, default: int | None = None, at: int = 0) -> int:
        """A whole number from 1 to 10^6; of a list its entry `at` (-1: the last)."""
        value = self._config.get(key, default)
        if isinstance(value, list) and value:
            value = value[at if -len(value) <= at < len(value) else 0]
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
            raise BadValue(key, value, "whole numbers from 1 to 1000000")
        self._remember(key, value)
        return value

    def number(self, key: str, default: float) -> float:
        """A number above 0 and up to 10^6."""
        value = self._config.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1e6:
            raise BadValue(key, value, "numbers above 0 and up to 1000000")
        self._remember(key, value)
        return float(value)

    def has(self, key: str) -> bool:
        return self._config.get(key) is not None

    def _remember(self, key: str, value: int | float) -> None:
        if key in self._config:  # a default was not read
            self._seen[key] = value


def _ratio(hidden: float, width: float) -> float:
    """Hidden channels over width, to four digits: 8960 / 1536 -> 5.8333."""
    return round(hidden / width, 4)


def _vit(config: Config, tubelet_key: str | None, pattern: str) -> tuple[Shape, Any]:
    """The names that transformers' video ViTs share: VideoMAE, TimeSformer, ViViT."""
    read = _Reader(config)
    width = read.whole("hidden_size")
    shape = Shape(
        depth=read.whole("num_hidden_layers"),
        width=width,
        heads=read.whole("num_attention_heads"),
        mlp_ratio=_ratio(read.whole("intermediate_size"), width),
        patch=read.whole("tubelet_size", at=-1) if pattern == "vivit" else read.whole("patch_size"),
        tubelet=read.whole(tubelet_key, 2) if tubelet_key else 1,
        pattern="joint" if pattern == "vivit" else pattern,
        frames=read.whole("num_frames"),
        size=read.whole("image_size"),
    )
    return shape, read.seen


def _vjepa2(config: Config) -> tuple[Shape, Any]:
    read = _Reader(config)
    shape = Shape(
        depth=read.whole("num_hidden_layers"),
        width=read.whole("hidden_size"),
        heads=read.whole("num_attention_heads"),
        mlp_ratio=round(read.number("mlp_ratio", 4.0), 4),
        patch=read.whole("patch_size"),
        tubelet=read.whole("tubelet_size", 2),
        pattern="joint",
        frames=read.whole("frames_per_clip"),
        size=read.whole("crop_size"),
    )
    return shape, read.seen


def _diffusion(config: Config, name: str) -> tuple[Shape, Any]:
    """A video diffusion transformer of diffusers: tokens counted in pixels through its VAE."""
    read = _Reader(config)
    pixels, frames = _LATENT[name]
    heads = read.whole("num_attention_heads")
    width = heads * read.whole("attention_head_dim")
    singles = read.whole("num_single_layers") if read.has("num_single_layers") else 0
    hidden = read.whole("ffn_dim") if read.has("ffn_dim") else 0
    in_time = read.whole("patch_size_t", 1) if read.has("patch_size_t") else 1
    shape = Shape(
        depth=read.whole("num_layers") + singles,
        width=width,
        heads=heads,
        mlp_ratio=_ratio(hidden, width) if hidden else round(read.number("mlp_ratio", 4.0), 4),
        patch=read.whole("patch_size", at=-1) * pixels,
        tubelet=in_time * frames,
        pattern="joint",
    )
    return shape, read.seen


_READERS = {
    "videomae": lambda config: _vit(config, "tubelet_size", "joint"),
    "timesformer": lambda config: _vit(config, None, "divided"),
    "vivit": lambda config: _vit(config, "tubelet_size", "vivit"),
    "vjepa2": _vjepa2,
}
