"""Make `preprocessing.npz`: what torchvision's and timm's own transforms make of images.

Neither is a dependency, and no test runs this. It ran with torchvision 0.28.0, timm 1.0.31 and Pillow 12.0.0,
unpacked beside torch without their own dependencies. Pillow 13 scales some images in another order, see
`leantta.data.resize.scaled`; with it three of the results differ, by up to three levels.

    pip install --no-deps --target FOLDER torchvision timm pillow==12.0.0
    PYTHONPATH=FOLDER python lab/benchmarks/preprocessing_references.py

torchvision's transforms of images call Pillow alone. Its compiled operators do not load beside another build
of torch, so the two that it looks for when it is imported are declared here, and never called.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

for name in ("nms", "qnms"):
    torch.library.define(
        f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    )

from timm.data import create_transform  # type: ignore[import-not-found]  # noqa: E402 - see above
from torchvision.transforms import (  # type: ignore[import-not-found]  # noqa: E402 - see above
    CenterCrop,
    Compose,
    Grayscale,
    InterpolationMode,
    Resize,
)

OUTPUT = Path(__file__).resolve().parents[2] / "tests" / "data" / "references" / "preprocessing.npz"
SOURCES = ((61, 87), (88, 59), (25, 18))
GREY = (124, 116, 104)
MEAN = tuple(each / 255 for each in GREY)

TORCHVISION: tuple[dict[str, Any], ...] = (
    *({"resize": 36, "crop": [32, 32], "interpolation": name} for name in ("bilinear", "bicubic", "nearest")),
    {"resize": 33, "crop": [32, 32], "interpolation": "lanczos"},
    {"resize": [32, 48], "interpolation": "bicubic"},
    {"resize": [31, 20], "interpolation": "nearest"},
    {"resize": [44, 50], "interpolation": "lanczos"},
    {"crop": [17, 14]},
    {"pad": [64, 75], "crop": [64, 75]},
    {"resize": 35, "crop": [31, 28], "colours": "grey"},
)
"""What is asked of `Resize`, `CenterCrop` (which pads with zeros) and `Grayscale`."""

TIMM: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"resize": 36, "crop": [32, 32], "interpolation": "bicubic"}, {"crop_pct": 0.875}),
    ({"resize": [36, 36], "crop": [32, 32], "interpolation": "bicubic"}, {"crop_mode": "squash"}),
    (
        {"resize": 36, "side": "long", "pad": [32, 32], "fill": list(GREY), "crop": [32, 32]},
        {"crop_mode": "border", "interpolation": "bilinear", "mean": MEAN},
    ),
)
"""A description, and what is asked of `create_transform` besides; it crops to 32 pixels."""


def source(height: int, width: int) -> Image.Image:
    """Return slow waves with edges and noise on them: what shows which filter was taken, and from where."""
    draw = np.random.default_rng(height * width)
    rows, columns = np.mgrid[:height, :width]
    waves = np.stack([np.sin(rows / 9), np.cos(columns / 7), np.sin((rows + columns) / 5)], axis=-1)
    edges = 60 * ((rows // 11 + columns // 13) % 2)[..., None]
    noisy = 110 + 70 * waves + edges + draw.integers(-20, 21, waves.shape)
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def by_torchvision(how: dict[str, Any]) -> Any:
    """Return the transforms that mean the same."""
    mode = InterpolationMode(how.get("interpolation", "bilinear"))
    steps = [Resize(how["resize"], interpolation=mode)] if "resize" in how else []
    steps += [CenterCrop(how["crop"])] if "crop" in how else []
    return Compose([*steps, *([Grayscale()] if how.get("colours") == "grey" else [])])


def by_timm(asked: dict[str, Any]) -> Any:
    """Return timm's transform for evaluation, without its normalization."""
    usual = {"interpolation": "bicubic", "crop_pct": 32 / 36, "is_training": False, "normalize": False}
    return create_transform((3, 32, 32), **(usual | asked))


def main() -> None:
    """Write the file beside this one."""
    arrays: dict[str, Any] = {}
    cases = [("torchvision", how, by_torchvision(how)) for how in TORCHVISION]
    cases += [("timm", how, by_timm(asked)) for how, asked in TIMM]
    told = []
    for number, size in enumerate(SOURCES):
        image = source(*size)
        arrays[f"source{number}"] = np.asarray(image)
        for case, (maker, how, transform) in enumerate(cases):
            found = transform(image)
            pixels = found.numpy().transpose(1, 2, 0) if torch.is_tensor(found) else np.asarray(found)
            arrays[f"wanted{number}_{case}"] = pixels.reshape(*pixels.shape[:2], -1)
            told.append({"source": number, "case": case, "maker": maker, "how": how})
    arrays["cases"] = np.array(json.dumps(told))
    np.savez_compressed(OUTPUT, **arrays)


if __name__ == "__main__":
    main()
