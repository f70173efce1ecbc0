"""MECTA (Hong et al., 2023): EATA with a normalization that forgets by need and keeps little for gradients.

Each layer keeps running statistics, first the source's, and moves them to those of the batch by

    gate = 1 - exp(-mean over channels of D)      D: KL of the two normal distributions, both ways added

before it normalizes with them. The backward pass takes batch statistics as functions of the input, as
BatchNorm's does. To save memory, a random part of the channels (`pruned`) is not kept for it: in those, the
scale learns nothing and the input's gradient lacks the term that needs the input. A layer whose gate is not
above `skip_below` keeps nothing and does not learn; gradients go through it as through a fixed scale.

The loss, the choice of samples and the penalty are EATA's; the Fisher information is that of EATA's network.
What other layers keep for the backward pass, ReLU for one, is not changed.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.functional import Stats, along_channels
from leantta_lab.baselines.base import check_range
from leantta_lab.baselines.eata import Eata, EataConfig
from leantta_lab.baselines.norms import BatchNorm, SourceNorm, batch_stats

DISTANCE_EPS = 1e-3
"""Added to both variances in the distance, so that nearly constant channels do not rule it."""


@dataclass(frozen=True, kw_only=True)
class MectaConfig(EataConfig):
    """EATA's settings, and what is not kept."""

    pruned: float = 0.7  # of the channels
    skip_below: float = 0.00125

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        super().__post_init__()
        check_range("pruned", self.pruned, 0, 1)
        check_range("skip_below", self.skip_below, 0)


class MectaNorm(nn.Module):
    """Normalizes with running statistics that move to the batch's by how far they are from them."""

    def __init__(self, norm: SourceNorm, config: MectaConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.eps, self.weight, self.bias = norm.eps, norm.weight, norm.bias
        self.own = norm.source
        self.skip_below = config.skip_below
        self.kept = len(norm.weight) - int(config.pruned * len(norm.weight))
        self.generator = generator

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized with the moved statistics."""
        with torch.no_grad():
            batch = batch_stats(x)
            if x.numel() == x.shape[1]:
                batch = Stats(batch.mean, self.own.var)  # one value has no variance
            away = distance(batch, self.own).mean().item()
            gate = 1 - math.exp(-away) if math.isfinite(away) else 0.0
            if gate:
                mean = torch.lerp(self.own.mean, batch.mean, gate)
                self.own = Stats(mean, torch.lerp(self.own.var, batch.var, gate))
        channels: Tensor | None = None
        if gate > self.skip_below:
            channels = torch.randperm(x.shape[1], generator=self.generator)[: self.kept]
        given = (x, self.weight, self.bias, self.own, batch, self.eps, channels)
        y: Tensor = PrunedNorm.apply(*given)  # type: ignore[no-untyped-call] # torch has no types for it
        return y


class PrunedNorm(torch.autograd.Function):
    """Normalization with given statistics that keeps some channels for the backward pass, or none.

    With s = sqrt(var + eps) of the given statistics and z = (x - mean) / sqrt(var + eps) of the batch's, for
    an incoming gradient g, means over batch and positions, and channels that are kept:

        dx     = weight / s * (g - mean(g) - z * mean(g z))      without the last term if not kept
        dbias  = SUM g
        dweight = SUM g * (x - mean) / s                         zero if not kept
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        stats: Stats,
        batch: Stats,
        eps: float,
        channels: Tensor | None,
    ) -> Tensor:
        """Return x normalized with `stats`; keep the `channels`, or without them learn nothing."""
        inverse = torch.rsqrt(stats.var + eps)
        ctx.skipped = channels is None
        if channels is None:
            ctx.save_for_backward(weight * inverse)
        else:
            spread = torch.sqrt(batch.var + eps)
            z = F.batch_norm(x[:, channels], batch.mean[channels], batch.var[channels], eps=eps)
            stretch, offset = spread * inverse, (batch.mean - stats.mean) * inverse
            ctx.save_for_backward(weight * inverse, channels, z, stretch[channels], offset[channels])
        return F.batch_norm(x, stats.mean, stats.var, weight, bias, eps=eps)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        """Return the gradients of x, weight and bias."""
        if ctx.skipped:
            (scale,) = ctx.saved_tensors
            return g * along_channels(scale, g), None, None, None, None, None, None
        scale, channels, z, stretch, offset = ctx.saved_tensors
        over = (0, *range(2, g.dim()))
        count = g.numel() // g.shape[1]
        total = g.sum(over)  # (c,)
        along = (g[:, channels] * z).sum(over)  # (kept,)
        dx = g - along_channels(total / count, g)
        dx.index_add_(1, channels, z * along_channels(along / count, g), alpha=-1)
        dweight = torch.zeros_like(total).index_copy_(0, channels, stretch * along + offset * total[channels])
        return dx.mul_(along_channels(scale, g)), dweight, total, None, None, None, None


class Mecta(Eata):
    """EATA on layers that move their statistics by need and keep little for the gradient."""

    config: MectaConfig

    def begin(self) -> None:
        """Begin as EATA does, then exchange its layers."""
        super().begin()
        replaced: dict[nn.Module, MectaNorm] = {}
        for path, norm in list(self.network.named_modules(remove_duplicate=False)):
            if isinstance(norm, BatchNorm):
                parent, _, name = path.rpartition(".")
                replaced[norm] = replaced.get(norm) or MectaNorm(norm, self.config, self.generator)
                setattr(self.network.get_submodule(parent), name, replaced[norm])


def distance(one: Stats, other: Stats) -> Tensor:
    """Return KL(one || other) + KL(other || one) of normal distributions, per channel.

    >>> distance(Stats(torch.zeros(1), torch.ones(1)), Stats(torch.ones(1), torch.ones(1)))
    tensor([0.9990])
    """
    square = (one.mean - other.mean).square()
    var_one, var_other = one.var + DISTANCE_EPS, other.var + DISTANCE_EPS
    return ((var_one + square) / var_other + (var_other + square) / var_one) / 2 - 1
