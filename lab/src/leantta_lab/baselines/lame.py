"""LAME (Boudiaf et al., 2022): predictions of a batch corrected by those of their neighbours.

The network is left as it is. With the predictions p and the unit-length features f of a batch

    K_ij = exp(-|f_i - f_j|^2 / (2 sigma^2))      sigma: mean distance to the k-th nearest neighbour
    Y    = softmax(ln p + K Y)                    from Y = p, until the energy settles or 100 times

and what is returned is ln Y. As in the authors' code each input counts as its own first neighbour. A batch of
one has none other: it keeps its logits.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.errors import UnsupportedModelError
from leantta_lab.baselines.base import Baseline, Config, check_range

DECIDING = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Kinds of layers that may be the last of a network."""

LEAST_SIGMA = 1e-12
SETTLED = 1e-8
"""Relative change of the energy that ends the iteration."""


@dataclass(frozen=True, kw_only=True)
class LameConfig(Config):
    """The authors' settings for the RBF kernel."""

    neighbours: int = 5
    iterations: int = 100

    def __post_init__(self) -> None:
        """Refuse fewer than one neighbour."""
        check_range("neighbours", self.neighbours, 1)
        check_range("iterations", self.iterations, 0)


class Features:
    """Keeps what went into the last linear or convolutional layer that ran."""

    def __init__(self, network: nn.Module) -> None:
        """Watch the network's layers from now on.

        Raises:
            UnsupportedModelError: there is no such layer.
        """
        self._last: Tensor | None = None
        layers = [layer for layer in network.modules() if isinstance(layer, DECIDING)]
        if not layers:
            raise UnsupportedModelError(
                "features are the input of the last linear or convolutional layer; none"
            )
        for layer in layers:
            layer.register_forward_pre_hook(self._keep)

    def _keep(self, _layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        self._last = inputs[0]

    def of_last_pass(self) -> Tensor:
        """Return the features of the batch that was run last, (n, d)."""
        assert self._last is not None, "nothing was run"
        return self._last.detach().flatten(1)


class Lame(Baseline[LameConfig]):
    """Smooths the predictions of a batch over its features."""

    def begin(self) -> None:
        """Watch what goes into the last layer."""
        self.features = Features(self.network)

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logarithm of the corrected predictions."""
        logits: Tensor = self.network(x)
        if len(x) == 1:
            return logits
        kernel = affinity(self.features.of_last_pass(), self.config.neighbours)
        return corrected(logits.log_softmax(1), kernel, self.config.iterations)


def affinity(features: Tensor, neighbours: int) -> Tensor:
    """Return the RBF kernel (n, n) of features (n, d), as wide as neighbours are apart.

    >>> affinity(torch.tensor([[1.0, 0.0], [2.0, 0.0]]), 5)
    tensor([[1., 1.],
            [1., 1.]])
    """
    unit = F.normalize(features, dim=1)
    distances = torch.cdist(unit, unit, compute_mode="donot_use_mm_for_euclid_dist")
    nearest = distances.topk(min(neighbours, len(unit)), dim=1, largest=False).values  # each its own first
    sigma = nearest[:, -1].mean().clamp_min(LEAST_SIGMA)
    return torch.exp(-(distances / sigma).square() / 2)


def corrected(log_p: Tensor, kernel: Tensor, iterations: int) -> Tensor:
    """Return ln Y (n, k) at the fixed point of Y = softmax(ln p + K Y)."""
    log_y = log_p
    before = math.nan
    for _ in range(iterations):
        y = log_y.exp()
        pull = kernel @ y
        log_y = (log_p + pull).log_softmax(1)
        energy = (log_y.exp() * (log_y - log_p - pull)).sum().item()
        if abs(energy - before) <= SETTLED * abs(before):
            break
        before = energy
    return log_y
