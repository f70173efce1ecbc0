"""Write the golden file again: only for a new format, since files that are out there must stay readable."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from leantta.export.convert import convert
from leantta.runtime.session import load

HERE = Path(__file__).parent


def main() -> None:
    """Convert a tiny network with a fixed seed, and keep what it says of a few images."""
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()),
        *(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.Hardswish()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
    )
    images = np.random.default_rng(0).integers(0, 256, (64, 12, 12, 3), np.uint8)
    with torch.no_grad():
        for _ in range(10):
            model(torch.from_numpy(images).permute(0, 3, 1, 2) / 64 - 2)
    path = HERE / "format1.onnx"
    convert(model.eval(), images, path, layers="all", mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
    with load(path) as session:
        outputs = session.run(images[:5])
    assert outputs.shift is not None
    np.savez(HERE / "format1.npz", images=images[:5], logits=outputs.logits, shift=outputs.shift)


if __name__ == "__main__":
    main()
