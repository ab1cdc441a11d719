"""Networks of published memory figures that no maintained library offers, for grading only.

The figures of ``measurements/published/video_memory.yaml`` were measured on architectures described
by ``arch_cfg``. These builders construct networks of the same layers in the same order, so that a
trace can be compared with the figure. They are no part of the product: nobody can pick them.

A built module takes one clip batch: ``(B, segments, channels, H, W)`` for 2D networks and
``(B, channels, frames, H, W)`` for 3D ones, and returns logits (or a loss, see ``TPN``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Config = dict[str, Any]
STAGES: dict[int, tuple[int, ...]] = {34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
I3D_INFLATE = ((1, 1, 1), (1, 0, 1, 0), (1, 0, 1, 0, 1, 0), (0, 1, 0))


def conv_bn(
    n_in: int,
    n_out: int,
    kernel: int | tuple[int, ...],
    stride: int | tuple[int, ...] = 1,
    *,
    relu: bool = True,
    dims: int = 2,
    groups: int = 1,
) -> nn.Sequential:
    """Convolution without bias, batch norm, and an in-place ReLU."""
    conv, norm = (nn.Conv2d, nn.BatchNorm2d) if dims == 2 else (nn.Conv3d, nn.BatchNorm3d)
    pad = kernel // 2 if isinstance(kernel, int) else tuple(k // 2 for k in kernel)
    layers: list[nn.Module] = [
        conv(n_in, n_out, kernel, stride, pad, groups=groups, bias=False),
        norm(n_out),
    ]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if relu else []))


class Shift(nn.Module):
    """Moves an eighth of the channels one segment back and another eighth one forward."""

    def __init__(self, net: nn.Module, segments: int, divisions: int = 8) -> None:
        super().__init__()
        self.net, self.segments, self.divisions = net, segments, divisions

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        x = x.view(-1, self.segments, c, h * w)
        fold = c // self.divisions
        back, ahead, still = x[:, :, :fold], x[:, :, fold : 2 * fold], x[:, :, 2 * fold :]
        back = torch.cat((back[:, 1:], (back - back)[:, :1]), 1)
        ahead = torch.cat(((ahead - ahead)[:, :1], ahead[:, :-1]), 1)
        return self.net(torch.cat((back, ahead, still), 2).view(n, c, h, w))


class SoftmaxKeepingInput(torch.autograd.Function):
    """Softmax over the last axis as torch up to 1.10 did it: input *and* output are saved."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.softmax(x, -1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        return torch.ops.aten._softmax_backward_data(grad, y, -1, x.dtype)


class OldSoftmax(nn.Module):
    """Stands in for ``nn.Softmax(dim=-1)`` of torch up to 1.10."""

    def forward(self, x: Tensor) -> Tensor:
        return SoftmaxKeepingInput.apply(x)


class NonLocal(nn.Module):
    """Attention over all positions; keys and values are pooled 2 x 2 in space.

    ``old_torch``: as torch up to 1.10 ran it, whose matmul copied operands that are not contiguous
    and whose softmax saved its input.
    """

    def __init__(self, channels: int, mode: str, use_scale: bool, old_torch: bool) -> None:
        super().__init__()
        self.old_torch = old_torch
        self.mode, self.use_scale, inner = mode, use_scale, channels // 2
        self.inner = inner
        self.g = nn.Sequential(nn.Conv3d(channels, inner, 1), nn.MaxPool3d((1, 2, 2)))
        if mode == "gaussian":
            self.phi: nn.Module = nn.MaxPool3d((1, 2, 2))
        else:
            self.theta = nn.Conv3d(channels, inner, 1)
            self.phi = nn.Sequential(nn.Conv3d(channels, inner, 1), nn.MaxPool3d((1, 2, 2)))
        self.out = conv_bn(inner, channels, 1, relu=False, dims=3)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        value = self.g(x).view(n, self.inner, -1).permute(0, 2, 1)
        query = x if self.mode == "gaussian" else self.theta(x)
        query = query.reshape(n, query.shape[1], -1).permute(0, 2, 1)
        key = self.phi(x)
        if self.old_torch:
            query, value = query.contiguous(), value.contiguous()
        weights = torch.matmul(query, key.reshape(n, key.shape[1], -1))
        if self.mode == "dot_product":
            weights /= weights.shape[-1]
        else:
            if self.use_scale and self.mode == "embedded_gaussian":
                weights /= query.shape[-1] ** 0.5
            softmax = OldSoftmax() if self.old_torch else nn.Softmax(dim=-1)
            weights = softmax(weights)
        y = torch.matmul(weights, value).permute(0, 2, 1).contiguous()
        return x + self.out(y.reshape(n, self.inner, *x.shape[2:]))


