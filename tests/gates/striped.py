"""A made-up task, images of stripes by direction, and a network that decides it."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

Pixels = NDArray[np.uint8]

MEAN, STD = (0.5, 0.45, 0.4), (0.2, 0.22, 0.25)
GOOD: dict[str, Any] = {"mean": MEAN, "std": STD}
COUNT, SIZE, CLASSES = 120, 12, 4


class Striped(nn.Module):
    """Three convolutions with their BatchNorms, and a linear layer."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        scores: Tensor = self.head(torch.relu(self.bn3(self.conv3(x))).mean((2, 3)))
        return scores


def pixels(count: int = COUNT, seed: int = 0) -> Pixels:
    """Return images (n, h, w, 3) of stripes; image i is of class i modulo 4."""
    draw = np.random.default_rng(seed)
    angle = (np.arange(count) % CLASSES * np.pi / CLASSES)[:, None, None]
    down, right = np.mgrid[:SIZE, :SIZE]
    phase, period = draw.uniform(0, 2 * np.pi, (count, 1, 1)), draw.uniform(3.5, 6, (count, 1, 1))
    wave = np.sin(2 * np.pi * (np.cos(angle) * down + np.sin(angle) * right) / period + phase)
    light, contrast = draw.uniform(90, 160, (count, 1, 1, 3)), draw.uniform(25, 70, (count, 1, 1, 3))
    values = light + contrast * wave[..., None] + draw.normal(0, 5, (count, SIZE, SIZE, 3))
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def hazy(images: Pixels) -> Pixels:
    """Return images as through haze: lighter, and of little contrast."""
    return (0.35 * images + 110).astype(np.uint8)


def given(images: Pixels) -> Tensor:
    """Return what the network takes."""
    unit = (images / 255 - np.asarray(MEAN)) / np.asarray(STD)
    return torch.from_numpy(unit.transpose(0, 3, 1, 2).astype(np.float32)).contiguous()


def striped(width: int = 16) -> Striped:
    """Return the network, trained on other images than `pixels` gives by default."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Striped(width)
        learn_(model, given(pixels(480, seed=7)), torch.arange(480) % CLASSES)
    return model


def learn_(model: nn.Module, inputs: Tensor, labels: Tensor, steps: int = 60) -> None:
    """Train a network by gradient descent with momentum, and put it into eval mode."""
    weights = list(model.train().parameters())
    pace = [torch.zeros_like(weight) for weight in weights]
    for _ in range(steps):
        batch = torch.randint(len(inputs), (64,))
        gradients = torch.autograd.grad(cross_entropy(model(inputs[batch]), labels[batch]), weights)
        with torch.no_grad():
            for weight, gradient, speed in zip(weights, gradients, pace, strict=True):
                weight.sub_(0.1 * speed.mul_(0.9).add_(gradient))
    model.eval()


def decisions(model: nn.Module, inputs: Tensor) -> Tensor:
    """Return the class that a model decides for, (n,)."""
    with torch.inference_mode():
        decided: Tensor = model(inputs).argmax(1)
    return decided
