"""A network of two convolutions, and the same in float64 with a norm of the caller's choice."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

CLASSES = 4
NORMS = ("norm1", "norm2")
Weights = dict[str, Tensor]


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5)
        self.conv2, self.norm2 = nn.Conv2d(5, 6, 3, stride=2), nn.BatchNorm2d(6)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(self.conv1(x)).relu()
        x = self.norm2(self.conv2(x)).relu()
        logits: Tensor = self.head(x.mean((2, 3)))
        return logits


def two_layers(sureness: float = 10.0) -> TwoLayers:
    """Return an untrained network with statistics near its inputs'; the surer, the lower its entropy."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = TwoLayers().eval()
        for norm in (network.norm1, network.norm2):
            norm.running_mean = torch.empty(norm.num_features).normal_(0, 0.1)
            norm.running_var = torch.empty(norm.num_features).uniform_(0.02, 0.2)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, 0, 0.3)
        network.head.weight.data.mul_(sureness)
    return network


def stream(*sizes: int) -> list[NDArray[np.float32]]:
    """Return batches of such sizes, of images that differ in brightness and contrast."""
    rng = np.random.default_rng(5)
    batches = []
    for n in sizes:
        light = rng.uniform(0.1, 0.9, (n, 3, 1, 1))
        noise = rng.normal(0, rng.uniform(0.02, 0.3, (n, 1, 1, 1)), (n, 3, 9, 9))
        batches.append((light + noise).clip(0, 1).astype(np.float32))
    return batches


def twin(network: nn.Module) -> Weights:
    """Return all tensors of a network in float64."""
    return {name: value.detach().double().clone() for name, value in network.state_dict().items()}


def run(weights: Weights, x: Tensor, norm: Callable[[str, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """Return logits and features, with `norm` given a layer's name and its input."""
    x = norm("norm1", F.conv2d(x.double(), weights["conv1.weight"], weights["conv1.bias"])).relu()
    x = norm("norm2", F.conv2d(x, weights["conv2.weight"], weights["conv2.bias"], stride=2)).relu()
    features = x.mean((2, 3))
    return F.linear(features, weights["head.weight"], weights["head.bias"]), features


def scaled(weights: Weights, name: str, x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    """Return x normalized with statistics (c,) or (n, c), then scaled and moved by a layer's weights."""
    shape = (-1, x.shape[1], 1, 1)
    z = (x - mean.reshape(shape)) / (var.reshape(shape) + 1e-5).sqrt()
    return z * weights[f"{name}.weight"].reshape(shape) + weights[f"{name}.bias"].reshape(shape)


def plain(weights: Weights, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits and features of the network as it was trained."""
    return run(weights, x, lambda name, h: scaled(weights, name, h, *source(weights, name)))


def on_batch(weights: Weights, x: Tensor) -> Tensor:
    """Return logits with the statistics of the batch."""
    return run(weights, x, lambda name, h: scaled(weights, name, h, *moments(h)))[0]


def source(weights: Weights, name: str) -> tuple[Tensor, Tensor]:
    return weights[f"{name}.running_mean"], weights[f"{name}.running_var"]


def moments(h: Tensor, over: tuple[int, ...] = (0, 2, 3)) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance."""
    mean = h.mean(over)
    return mean, (h - h.mean(over, keepdim=True)).square().mean(over)


def doubt(logits: Tensor) -> Tensor:
    """Return the entropy of each row."""
    p = logits.exp() / logits.exp().sum(1, keepdim=True)
    return -(p * p.log()).sum(1)


def affine(weights: Weights, names: tuple[str, ...] = NORMS) -> list[Tensor]:
    """Return scales and offsets, ready for a gradient."""
    return [weights[f"{name}.{which}"].requires_grad_() for name in names for which in ("weight", "bias")]


class Adam:
    """The textbook's Adam on a list of tensors."""

    def __init__(self, parameters: list[Tensor], rate: float) -> None:
        self.parameters, self.rate, self.steps = parameters, rate, 0
        self.first = [torch.zeros_like(p) for p in parameters]
        self.second = [torch.zeros_like(p) for p in parameters]

    def step(self, loss: Tensor) -> None:
        self.steps += 1
        gradients = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            for i, (p, g) in enumerate(zip(self.parameters, gradients, strict=True)):
                self.first[i] = 0.9 * self.first[i] + 0.1 * g
                self.second[i] = 0.999 * self.second[i] + 0.001 * g * g
                mean = self.first[i] / (1 - 0.9**self.steps)
                square = self.second[i] / (1 - 0.999**self.steps)
                p -= self.rate * mean / (square.sqrt() + 1e-8)