class SegmentNonLocal(nn.Module):
    """A non-local block behind a block of a 2D network."""

    def __init__(self, block: nn.Module, segments: int, non_local: NonLocal) -> None:
        super().__init__()
        self.block, self.segments, self.non_local = block, segments, non_local

    def forward(self, x: Tensor) -> Tensor:
        x = self.block(x)
        n, c, h, w = x.shape
        x = x.view(n // self.segments, self.segments, c, h, w).transpose(1, 2).contiguous()
        return self.non_local(x).transpose(1, 2).contiguous().view(n, c, h, w)


class Residual(nn.Module):
    """A residual block around any branch: ``relu(branch(x) + shortcut(x))``, ReLU in place."""

    def __init__(
        self, branch: nn.Module, shortcut: nn.Module | None, after: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.branch, self.shortcut, self.after = branch, shortcut, after
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.branch(x)
        identity = x if self.shortcut is None else self.shortcut(x)
        out = self.relu(out + identity)
        return out if self.after is None else self.after(out)


class ResNet2D(nn.Module):
    """ResNet over images, plain or with temporal shift and non-local blocks."""

    def __init__(
        self,
        depth: int = 50,
        in_channels: int = 3,
        shift_segments: int | None = None,
        shift_div: int = 8,
        non_local: Sequence[Sequence[int]] | None = None,
        non_local_cfg: Config | None = None,
        out_indices: Sequence[int] = (3,),
    ) -> None:
        super().__init__()
        self.out_indices = tuple(out_indices)
        self.stem = nn.Sequential(conv_bn(in_channels, 64, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.ModuleList()
        n_in = 64
        every = 2 if max(STAGES[depth]) >= 23 else 1
        for stage, count in enumerate(STAGES[depth]):
            places = non_local[stage] if non_local else (0,) * count
            blocks: list[nn.Module] = []
            for i in range(count):
                shift = shift_segments if i % every == 0 else None
                block: nn.Module = bottleneck2d(n_in, stage, i, shift, shift_div)
                n_in = 256 * 2**stage
                if places[i]:
                    assert shift_segments and non_local_cfg
                    block = SegmentNonLocal(block, shift_segments, nl(n_in, non_local_cfg))
                blocks.append(block)
            self.stages.append(nn.Sequential(*blocks))

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        return run_stages(self.stem(x), self.stages, self.out_indices)


def run_stages(
    x: Tensor, stages: nn.ModuleList, out_indices: tuple[int, ...]
) -> Tensor | tuple[Tensor, ...]:
    """The outputs of the wanted stages; one alone is not wrapped."""
    outs = []
    for i, stage in enumerate(stages):
        x = stage(x)
        if i in out_indices:
            outs.append(x)
    return outs[0] if len(outs) == 1 else tuple(outs)


def nl(channels: int, cfg: Config) -> NonLocal:
    """A non-local block from its configuration."""
    return NonLocal(
        channels, cfg["mode"], cfg.get("use_scale", True), cfg.get("old_torch", False)
    )


def bottleneck2d(
    n_in: int, stage: int, index: int, segments: int | None, shift_div: int
) -> Residual:
    """1 x 1, 3 x 3 (strided), 1 x 1; the shift sits before the first convolution only."""
    planes = 64 * 2**stage
    stride = 2 if stage and index == 0 else 1
    first = conv_bn(n_in, planes, 1)
    if segments:
        first[0] = Shift(first[0], segments, shift_div)
    branch = nn.Sequential(
        first, conv_bn(planes, planes, 3, stride), conv_bn(planes, 4 * planes, 1, relu=False)
    )
    shortcut = conv_bn(n_in, 4 * planes, 1, stride, relu=False) if index == 0 else None
    return Residual(branch, shortcut)


class ResNet3D(nn.Module):
    """Inflated ResNet: I3D, SlowOnly and the slow pathway."""

    def __init__(
        self,
        depth: int = 50,
        in_channels: int = 3,
        conv1_kernel: Sequence[int] = (5, 7, 7),
        conv1_stride_t: int = 2,
        pool1_stride_t: int = 2,
        with_pool2: bool = True,
        inflate: Sequence[int | Sequence[int]] = (1, 1, 1, 1),
        spatial_strides: Sequence[int] = (1, 2, 2, 2),
        non_local: Sequence[Sequence[int]] | None = None,
        non_local_cfg: Config | None = None,
        out_indices: Sequence[int] = (3,),
    ) -> None:
        super().__init__()
        self.out_indices = tuple(out_indices)
        stem = conv_bn(in_channels, 64, tuple(conv1_kernel), (conv1_stride_t, 2, 2), dims=3)
        pool = nn.MaxPool3d((1, 3, 3), (pool1_stride_t, 2, 2), (0, 1, 1))
        self.stem = nn.Sequential(stem, pool)
        self.stages = nn.ModuleList()
        n_in = 64
        for stage, count in enumerate(STAGES[depth]):
            places = non_local[stage] if non_local else (0,) * count
            inflated = inflate[stage]
            blocks: list[nn.Module] = []
            for i in range(count):
                thick = inflated if isinstance(inflated, int) else inflated[i]
                make = basic3d if depth == 34 else bottleneck3d
                stride = spatial_strides[stage] if i == 0 else 1
                after = None
                n_out = (64 if depth == 34 else 256) * 2**stage
                if places[i]:
                    assert non_local_cfg
                    after = nl(n_out, non_local_cfg)
                blocks.append(make(n_in, stage, i, stride, bool(thick), after))
                n_in = n_out
            if with_pool2 and stage == 0:
                blocks.append(nn.MaxPool3d((2, 1, 1), (2, 1, 1)))
            self.stages.append(nn.Sequential(*blocks))

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        return run_stages(self.stem(x), self.stages, self.out_indices)


def bottleneck3d(
    n_in: int, stage: int, index: int, stride: int, inflate: bool, after: nn.Module | None
) -> Residual:
    """(1 or 3) x 1 x 1, 1 x 3 x 3 (strided), 1 x 1 x 1."""
    planes = 64 * 2**stage
    steps = (1, stride, stride)
    branch = nn.Sequential(
        conv_bn(n_in, planes, (3 if inflate else 1, 1, 1), dims=3),
        conv_bn(planes, planes, (1, 3, 3), steps, dims=3),
        conv_bn(planes, 4 * planes, (1, 1, 1), relu=False, dims=3),
    )
    shortcut = conv_bn(n_in, 4 * planes, (1, 1, 1), steps, relu=False, dims=3)
    return Residual(branch, shortcut if index == 0 else None, after)


def basic3d(
    n_in: int, stage: int, index: int, stride: int, inflate: bool, after: nn.Module | None
) -> Residual:
    """Two convolutions of (1 or 3) x 3 x 3."""
    planes = 64 * 2**stage
    kernel = (3 if inflate else 1, 3, 3)
    steps = (1, stride, stride)
    branch = nn.Sequential(
        conv_bn(n_in, planes, kernel, steps, dims=3),
        conv_bn(planes, planes, kernel, relu=False, dims=3),
    )
    shortcut = conv_bn(n_in, planes, (1, 1, 1), steps, relu=False, dims=3)
    return Residual(branch, shortcut if index == 0 and stage else None, after)


class C2D(nn.Module):
    """A 2D ResNet-50 over all frames with one temporal pooling after the first stage."""

    def __init__(self, depth: int = 50) -> None:
        super().__init__()
        self.net = ResNet2D(depth)
        self.stem = self.net.stem[0]
        self.pool_space = nn.MaxPool3d((1, 3, 3), (1, 2, 2))
        self.pool_time = nn.MaxPool3d((2, 1, 1), (2, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        clips = x.shape[0]
        x = self.stem(images(x))
        x = images(self.pool_space(video(x, clips)))
        for i, stage in enumerate(self.net.stages):
            x = stage(x)
            if i == 0:
                x = images(self.pool_time(video(x, clips)))
        return video(x, clips)


def images(x: Tensor) -> Tensor:
    """(N, C, T, H, W) -> (N T, C, H, W)."""
    x = x.permute(0, 2, 1, 3, 4)
    return x.reshape(-1, *x.shape[2:])


def video(x: Tensor, clips: int) -> Tensor:
    """(N T, C, H, W) -> (N, C, T, H, W)."""
    return x.reshape(clips, -1, *x.shape[1:]).permute(0, 2, 1, 3, 4)


class C3D(nn.Module):
    """Eight 3 x 3 x 3 convolutions without norm, then two wide linear layers."""

    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        plan = [(3, 64), (64, 128), (128, 256), (256, 256), (256, 512), (512, 512)]
        plan += [(512, 512), (512, 512)]
        pools: dict[int, tuple[int, tuple[int, ...]]] = {
            0: (1, (0, 0, 0)),
            1: (2, (0, 0, 0)),
            3: (2, (0, 0, 0)),
            5: (2, (0, 0, 0)),
            7: (2, (0, 1, 1)),
        }
        layers: list[nn.Module] = []
        for i, (n_in, n_out) in enumerate(plan):
            layers += [nn.Conv3d(n_in, n_out, 3, padding=1), nn.ReLU(inplace=True)]
            if i in pools:
                time, pad = pools[i]
                layers.append(nn.MaxPool3d((time, 2, 2), (time, 2, 2), pad))
        self.layers = nn.Sequential(*layers)
        self.fc6, self.fc7 = nn.Linear(8192, 4096), nn.Linear(4096, 4096)
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(x).flatten(1)
        return self.relu(self.fc7(self.dropout(self.relu(self.fc6(x)))))


class Segments(nn.Module):
    """A 2D network over the segments of a clip: pool, average over segments, classify.

    ``scores_first`` classifies each segment before averaging (temporal shift networks do).
    """

    def __init__(
        self,
        net: nn.Module,
        width: int,
        classes: int,
        dropout: float,
        *,
        scores_first: bool = False,
        pool: bool = True,
    ) -> None:
        super().__init__()
        self.net, self.scores_first, self.pool = net, scores_first, pool
        self.dropout, self.fc = nn.Dropout(dropout), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        clips, segments = x.shape[:2]
        x = self.net(x.reshape(-1, *x.shape[2:]))
        if self.pool:
            x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        if self.scores_first:
            return self.fc(self.dropout(x)).view(clips, segments, -1).mean(1)
        return self.fc(self.dropout(x.reshape(clips, segments, -1).mean(1)))


class Clips(nn.Module):
    """A 3D network with a linear classifier over pooled features."""

    def __init__(self, net: nn.Module, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.net = net
        self.dropout, self.fc = nn.Dropout(dropout), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.net(x)
        if x.dim() == 5:
            x = F.adaptive_avg_pool3d(x, 1).flatten(1)
        return self.fc(self.dropout(x))


class Boxes(nn.Module):
    """Action detection: pool over time, 8 x 8 features per box, classify each box.

    Real box counts are not published; three a clip stand in (16 MiB of features in a batch of 16).
    """

    def __init__(self, net: nn.Module, classes: int, boxes: int = 3) -> None:
        super().__init__()
        self.net, self.boxes = net, boxes
        self.dropout, self.fc = nn.Dropout(0.5), nn.Linear(2048, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool3d(self.net(x), (1, None, None)).squeeze(2)
        x = F.adaptive_avg_pool2d(x, 8).repeat_interleave(self.boxes, 0)
        x = F.adaptive_max_pool2d(x, 1).flatten(1)
        x = self.fc(self.dropout(x))
        return x.view(-1, self.boxes, x.shape[-1]).mean(1)


class LevelFusion(nn.Module):
    """Grouped convolution of each pyramid level, then one convolution over all of them."""

    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.levels = nn.ModuleList(
            nn.Sequential(
                nn.MaxPool3d((1, 1, 1), (1, 1, 1), ceil_mode=True),
                conv_bn(width, width, (1, 1, 1), dims=3, groups=32),
            )
            for _ in range(2)
        )
        self.fuse = conv_bn(2 * width, 2048, 1, dims=3)

    def forward(self, x: Sequence[Tensor]) -> Tensor:
        outs = [level(level_in) for level, level_in in zip(self.levels, x, strict=True)]
        return self.fuse(torch.cat(outs, 1))


class TPN(nn.Module):
    """Temporal pyramid over the last two stages of a ResNet, with an auxiliary classifier."""

    def __init__(self, net: nn.Module, classes: int, aux_classes: int, segments: bool) -> None:
        super().__init__()
        self.net, self.segments = net, segments
        self.aux_conv = conv_bn(1024, 2048, (1, 3, 3), (1, 2, 2), dims=3)
        self.aux_dropout, self.aux_fc = nn.Dropout(0.5), nn.Linear(2048, aux_classes)
        self.space = conv_bn(1024, 2048, (1, 3, 3), (1, 2, 2), dims=3)
        self.time = nn.ModuleList(
            nn.Sequential(
                nn.Conv3d(2048, 1024, (3, 1, 1), padding=(1, 0, 0), groups=32, bias=False),
                nn.MaxPool3d((8, 1, 1), (8, 1, 1), ceil_mode=True),
            )
            for _ in range(2)
        )
        self.up = nn.Upsample(scale_factor=(1, 1, 1))
        self.down = nn.Sequential(
            nn.Conv3d(1024, 1024, (3, 1, 1), padding=(1, 0, 0), bias=False),
            nn.MaxPool3d((1, 1, 1), (1, 1, 1), ceil_mode=True),
        )
        self.fusion1, self.fusion2 = LevelFusion(), LevelFusion()
        self.fuse = conv_bn(4096, 2048, 1, dims=3)
        self.dropout, self.fc = nn.Dropout(0.5), nn.Linear(2048, classes)

    def forward(self, x: Tensor) -> Tensor:
        clips = x.shape[0]
        if self.segments:
            x3, x4 = (video(f, clips).contiguous() for f in self.net(x.reshape(-1, *x.shape[2:])))
        else:
            x3, x4 = self.net(x)
        aux = F.adaptive_avg_pool3d(self.aux_conv(x3), 1).flatten(1)
        aux = self.aux_fc(self.aux_dropout(aux))
        levels = [m(f) for m, f in zip(self.time, (self.space(x3), x4), strict=True)]
        outs = [f.clone() for f in levels]
        outs[0] = outs[0] + self.up(outs[1])
        top_down = self.fusion1(outs)
        outs[1] = outs[1] + self.down(outs[0])
        bottom_up = self.fusion2(outs)
        y = self.fuse(torch.cat([top_down, bottom_up], 1))
        y = F.adaptive_avg_pool3d(y, 1).flatten(1)
        scores = self.fc(self.dropout(y))
        width = min(scores.shape[1], aux.shape[1])
        return scores[:, :width] + 0.5 * aux[:, :width]


class ClipTowers(nn.Module):
    """Video ViT-B/16 on four frames and a text transformer, trained against each other."""

    def __init__(self, frames: int = 4, text: int = 77, width: int = 256) -> None:
        super().__init__()
        self.patches = nn.Conv3d(3, 768, (1, 16, 16), (1, 16, 16), bias=False)
        self.position = nn.Parameter(torch.empty(1, 197, 768))
        self.time = nn.Parameter(torch.empty(1, frames, 768))
        self.cls = nn.Parameter(torch.empty(1, 1, 768))
        self.before, self.after = nn.LayerNorm(768), nn.LayerNorm(768)
        self.vision = nn.ModuleList(ClipBlock(768, 12, causal=False) for _ in range(12))
        self.tokens = nn.Embedding(49408, 512)
        self.text_position = nn.Parameter(torch.empty(text, 512))
        self.text = nn.ModuleList(ClipBlock(512, 8, causal=True) for _ in range(12))
        self.text_after = nn.LayerNorm(512)
        self.project_video = nn.Parameter(torch.empty(768, width))
        self.project_text = nn.Parameter(torch.empty(512, width))
        self.text_length = text

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        v = self.patches(x).flatten(3).permute(0, 2, 3, 1)
        v = v + self.position[:, None, 1:] + self.time[:, :, None]
        v = torch.cat([(self.cls + self.position[:, :1]).expand(n, -1, -1), v.flatten(1, 2)], 1)
        v = self.before(v)
        for block in self.vision:
            v = block(v)
        v = self.after(v[:, 0]) @ self.project_video
        t = self.tokens(x.new_zeros((n, self.text_length), dtype=torch.long))
        t = t + self.text_position
        for block in self.text:
            t = block(t)
        t = self.text_after(t[:, -1]) @ self.project_text
        return F.normalize(v, dim=-1) @ F.normalize(t, dim=-1).t()


class ClipBlock(nn.Module):
    """A pre-norm transformer block; the text side stores its masked scores."""

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        q, k, v = (
            self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        )
        if not self.causal:
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
            mask = torch.full((length, length), float("-inf"), device=x.device).triu(1)
            y = (scores + mask).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(n, length, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.norm1(x))
        y = self.fc1(self.norm2(x))
        return x + self.fc2(y * torch.sigmoid(1.702 * y))


def torchvision_features(name: str) -> tuple[nn.Module, int]:
    """A torchvision network without its classifier, and the width of its features."""
    import torchvision

    net = getattr(torchvision.models, name)(weights=None)
    width = net.classifier.in_features
    net.classifier = nn.Identity()
    return net, width


def timm_features(name: str) -> tuple[nn.Module, int]:
    """A timm network without its classifier (attention explicit), and the feature width."""
    import timm
    from timm.layers import set_fused_attn

    set_fused_attn(False)
    net = timm.create_model(name, pretrained=False, num_classes=0)
    return net, net.num_features


def with_old_softmax(net: nn.Module) -> nn.Module:
    """The network with every softmax module replaced by the one of torch up to 1.10."""
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Softmax):
                setattr(module, name, OldSoftmax())
    return net


def video_swin(arch: str, classes: int) -> nn.Module:
    """Video Swin of torchvision; the large one from the same class."""
    from torchvision.models.video import swin_transformer as swin

    shapes: dict[str, tuple[int, list[int], list[int], float]] = {
        "tiny": (96, [2, 2, 6, 2], [3, 6, 12, 24], 0.1),
        "small": (96, [2, 2, 18, 2], [3, 6, 12, 24], 0.2),
        "base": (128, [2, 2, 18, 2], [4, 8, 16, 32], 0.3),
        "large": (192, [2, 2, 18, 2], [6, 12, 24, 48], 0.4),
    }
    width, depths, heads, drop = shapes[arch]
    net = swin.SwinTransformer3d(
        [2, 4, 4], width, depths, heads, [8, 7, 7], stochastic_depth_prob=drop, num_classes=classes
    )
    return net


def build(cfg: Config, segments: int, *, old_torch: bool = False) -> nn.Module:
    """The network of an ``arch_cfg``; ``segments`` is the number of images of a 2D clip."""
    head, backbone = cfg["head"], cfg["backbone"]
    if old_torch and "non_local_cfg" in backbone:
        backbone = {**backbone, "non_local_cfg": {**backbone["non_local_cfg"], "old_torch": True}}
    kind = backbone["type"].removeprefix("mmaction.")
    classes, dropout = head["num_classes"], head["dropout"]
    if cfg.get("neck"):
        net = resnet(kind, backbone, segments)
        aux = cfg["neck"]["aux_head_cfg"]["out_channels"]
        return TPN(net, classes, aux, segments=kind == "ResNetTSM")
    if kind == "C3D":
        return Clips(C3D(), 4096, classes, dropout)
    if kind == "C2D":
        return Clips(C2D(backbone["depth"]), 2048, classes, dropout)
    if kind == "SwinTransformer3D":
        return video_swin(backbone["arch"], classes)
    if kind.startswith(("torchvision.", "timm.")):
        library, name = kind.split(".")
        make: Callable[[str], tuple[nn.Module, int]] = (
            torchvision_features if library == "torchvision" else timm_features
        )
        net, width = make(name)
        net = with_old_softmax(net) if old_torch else net
        return Segments(net, width, classes, dropout, pool=False)
    net = resnet(kind, backbone, segments)
    if cfg["recognizer"] == "FastRCNN":
        return Boxes(net, classes)
    if cfg["recognizer"] == "Recognizer3D":
        return Clips(net, 512 if backbone["depth"] == 34 else 2048, classes, dropout)
    shifted = kind == "ResNetTSM"
    return Segments(net, 2048, classes, dropout, scores_first=shifted)


def resnet(kind: str, backbone: Config, segments: int) -> nn.Module:
    """The ResNet of a backbone configuration."""
    same = ("depth", "in_channels", "non_local", "non_local_cfg", "out_indices")
    options: Config = {key: backbone[key] for key in same if key in backbone}
    if kind in ("ResNet", "ResNetTSM"):
        if kind == "ResNetTSM":
            options |= {"shift_segments": segments, "shift_div": backbone["shift_div"]}
        return ResNet2D(**options)
    if kind not in ("ResNet3d", "ResNet3dSlowOnly"):
        raise ValueError(f"no builder for backbone {kind}")
    slow = kind == "ResNet3dSlowOnly"
    options |= {"with_pool2": False, "inflate": (0, 0, 1, 1)} if slow else {}
    for key in ("conv1_kernel", "conv1_stride_t", "pool1_stride_t", "spatial_strides", "inflate"):
        if backbone.get(key) is not None:
            options[key] = backbone[key]
    return ResNet3D(**options)


def images_per_clip(row: Config) -> int:
    """Segments of a 2D row; where a clip is one segment of many frames, its frames."""
    segments = int(row["segments_2d"] or 0)
    return int(row["frames"]) if segments <= 1 else segments


# Rows whose architecture the source names in words only, as an arch_cfg.
_R50 = {"type": "ResNet", "depth": 50}
_TSN = {"type": "TSNHead", "num_classes": 400, "dropout": 0.4}
_TSM = {"type": "TSMHead", "num_classes": 400, "dropout": 0.5}
_I3D_HEAD = {"type": "I3DHead", "num_classes": 400, "dropout": 0.5}
_SLOW = {
    "type": "ResNet3dSlowOnly",
    "depth": 50,
    "conv1_kernel": [1, 7, 7],
    "conv1_stride_t": 1,
    "pool1_stride_t": 1,
    "inflate": [0, 0, 1, 1],
}
_HEAVY = {"type": "ResNet3d", "depth": 50, "conv1_stride_t": 1, "pool1_stride_t": 1}


def _cfg(recognizer: str, backbone: Config, head: Config) -> Config:
    return {"recognizer": recognizer, "backbone": backbone, "neck": None, "head": head}


_TSN_CFG = _cfg("Recognizer2D", _R50, _TSN)
_TSN_2 = _cfg("Recognizer2D", _R50, {**_TSN, "num_classes": 2})
_TSM_CFG = _cfg("Recognizer2D", {"type": "ResNetTSM", "depth": 50, "shift_div": 8}, _TSM)
_I3D = _cfg("Recognizer3D", {"type": "ResNet3d", "depth": 50, "inflate": I3D_INFLATE}, _I3D_HEAD)
BY_ID: dict[str, Config] = {
    **dict.fromkeys(("tsn-01", "tsn-09", "tsn-30"), _TSN_CFG),
    **dict.fromkeys(("tsn-19", "tsn-20", "tsn-21", "tsn-29"), _TSN_2),
    **dict.fromkeys(("tsm-01", "tsm-08"), _TSM_CFG),
    **dict.fromkeys(("i3d-06", "i3d-14"), _I3D),
    "i3d-01": _cfg("Recognizer3D", {**_HEAVY, "inflate": I3D_INFLATE}, _I3D_HEAD),
    "i3d-03": _cfg("Recognizer3D", {**_HEAVY, "inflate": (1, 1, 1, 1)}, _I3D_HEAD),
    **dict.fromkeys(("slowonly-01", "slowonly-07"), _cfg("Recognizer3D", _SLOW, _I3D_HEAD)),
}
