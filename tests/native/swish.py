"""A network whose normalizations are followed by sums and hard-swish, alone and together; and files of it."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import hardswish

from export.models import CLASSES, MEAN, STD, pixels, settle_, trained
from leantta.export.convert import convert
from leantta.export.options import FileOptions

CHANNELS = 24


class Swish(nn.Module):
    """A stem, a depthwise convolution, and two sums: one plain, one with hard-swish behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.bn1 = nn.Conv2d(3, CHANNELS, 3, padding=1, bias=False), nn.BatchNorm2d(CHANNELS)
        self.deep = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS, bias=False)
        self.bn2 = nn.BatchNorm2d(CHANNELS)
        self.mix, self.bn3 = nn.Conv2d(CHANNELS, CHANNELS, 1, bias=False), nn.BatchNorm2d(CHANNELS)
        self.last, self.bn4 = nn.Conv2d(CHANNELS, CHANNELS, 1, bias=False), nn.BatchNorm2d(CHANNELS)
        self.head = nn.Linear(CHANNELS, len(CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        x = hardswish(self.bn1(self.stem(x)))
        y = torch.relu(self.bn2(self.deep(x)))
        x = x + self.bn3(self.mix(y))
        x = hardswish(x + self.bn4(self.last(x)))
        scores: Tensor = self.head(x.mean((2, 3)))
        return scores


def swish() -> Swish:
    """The network with the statistics that training on `pixels` would have left."""
    model: Swish = trained(Swish())
    settle_(model)
    return model


def convert_swish(path: Path, precision: Any) -> Path:
    """Write the file, all layers adapting by the calibrated gate, and return its path."""
    convert(
        swish(),
        pixels(),
        path,
        layers="all",
        gate="calibrated",
        options=FileOptions(precision=precision, input="image"),
        mean=MEAN,
        std=STD,
        classes=CLASSES,
    )
    return path


def shifted(count: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Images that are lighter than those of the training."""
    return pixels(count, seed=1, shift=30)
