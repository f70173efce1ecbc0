"""The networks whose cost is measured against their size."""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from torch import nn

from leantta.export.convert import FileOptions, convert


def write_network(
    path: Path, channels: int, resolution: int, layers: int, share: float, *, portable: bool
) -> None:
    """Write a network of equal layers as an int8 file in which the first `share` of them adapts."""
    torch.manual_seed(0)
    steps: OrderedDict[str, nn.Module] = OrderedDict()
    for i in range(layers):
        steps[f"conv{i}"] = nn.Conv2d(channels if i else 3, channels, 3, padding=1, bias=False)
        steps[f"norm{i}"] = nn.BatchNorm2d(channels)
        steps[f"relu{i}"] = nn.ReLU()
    steps |= {"pool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten(), "head": nn.Linear(channels, 10)}
    model = nn.Sequential(steps).eval()
    source = np.random.default_rng(0).standard_normal((32, 3, resolution, resolution), np.float32)
    selected = float(share) if 0 < share < 1 else "all" if share else "none"
    convert(model, source, path, layers=selected, options=FileOptions(portable=portable))
