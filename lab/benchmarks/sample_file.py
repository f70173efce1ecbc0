"""Make the sample that the tool carries: a small network as a model file, and photographs to try it on.

    python lab/benchmarks/sample_file.py --images cifar10.npz

It trains the network on CIFAR-10 (minutes; stopped, it goes on), converts it with all defaults and writes
what `leantta sample` copies: the file, and photographs of the test set, each as it is and disturbed.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import leantta
from leantta.data.datasets import Dataset
from leantta.data.imagefiles import write_png
from leantta.data.seeds import derived
from leantta.evaluate.predictor import decided
from leantta.files import replacing
from leantta.modalities.datasets import load_data
from leantta.progress import Bar
from leantta.report.card import Measured, card_of
from leantta.samples import FOLDER
from leantta_lab.datasets.table import CIFAR10
from leantta_lab.training.loop import Training
from leantta_lab.training.recipes import Recipe

WIDTHS = ((24, 2), (32, 1), (48, 2), (48, 1), (96, 2), (96, 1))
"""Channels and stride of each convolution."""

CALIBRATION = 1000
"""How many training photographs the file is calibrated with, as many as the command takes by itself."""

PHOTOS = {
    "cat": ("motion_blur", 4),
    "ship": ("fog", 5),
    "frog": ("gaussian_noise", 3),
    "truck": ("contrast", 4),
}
"""Of each of these classes the first photograph of the test set, and what disturbs it."""

RECIPE = Recipe(epochs=10, cutout=4, peak_rate=0.1)


class SampleNet(nn.Module):
    """Six 3 x 3 convolutions with BatchNorm, and a mean; one that keeps the shape adds to its input."""

    def __init__(self) -> None:
        """Make it with random weights."""
        super().__init__()
        before = 3
        self.blocks = nn.ModuleList()
        for width, stride in WIDTHS:
            conv = nn.Conv2d(before, width, 3, stride, padding=1, bias=False)
            self.blocks.append(nn.Sequential(conv, nn.BatchNorm2d(width), nn.ReLU()))
            before = width
        self.classes = nn.Linear(before, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of (n, 3, 32, 32) images."""
        for block in self.blocks:
            y = block(x)
            x = x + y if x.shape == y.shape else y
        scores: Tensor = self.classes(x.mean((2, 3)))
        return scores


def trained(images: Path, state: Path) -> nn.Module:
    """Return the network after its training, which goes on where it was stopped."""
    torch.manual_seed(derived(0, "sample"))
    model = SampleNet()
    training = Training(
        model, load_data(images, "cifar10", "train"), RECIPE, checkpoint=state, key=repr(RECIPE), bf16=False
    )
    for step in training.run():
        if step.done % 100 == 0 or step.done == step.total:
            print(
                f"{step.done}/{step.total} {step.loss:.3f} {step.accuracy:.2f} {step.seconds:.0f} s",
                flush=True,
            )
    return model.eval()


def main() -> None:
    """Train, convert, choose the photographs and write the card."""
    parser = argparse.ArgumentParser(description="Make what `leantta sample` copies.")
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 as one .npz")
    parser.add_argument(
        "--state", type=Path, default=Path("sample.training"), help="where the training stands"
    )
    given = parser.parse_args()
    model = trained(given.images, given.state)
    source, test = (load_data(given.images, "cifar10", split) for split in ("train", "test"))
    file = FOLDER / "sample.onnx"
    done = leantta.convert(
        model,
        source.samples[:CALIBRATION],
        file,
        mean=CIFAR10.mean,
        std=CIFAR10.std,
        classes=CIFAR10.classes,
        name="SampleNet",
        progress=Bar,
    )
    print(done)
    with leantta.load(file) as session:
        right = int((decided(session.predict(test.samples)) == test.labels).sum())
    write_photographs(test)
    with replacing(FOLDER / "card.md") as part:
        measured = Measured(right=right, inputs=len(test), of="cifar10")
        part.write_text(card_of(file, measured, "apache-2.0"), encoding="utf-8")


def write_photographs(test: Dataset) -> None:
    """Write the first photograph of each chosen class, as it is and disturbed."""
    folder = FOLDER / "photos"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (corruption, severity) in PHOTOS.items():
        (place,) = np.flatnonzero(test.labels == CIFAR10.classes.index(name))[:1]
        photo = test.samples[place]
        write_png(folder / f"{name}.png", photo)
        disturbed = leantta.corrupt(photo[None], corruption, severity, seed=0)[0]
        write_png(folder / f"{name}_{corruption}.png", disturbed)


if __name__ == "__main__":
    main()
