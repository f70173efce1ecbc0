"""UnMix-TNS (Tomar et al., 2024): running statistics in several components, as if the classes came evenly.

Each layer has K components (mu_k, var_k). They begin around the source's statistics, zeta being normal noise:

    mu_k = mu_s + sqrt(spread K / (K - 1)) sqrt(var_s) zeta_k,    var_k = (1 - spread) var_s

An input with statistics (mu_i, var_i) belongs to the components whose means point the same way over channels:

    p_k = softmax(cos(mu_i, mu_k) / temperature)

It is normalized with the statistics of all components, each moved towards the input's by p_k:

    m_k = (1 - p_k) mu_k + p_k mu_i,    v_k = (1 - p_k) var_k + p_k var_i
    mu  = mean of m_k,                  var = mean of v_k + variance of m_k       over the components

Then the components move, by a step that is smaller for smaller batches of n inputs:

    mu_k <- mu_k + step mean of p_k (mu_i - mu_k) over the batch, the variances likewise
    step  = 1 - (1 - momentum)^(n / full_batch)

A layer that sees one value per channel and input normalizes with the source's statistics, as the authors'
does.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.functional import Stats, positions_of
from leantta_lab.baselines.base import Baseline, Config, check_range
from leantta_lab.baselines.norms import SourceNorm, replace_norms, sample_stats


@dataclass(frozen=True, kw_only=True)
class UnmixTnsConfig(Config):
    """The authors' settings."""

    components: int = 16  # K
    momentum: float = 0.1
    full_batch: int = 64  # for how many inputs the momentum is meant
    spread: float = 0.5  # alpha: how much of the source's variance is between the components
    temperature: float = 0.07

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("components", self.components, 1)
        check_range("momentum", self.momentum, 0, 1)
        check_range("full_batch", self.full_batch, 1)
        check_range("spread", self.spread, 0, 1)
        check_range("temperature", self.temperature, 0.001)


class UnmixingNorm(SourceNorm):
    """Normalizes each sample with the components' statistics and its own, and moves the components."""

    def __init__(self, norm: nn.Module, config: UnmixTnsConfig, generator: torch.Generator) -> None:
        super().__init__(norm)
        self.config = config
        count = config.components
        spread = config.spread if count > 1 else 0.0  # one alone is the source
        noise = torch.randn((count, len(self.source_mean)), generator=generator)
        away = math.sqrt(spread * count / max(count - 1, 1)) * self.source_var.sqrt()
        self.components = Stats(  # each (k, c)
            self.source_mean + away * noise, (1 - spread) * self.source_var.repeat(count, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return x (n, c, *positions) normalized."""
        if positions_of(x) == 1:
            return self.normalized(x, self.source)
        own = sample_stats(x)
        share = shares(own.mean, self.components.mean, self.config.temperature)
        y = self.normalized(x, blended(own, self.components, share))
        step = 1 - (1 - self.config.momentum) ** (len(x) / self.config.full_batch)
        self.components = Stats(
            moved(self.components.mean, own.mean, share, step),
            moved(self.components.var, own.var, share, step),
        )
        return y


class UnmixTns(Baseline[UnmixTnsConfig]):
    """Keeps running statistics in several components."""

    def begin(self) -> None:
        """Exchange the BatchNorms, their components around the source's statistics."""
        replace_norms(self.network, lambda norm: UnmixingNorm(norm, self.config, self.generator))

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the batch, and move the components."""
        logits: Tensor = self.network(x)
        return logits


def shares(means: Tensor, components: Tensor, temperature: float) -> Tensor:
    """Return how much each sample with means (n, c) belongs to each component (k, c), (n, k).

    >>> shares(torch.tensor([[0.0, 9.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]]), 0.001)
    tensor([[1., 0.]])
    """
    alike = F.normalize(means, dim=1) @ F.normalize(components, dim=1).T
    return (alike / temperature).softmax(1)


def blended(own: Stats, components: Stats, share: Tensor) -> Stats:
    """Return the statistics (n, c) of all components, each moved towards a sample's own by its share."""
    weight = share[:, :, None]
    means = torch.lerp(components.mean[None], own.mean[:, None], weight)  # (n, k, c)
    variances = torch.lerp(components.var[None], own.var[:, None], weight)
    between, mean = torch.var_mean(means, 1, correction=0)
    return Stats(mean, variances.mean(1) + between)


def moved(components: Tensor, own: Tensor, share: Tensor, step: float) -> Tensor:
    """Return components (k, c) after a step towards samples' values (n, c), to each by its share (n, k).

    >>> moved(torch.zeros(2, 1), torch.tensor([[1.0], [3.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), 0.5)
    tensor([[0.2500],
            [0.7500]])
    """
    towards = share.T @ own - share.sum(0)[:, None] * components
    return components + step / len(own) * towards
