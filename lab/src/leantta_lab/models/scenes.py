"""Two small networks for scenes of photographs: one says what each pixel shows, one where photographs are.

Both have the same encoder with skips, BatchNorm behind each convolution. 0.4 million parameters each.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.models.weights import load_weights
from leantta_lab.models.checkpoints import find_weights

WIDTHS = (24, 40, 72, 112)
"""Channels at a half, a quarter, an eighth and a sixteenth of the side of a scene."""

UP = (56, 32, 24)
"""Channels on the way back, from an eighth to a half."""

STRIDES = (8, 16)
"""Pixels for each cell of the detector's two grids."""


def conv_norm_relu(channels_in: int, channels: int, stride: int = 1) -> nn.Sequential:
    """Return a 3 x 3 convolution, its BatchNorm and a ReLU."""
    conv = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(channels), nn.ReLU(inplace=True))


class Encoder(nn.Module):
    """Two convolutions a scale, each scale half the last one."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, *WIDTHS)
        self.scales = nn.ModuleList(
            nn.Sequential(conv_norm_relu(before, after, 2), conv_norm_relu(after, after))
            for before, after in zip(widths, WIDTHS, strict=False)
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        """Return the maps of all scales, (n, WIDTHS[i], h / 2^(i + 1), w / 2^(i + 1))."""
        maps = []
        for scale in self.scales:
            x = scale(x)
            maps.append(x)
        return maps


class SceneSegmenter(nn.Module):
    """A score of each class for each pixel; class 0 is the background."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.encoder = Encoder()
        before = (WIDTHS[3], *UP)
        self.decoder = nn.ModuleList(
            conv_norm_relu(low + skip, up) for low, skip, up in zip(before, WIDTHS[2::-1], UP, strict=False)
        )
        self.head = nn.Conv2d(UP[-1], 1 + num_classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of (n, 3, h, w) scenes, (n, 1 + classes, h, w); sides are multiples of 16."""
        *skips, x = self.encoder(x)
        for skip, block in zip(skips[::-1], self.decoder, strict=True):
            x = block(cat_doubled(x, skip))
        scores: Tensor = doubled(self.head(x))
        return scores


class SceneDetector(nn.Module):
    """In each cell of two grids, scores of the classes and the box around the cell's centre.

    Class 0 is the background. A box is the distance to its left, upper, right and lower side, in cells.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.join = conv_norm_relu(WIDTHS[3] + WIDTHS[2], UP[0])
        widths = (UP[0], WIDTHS[3])
        self.classes = nn.ModuleList(nn.Conv2d(width, 1 + num_classes, 1) for width in widths)
        self.boxes = nn.ModuleList(nn.Conv2d(width, 4, 1) for width in widths)

    def forward(self, x: Tensor) -> dict[str, dict[str, Tensor]]:
        """Return for `stride8` and `stride16` `classes` (n, 1 + classes, h, w) and `boxes` (n, 4, h, w)."""
        *_, eighth, sixteenth = self.encoder(x)
        maps = (self.join(cat_doubled(sixteenth, eighth)), sixteenth)
        return {
            f"stride{stride}": {"classes": classes(map_), "boxes": F.softplus(boxes(map_))}
            for stride, map_, classes, boxes in zip(STRIDES, maps, self.classes, self.boxes, strict=True)
        }


def doubled(x: Tensor) -> Tensor:
    """Return a map at twice its size."""
    return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)


def cat_doubled(low: Tensor, skip: Tensor) -> Tensor:
    """Return a map at twice its size beside one that has that size."""
    return torch.cat([doubled(low), skip], 1)


def segmenter() -> nn.Module:
    """Return the trained segmenter; class 0 is the ground, the others are CIFAR-10's."""
    model = SceneSegmenter(10)
    load_weights(model, find_weights("scene_segmenter", "cifar10"))
    return model.eval()
