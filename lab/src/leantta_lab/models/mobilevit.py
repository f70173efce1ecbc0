"""MobileViT-S (Mehta and Rastegari, 2022): convolutions with BatchNorm, small transformers with LayerNorm.

32 BatchNorms; 5.58 million parameters with a thousand classes, 4.94 with ten. Parameters have timm's names:
a public checkpoint loads, but BatchNorm and SiLU are two plain layers here.

The image is halved five times, so its sides are multiples of 32. The transformers work on patches of 2x2
positions: a map with an odd side (the last one of a 32x32 or 96x96 image) is stretched bilinearly to the next
even size and brought back afterwards. An image smaller than 64x64, CIFAR's among them, is stretched to that
first: at 32x32 the last maps would be a single position, with no statistics to speak of.
"""

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LEAST_SIDE = 64
PATCH = 2
HEADS = 4
EXPANSION = 4  # of the inverted residuals
MLP_RATIO = 2
STEM, HEAD = 16, 640
CONV_STAGES = ((32, 1, 1), (64, 2, 3))
"""(channels, stride of the first block, blocks) of the stages without a transformer."""
TRANSFORMER_STAGES = ((96, 144, 2), (128, 192, 4), (160, 240, 3))
"""(channels, width of the transformer, its layers) of the stages with one; each halves the map first."""


