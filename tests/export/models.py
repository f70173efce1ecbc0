"""A small network with most of what real ones have, and images to it."""

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import leantta
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.export.report import Conversion
from leantta.gates.gate import Gate
from leantta.runtime.container import read_container
from leantta.runtime.metadata import Info, read_info


def _zoo() -> ModuleType:
    """The module beside the tests of surgery, whose folder is on the path only while those are collected."""
    folder = str(Path(__file__).resolve().parents[1] / "surgery")
    sys.path.append(folder)
    try:
        return importlib.import_module("zoo")
    finally:
        sys.path.remove(folder)


ZOO: Mapping[str, Callable[[], nn.Module]] = _zoo().ZOO
trained = _zoo().trained

MEAN, STD = (0.5, 0.45, 0.4), (0.2, 0.22, 0.25)
CLASSES = ("ant", "bee", "cat", "dog", "elk")
COUNT, SIZE = 200, 12
GOOD: dict[str, Any] = {"mean": MEAN, "std": STD}
FRESH = {"seed": 9, "shift": 35}  # images that no conversion has seen, lighter than those

FORMS: dict[str, dict[str, Any]] = {
    "int8": {},
    "int8 of images": {"input": "image"},
    "int8 portable of images": {"portable": True, "input": "image"},
    "int8 calibrated": {"gate": "calibrated"},
    "fp32": {"precision": "fp32"},
    "fp32 portable of images": {"precision": "fp32", "portable": True, "input": "image"},
    "int8, nothing adapts": {"layers": "none"},
}


class Small(nn.Module):
    """Plain, depthwise and 1x1 convolutions, a sum, a pool, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.bn1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.deep, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8)
        self.mix, self.bn3 = nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.stem(x)))
        y = nn.functional.relu6(self.bn2(self.deep(x)))
        x = torch.relu(x + self.bn3(self.mix(y)))
        scores: Tensor = self.head(nn.functional.max_pool2d(x, 2).mean((2, 3)))
        return scores


def small(seed: int = 0) -> Small:
    """The network with weights by the seed, and the statistics that training on `pixels` would have left."""
    model: Small = trained(Small(), seed)
    settle_(model)
    return model


def settle_(model: nn.Module) -> None:
    """Give a network the statistics that training on `pixels` would have left, and put it into eval mode."""
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the plain average of what is seen
            module.reset_running_stats()
    with torch.no_grad():
        model(given(pixels()))
    model.eval()


def pixels(count: int = COUNT, seed: int = 0, shift: int = 0) -> NDArray[np.uint8]:
    """Smooth noise as images (n, h, w, 3), no two alike; `shift` makes them lighter."""
    random = np.random.default_rng(seed)
    coarse = random.normal(0, 45, (count, SIZE // 4, SIZE // 4, 3)) + random.normal(0, 30, (count, 1, 1, 3))
    fine = np.repeat(np.repeat(coarse, 4, axis=1), 4, axis=2) + random.normal(0, 12, (count, SIZE, SIZE, 3))
    return np.clip(np.rint(fine + 118 + shift), 0, 255).astype(np.uint8)


def given(images: NDArray[np.uint8]) -> Tensor:
    """What the network takes, by the usual formula in float64."""
    unit = images.astype(np.float64) / 255
    normal = (unit - np.array(MEAN)) / np.array(STD)
    return torch.from_numpy(normal.transpose(0, 3, 1, 2).astype(np.float32)).contiguous()


def scores(model: nn.Module, images: NDArray[np.uint8]) -> NDArray[np.float32]:
    with torch.inference_mode():
        found: NDArray[np.float32] = model(given(images)).numpy()
    return found


@dataclass(frozen=True)
class Made:
    """A file, what the conversion said, and the torch model that it stands for."""

    path: Path
    done: Conversion
    lean: nn.Module


class Files:
    """Files by what they are; each is made once, as an export takes a second."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[Any, Made] = {}

    def __call__(
        self,
        *,
        precision: str = "int8",
        portable: bool = False,
        input: str = "tensor",
        gate: Gate | str = "paper",
        layers: str = "all",
    ) -> Made:
        key = (precision, portable, input, gate, layers)
        if key not in self.made:
            model, images = small(), pixels()
            options = FileOptions(precision=precision, portable=portable, input=input)  # type: ignore[arg-type]
            path = self.folder / f"{len(self.made)}.onnx"
            done = convert(
                model,
                images,
                path,
                layers=layers,
                gate=gate,
                options=options,
                mean=MEAN,
                std=STD,
                classes=CLASSES,
            )
            calibration = given(images) if gate == "calibrated" else None
            lean = leantta.adapt(model, given(images[:2]), layers, gate=gate, calibration=calibration)
            self.made[key] = Made(path, done, lean)
        return self.made[key]


def info_of(path: Path) -> Info:
    return read_info(read_container(path))
