"""SAR (Niu et al., 2023): entropy descended where it is flat, on samples that are sure, with a way back.

As in Tent, BatchNorms take the statistics of the batch; scales and offsets learn, those of LayerNorm and
GroupNorm too, but not in the last quarter of the layers (in a ResNet18, its last stage). With
E0 = margin * ln C and the samples S whose entropy H is below E0:

    e    = rho * g / |g|                   g: the gradient of mean H over S at theta
    loss = mean H at theta + e             over the samples of S that are still below E0
    theta <- a step of SGD from theta      with the gradient of `loss` at theta + e

A running mean of `loss` below `reset_below` means collapse: weights, optimizer and mean start anew. The bound
is from a thousand classes. A network that is sure of its ten is below it from the first batch on, and so goes
back to the source after each step; with 0 it never does.
"""

import math
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from leantta.errors import NoBatchNormError
from leantta_lab.baselines.base import Baseline, Config, check_range
from leantta_lab.baselines.learning import entropy, flattened
from leantta_lab.baselines.norms import BatchNorm, replace_norms

NORMS = (BatchNorm, nn.LayerNorm, nn.GroupNorm)
TINY = 1e-12
"""Added to the length of the gradient, which may be zero."""


@dataclass(frozen=True, kw_only=True)
class SarConfig(Config):
    """What the authors use for ResNets."""

    learning_rate: float = 2.5e-4
    full_batch: int = 32  # n samples, if fewer, learn at n / full_batch of the rate
    momentum: float = 0.9
    margin: float = 0.4  # x ln(classes): the largest entropy
    rho: float = 0.05  # how far to look for a steeper place
    decay: float = 0.9  # how much of the mean loss stays when a batch adds to it
    reset_below: float = 0.2
    frozen_share: float = 0.25  # of the layers, from the end

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("learning_rate", self.learning_rate, 0)
        check_range("full_batch", self.full_batch, 1)
        check_range("momentum", self.momentum, 0, 1)
        check_range("margin", self.margin, 0)
        check_range("rho", self.rho, 0)
        check_range("decay", self.decay, 0, 1)
        check_range("frozen_share", self.frozen_share, 0, 1)


class Sar(Baseline[SarConfig]):
    """Minimizes the entropy of sure samples, as seen from the steepest place nearby."""

    mean: float | None  # the running mean of the loss

    def begin(self) -> None:
        """Exchange the BatchNorms, keep the weights to return to and start SGD."""
        with suppress(NoBatchNormError):  # other norms learn too
            replace_norms(self.network, BatchNorm)
        self.trained = flattened(learning_parameters(self.network, self.config.frozen_share))
        self.first = self.trained.detach().clone()
        self.highest = self.config.margin * math.log(self.classes)
        self._start_anew()

    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the batch; descend if any sample is sure, and start anew after a collapse."""
        logits: Tensor = self.network(x)
        entropies = entropy(logits)
        sure = entropies.detach() < self.highest
        if sure.any():
            self._descend(x, sure, entropies[sure].mean())
        if self.mean is not None and self.mean < self.config.reset_below:
            self._start_anew()
        return logits

    def _descend(self, x: Tensor, sure: Tensor, loss: Tensor) -> None:
        slope = self._gradient(loss)
        length = slope.norm().item()
        if not math.isfinite(length):
            return
        here = self.trained.detach().clone()
        self._move(here.add(slope, alpha=self.config.rho / (length + TINY)))
        entropies = entropy(self.network(x))[sure]
        loss = entropies[entropies.detach() < self.highest].mean()  # no number if none is left
        learns = bool(torch.isfinite(loss))
        if learns:
            self._gradient(loss)
        self._move(here)
        if learns:
            share = min(1, len(x) / self.config.full_batch)
            self.optimizer.param_groups[0]["lr"] = share * self.config.learning_rate
            self.optimizer.step()
            self.mean = running(self.mean, loss.item(), self.config.decay)

    def _gradient(self, loss: Tensor) -> Tensor:
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        assert self.trained.grad is not None
        return self.trained.grad

    @torch.no_grad()
    def _move(self, weights: Tensor) -> None:
        self.trained.copy_(weights)

    def _start_anew(self) -> None:
        self._move(self.first)
        self.optimizer = torch.optim.SGD([self.trained], lr=0.0, momentum=self.config.momentum)
        self.mean = None


def learning_parameters(network: nn.Module, frozen_share: float) -> list[nn.Parameter]:
    """Return scales and offsets of the norms in order of registration, without the last `frozen_share`.

    Raises:
        NoBatchNormError: there are none.
    """
    norms = [layer for layer in network.modules() if isinstance(layer, NORMS)]
    learning = norms[: len(norms) - math.floor(frozen_share * len(norms))]
    parameters = [p for layer in learning for p in (layer.weight, layer.bias) if isinstance(p, nn.Parameter)]
    if not parameters:
        raise NoBatchNormError(
            f"SAR trains the scales and offsets of norms; the model has {len(norms)} norms, and frozen_share "
            f"{frozen_share:g} leaves none to train"
        )
    return parameters


def running(mean: float | None, value: float, decay: float) -> float:
    """Return decay * mean + (1 - decay) * value, or the value if it is the first.

    >>> running(None, 3.0, 0.5), running(1.0, 3.0, 0.5)
    (3.0, 2.0)
    """
    return value if mean is None else decay * mean + (1 - decay) * value