class ConvNorm(nn.Module):
    """A convolution without bias, its BatchNorm and, unless it is `linear`, a SiLU."""

    def __init__(
        self,
        channels_in: int,
        channels: int,
        kernel: int,
        *,
        stride: int = 1,
        groups: int = 1,
        linear: bool = False,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.act = nn.Identity() if linear else nn.SiLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized and activated convolution of `x`."""
        activated: Tensor = self.act(self.bn(self.conv(x)))
        return activated


class InvertedResidual(nn.Module):
    """Expand with 1x1, filter each channel with 3x3, project with 1x1; add the input if the shape allows."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        hidden = channels_in * EXPANSION
        self.adds_input = stride == 1 and channels_in == channels
        self.conv1_1x1 = ConvNorm(channels_in, hidden, 1)
        self.conv2_kxk = ConvNorm(hidden, hidden, 3, stride=stride, groups=hidden)
        self.conv3_1x1 = ConvNorm(hidden, channels, 1, linear=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output: (n, channels_in, h, w) -> (n, channels, h/stride, w/stride)."""
        out: Tensor = self.conv3_1x1(self.conv2_kxk(self.conv1_1x1(x)))
        return x + out if self.adds_input else out


class Attention(nn.Module):
    """Self-attention of `HEADS` heads over a sequence."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return what each element of (n, length, width) gathers from the others."""
        n, length, width = x.shape
        split = self.qkv(x).reshape(n, length, 3, HEADS, width // HEADS)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)  # each (n, heads, length, width/heads)
        weights = (query @ key.transpose(-2, -1) / sqrt(width // HEADS)).softmax(dim=-1)
        gathered: Tensor = self.proj((weights @ value).transpose(1, 2).reshape(n, length, width))
        return gathered


class Mlp(nn.Module):
    """Two linear layers with a SiLU between them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, width * MLP_RATIO)
        self.act = nn.SiLU()
        self.fc2 = nn.Linear(width * MLP_RATIO, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return each element of (n, length, width), transformed on its own."""
        transformed: Tensor = self.fc2(self.act(self.fc1(x)))
        return transformed


class TransformerLayer(nn.Module):
    """Attention and an MLP, each behind a LayerNorm and added to its input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed sequence: (n, length, width) -> the same shape."""
        x = x + self.attn(self.norm1(x))
        transformed: Tensor = x + self.mlp(self.norm2(x))
        return transformed


def unfold(x: Tensor) -> Tensor:
    """Return one sequence per position inside a patch: (n, c, h, w) -> (n * 4, h/2 * w/2, c).

    >>> unfold(torch.arange(16.0).reshape(1, 1, 4, 4))[:, :, 0].tolist()[1]
    [1.0, 3.0, 9.0, 11.0]
    """
    n, c, h, w = x.shape
    rows, columns = h // PATCH, w // PATCH
    x = x.reshape(n, c, rows, PATCH, columns, PATCH).permute(0, 3, 5, 2, 4, 1)  # (n, 2, 2, rows, columns, c)
    return x.reshape(n * PATCH * PATCH, rows * columns, c)


def fold(x: Tensor, height: int, width: int) -> Tensor:
    """Return the map whose `unfold` is `x`: (n * 4, h/2 * w/2, c) -> (n, c, h, w)."""
    rows, columns, c = height // PATCH, width // PATCH, x.shape[-1]
    x = x.reshape(-1, PATCH, PATCH, rows, columns, c).permute(0, 5, 3, 1, 4, 2)  # (n, c, rows, 2, columns, 2)
    return x.reshape(-1, c, height, width)


class MobileVitBlock(nn.Module):
    """Local features by convolution, global ones by transformers over patches, fused with the input."""

    def __init__(self, channels: int, width: int, layers: int) -> None:
        super().__init__()
        self.conv_kxk = ConvNorm(channels, channels, 3)
        self.conv_1x1 = nn.Conv2d(channels, width, 1, bias=False)
        self.transformer = nn.Sequential(*(TransformerLayer(width) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.conv_proj = ConvNorm(width, channels, 1)
        self.conv_fusion = ConvNorm(2 * channels, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Return the fused features: (n, channels, h, w) -> the same shape."""
        shortcut = x
        x = self.conv_1x1(self.conv_kxk(x))  # (n, width, h, w)
        height, width = x.shape[2:]
        even = (height + height % PATCH, width + width % PATCH)
        if even != (height, width):
            x = F.interpolate(x, size=even, mode="bilinear", align_corners=False)
        x = fold(self.norm(self.transformer(unfold(x))), *even)
        if even != (height, width):
            x = F.interpolate(x, size=(height, width), mode="bilinear", align_corners=False)
        fused: Tensor = self.conv_fusion(torch.cat((shortcut, self.conv_proj(x)), dim=1))
        return fused


class Head(nn.Module):
    """The mean over the map, then a linear layer."""

    def __init__(self, channels: int, num_classes: int) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of a map: (n, channels, h, w) -> (n, classes)."""
        logits: Tensor = self.fc(self.avgpool(x).flatten(1))
        return logits


class MobileViT(nn.Module):
    """Two stages of inverted residuals, then three that end in a transformer block."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.least_side = LEAST_SIDE
        self.stem = ConvNorm(3, STEM, 3, stride=2)
        width = STEM
        stages: list[nn.Module] = []
        for channels, stride, blocks in CONV_STAGES:
            rest = [InvertedResidual(channels, channels, 1) for _ in range(blocks - 1)]
            stages.append(nn.Sequential(InvertedResidual(width, channels, stride), *rest))
            width = channels
        for channels, inner, layers in TRANSFORMER_STAGES:
            halving = InvertedResidual(width, channels, 2)
            stages.append(nn.Sequential(halving, MobileVitBlock(channels, inner, layers)))
            width = channels
        self.stages = nn.Sequential(*stages)
        self.final_conv = ConvNorm(width, HEAD, 1)
        self.head = Head(HEAD, num_classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out")
            elif isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of (n, 3, h, w) images, h and w multiples of 32: (n, classes)."""
        if min(x.shape[2:]) < self.least_side:
            x = F.interpolate(x, size=(self.least_side,) * 2, mode="bilinear", align_corners=False)
        x = self.stages(self.stem(x))  # (n, 160, h/32, w/32)
        logits: Tensor = self.head(self.final_conv(x))
        return logits


def mobilevit_s(num_classes: int) -> nn.Module:
    """Return an untrained MobileViT-S."""
    return MobileViT(num_classes)
