"""RealisticTTA (Su et al., 2024): a running mean of the target's statistics, blended with the source's.

Two forward passes, no gradients. In the first, each layer moves its target statistics t, which start as mean
0 and variance 1, towards the batch's by the momentum. Then every layer's distance to the source s is known,

    J = 1/2 [KL(s || t) + KL(t || s)]        of diagonal Gaussians, summed over channels

and, compared with the other layers', decides how much its source counts:

    p   = (z + 1) / 4                        z: J's standard score among the layers, cut off at -1 and 1
    mu  = p mu_s  + (1 - p) mu_t
    var = p var_s + (1 - p) var_t + p (1 - p) (mu_s - mu_t)^2

The second pass predicts. A running mean of p, from 0 on, is what the next first pass normalizes with.
All of it is linear in the number of channels.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from leantta.functional import Stats
from leantta_lab.baselines.base import Baseline, Config, check_range
from leantta_lab.baselines.norms import SourceNorm, batch_stats, replace_norms


@dataclass(frozen=True, kw_only=True)
class RealisticTtaConfig(Config):
    """How fast statistics and priors follow the stream."""

    momentum: float = 1.0  # of the target statistics; 1 is the batch alone
    prior_momentum: float = 0.1

    def __post_init__(self) -> None:
        """Refuse weights outside of [0, 1]."""
        check_range("momentum", self.momentum, 0, 1)
        check_range("prior_momentum", self.prior_momentum, 0, 1)


class TargetNorm(SourceNorm):
    """Normalizes with statistics it was given; without, its target moves and is mixed with the source."""

    target: Stats
    prior: Tensor  # (c,), all the same
    momentum: float
    given: Stats | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized with the mixture."""
        if self.given is not None:
            return self.normalized(x, self.given)
        batch = batch_stats(x)
        self.target.mean.lerp_(batch.mean, self.momentum)
        self.target.var.lerp_(batch.var, self.momentum)
        return self.normalized(x, mixture(self.source, self.target, self.prior))


def mixture(source: Stats, target: Stats, prior: Tensor) -> Stats:
    """Return the statistics of data of which a part `prior` is the source's, the rest the target's."""
    apart = source.mean - target.mean
    moved = prior * apart
    var = torch.lerp(target.var, source.var, prior)
    return Stats(target.mean + moved, var.addcmul_(moved, apart.sub_(moved)))


def divergence(source: Stats, target: Stats) -> Tensor:
    """Return each channel's part of J; the logarithms of its two halves cancel out.

    >>> zero, one = torch.zeros(1), torch.ones(1)
    >>> divergence(Stats(zero, one), Stats(2 * one, one))  # half the squared distance of the means
    tensor([2.])
    """
    apart = (source.mean - target.mean).square_()
    return ((source.var + apart) / target.var + (target.var + apart) / source.var - 2) / 4


def priors(distances: Tensor) -> Tensor:
    """Return p of each layer from the distances J of all.

    >>> priors(torch.tensor([0.0, 1.0, 2.0]))
    tensor([0.0000, 0.2500, 0.5000])
    """
    centred = distances - distances.mean()
    deviation = centred.square().mean().sqrt()
    scores = centred / deviation.clamp_min(torch.finfo(distances.dtype).tiny)
    return (scores.nan_to_num(0).clamp(-1, 1) + 1) / 4


class RealisticTta(Baseline[RealisticTtaConfig]):
    """Looks at the batch to learn its statistics, then predicts."""

    def begin(self) -> None:
        """Exchange the BatchNorms, and lay out what they hold as vectors over the channels of all of them."""
        self.norms = replace_norms(self.network, TargetNorm)
        self.sizes = [len(norm.source_mean) for norm in self.norms]
        self.layer = torch.arange(len(self.sizes)).repeat_interleave(torch.tensor(self.sizes))
        self.eps = torch.tensor([norm.eps for norm in self.norms])[self.layer]
        means, variances = zip(*(norm.source for norm in self.norms), strict=True)
        self.source_stats = Stats(torch.cat(means), torch.cat(variances))
        self.target = Stats(torch.zeros_like(self.source_stats.mean), torch.ones_like(self.source_stats.var))
        self.priors = torch.zeros(len(self.sizes))
        for norm, target in zip(self.norms, self._windows(self.target), strict=True):
            norm.target, norm.momentum = target, self.config.momentum

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the second pass's logits."""
        seeds = self.priors[self.layer].split(self.sizes)
        for norm, seed in zip(self.norms, seeds, strict=True):
            norm.prior, norm.given = seed, None
        self.network(x)
        source, target = self.source_stats, self.target
        parts = divergence(
            Stats(source.mean, source.var + self.eps), Stats(target.mean, target.var + self.eps)
        )
        estimate = priors(torch.zeros_like(self.priors).index_add_(0, self.layer, parts))
        self.priors.lerp_(estimate, self.config.prior_momentum)
        mixed = mixture(source, target, estimate[self.layer])
        for norm, stats in zip(self.norms, self._windows(mixed), strict=True):
            norm.given = stats
        logits: Tensor = self.network(x)
        return logits

    def _windows(self, stats: Stats) -> list[Stats]:
        """Return each layer's part of statistics over all channels."""
        return list(map(Stats, stats.mean.split(self.sizes), stats.var.split(self.sizes)))
