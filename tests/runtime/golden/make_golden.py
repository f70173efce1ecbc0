"""Write a golden file: a new one for what files have not had so far, as those out there must stay readable.

python make_golden.py format1_steps

format1_stream.onnx has a stream mode of before (StreamFilterNorm), which no code makes any more.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from leantta.export.convert import convert
from leantta.runtime.session import load

HERE = Path(__file__).parent
STATISTICS: Mapping[str, Any] = {"mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}


class Fused(nn.Module):
    """29 channels (16 + 8 + 5), depthwise, a sum, a hard-swish: what the kernel does at once."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.bn1 = nn.Conv2d(3, 29, 3, padding=1), nn.BatchNorm2d(29)
        self.deep, self.bn2 = nn.Conv2d(29, 29, 3, padding=1, groups=29), nn.BatchNorm2d(29)
        self.mix, self.bn3 = nn.Conv2d(29, 29, 1), nn.BatchNorm2d(29)
        self.head = nn.Linear(29, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.hardswish(self.bn1(self.stem(x)))
        y = nn.functional.relu6(self.bn2(self.deep(x)))
        x = x + self.bn3(self.mix(y))
        scores: Tensor = self.head(x.mean((2, 3)))
        return scores


def plain() -> nn.Module:
    """The first golden network, which format1.onnx holds."""
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()),
        *(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.Hardswish()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
    )


GOLDEN: Mapping[str, tuple[Callable[[], nn.Module], Mapping[str, Any]]] = {
    "format1": (plain, {"gate": "calibrated"}),
    "format1_fused": (Fused, {"gate": "calibrated"}),
    "format1_steps": (Fused, {"gate": "paper"}),  # a step for each channel, which the others have not
}


def main(name: str) -> None:
    """Convert a tiny network with a fixed seed, and keep what it says of a few images."""
    torch.manual_seed(0)
    build, settings = GOLDEN[name]
    model = build()
    random = np.random.default_rng(0)
    images: NDArray[np.uint8] = random.integers(0, 256, (64, 12, 12, 3), np.uint8)
    with torch.no_grad():
        for _ in range(10):
            model(torch.from_numpy(images).permute(0, 3, 1, 2) / 64 - 2)
    path = HERE / f"{name}.onnx"
    convert(model.eval(), images, path, layers="all", **STATISTICS, **settings)
    with load(path) as session:
        outputs = session.run(images[:5])
    assert outputs.shift is not None
    np.savez(path.with_suffix(".npz"), images=images[:5], logits=outputs.logits, shift=outputs.shift)


if __name__ == "__main__":
    main(sys.argv[1])
