"""The registry: models have their published size, take what they say, and use every parameter."""

from __future__ import annotations

import pytest
import torch

from bench.models import MODELS, build_model, clip_shape, find, patch_mask
from bench.step import StepConfig, build, make_tools, train_step

# Million parameters with 400 classes. torchvision: num_params of its weights; VideoMAE and
# TimeSformer: model zoo and paper (https://github.com/MCG-NJU/VideoMAE, arXiv:2102.05095);
# V-JEPA 2: arXiv:2506.09985; SlowFast and X3D: pytorchvideo model zoo.
PUBLISHED_M = {
    "video-swin-t": 28.158, "video-swin-s": 49.817, "video-swin-b": 88.048, "mvit-v1-b": 36.611,
    "mvit-v2-s": 34.538, "r3d-18": 33.371, "mc3-18": 11.695, "r2plus1d-18": 31.505, "s3d": 8.32,
    "timesformer-b": 121.4, "videomae-s": 22, "videomae-b": 87, "videomae-l": 305,
    "videomae-h": 633, "slowfast-r50": 34.57, "slowonly-r50": 32.45, "i3d-r50": 28.04,
    "x3d-s": 3.79, "x3d-m": 3.79, "csn-r101": 22.21,
}  # fmt: skip


@pytest.mark.parametrize("model", sorted(MODELS))
def test_builds_and_has_its_published_size(model: str) -> None:
    spec = find(model)
    built = build_model(spec, *spec.reference, spec.attention[0], "meta")
    params_m = sum(p.numel() for p in built.parameters()) / 1e6
    assert all(p.is_meta for p in built.parameters())
    assert params_m == pytest.approx(PUBLISHED_M.get(model, params_m), rel=0.01)
    if spec.head:
        named = [
            n for n, _ in built.named_parameters() if any(f".{h}." in f".{n}" for h in spec.head)
        ]
        assert named


@pytest.mark.filterwarnings("ignore:'saved_variables' is deprecated")  # pytorchvideo's Swish
@pytest.mark.parametrize(
    "model",
    ["video-swin-t", "mvit-v2-s", "r3d-18", "tsn-r50", "timesformer-b", "videomae-s",
     "videomae-s-pretrain", "vivit-b", "vjepa2-l", "slowfast-r50", "x3d-s", "csn-r101"],
)  # fmt: skip
def test_every_trained_parameter_gets_a_gradient(model: str) -> None:
    """A parameter without one would break DDP and take optimizer state for nothing."""
    frames, size = (find(model).frames[0], find(model).sizes[0])
    config = StepConfig(model=model, frames=frames, size=size, optimizer="sgd", precision="fp32")
    setup = build(config, "meta")
    tools = make_tools(config, setup)
    train_step(config, setup, tools)
    assert tools.optimizer is not None
    missing = [n for n, p in setup.model.named_parameters() if p not in tools.optimizer.state]
    assert missing == []


def test_clips_have_the_librarys_layout() -> None:
    assert clip_shape(find("video-swin-t"), 8, 112) == (3, 8, 112, 112)
    assert clip_shape(find("videomae-b"), 8, 112) == (8, 3, 112, 112)


def test_the_mask_leaves_equally_many_patches_of_every_clip() -> None:
    visible = (~patch_mask(16, 224, 3)).sum(1)
    assert torch.equal(visible, torch.full((3,), 8 * (196 - 176)))


def test_unknown_models_are_named() -> None:
    with pytest.raises(ValueError, match="model is 'swin'; allowed are csn-r101"):
        find("swin")


def test_a_shape_the_model_cannot_take_is_said() -> None:
    with pytest.raises(ValueError, match="MViT v2-S cannot be built for 16 frames of 2 pixels"):
        build_model(find("mvit-v2-s"), 16, 2, "eager", "meta")
