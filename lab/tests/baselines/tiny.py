"""Small networks of every kind that a baseline may be put on, with inputs for them."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from baselines.two_layers import two_layers

Batch = NDArray[np.float32]


class Mean(nn.Module):
    """The mean over all positions."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(2).mean(2)


@dataclass(frozen=True)
class Tiny:
    """A network by what it takes."""

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    classes: int

    def network(self) -> nn.Module:
        """Return a new copy of the network."""
        return deepcopy(self._trained())

    @cache  # noqa: B019 - there are four of them
    def _trained(self) -> nn.Module:
        """Return a network as if it were trained: statistics are right, and the classes about even."""
        with torch.random.fork_rng():
            torch.manual_seed(7)
            network = self.make()
        (x,) = map(torch.from_numpy, self.batches(32, seed=1))
        *_, head = network.modules()
        assert isinstance(head, nn.Linear)
        with torch.no_grad():
            network.train()
            for _ in range(10):
                network(x)
            network.eval()
            head.bias.sub_(network(x).mean(0))
        return network

    def batches(self, *sizes: int, seed: int = 0) -> list[Batch]:
        """Return batches of such sizes; inputs differ in level and contrast, and stay between 0 and 1."""
        rng = np.random.default_rng(seed)
        found = []
        for n in sizes:
            ones = (1,) * (len(self.shape) - 1)
            level = rng.uniform(0.1, 0.9, (n, self.shape[0], *ones))
            noise = rng.normal(0, rng.uniform(0.02, 0.3, (n, 1, *ones)), (n, *self.shape))
            found.append((level + noise).clip(0, 1).astype(np.float32))
        return found


def _yes_no() -> nn.Module:
    head = nn.Linear(5, 1)
    head.weight.data.mul_(8)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.BatchNorm2d(5), Mean(), head
    )


def _signals() -> nn.Module:
    head = nn.Linear(5, 3)
    head.weight.data.mul_(8)
    return nn.Sequential(
        nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 5, 3), nn.BatchNorm1d(5), Mean(), head
    )


def _vectors() -> nn.Module:
    """One value per channel, as a map and as a vector."""
    return nn.Sequential(
        nn.Conv2d(3, 4, 6),
        nn.BatchNorm2d(4),
        nn.Flatten(),
        nn.Linear(4, 6),
        nn.BatchNorm1d(6),
        nn.ReLU(),
        nn.Linear(6, 3),
    )


TINY = {
    "images": Tiny(lambda: two_layers(sureness=25), (3, 10, 10), 4),
    "yes-no": Tiny(_yes_no, (1, 12, 8), 1),
    "signals": Tiny(_signals, (2, 20), 3),
    "vectors": Tiny(_vectors, (3, 6, 6), 3),
}
