"""NOTE (Gong et al., 2022): statistics corrected where an input is out of the ordinary; a balanced memory.

Instance-aware BatchNorm moves its statistics towards those of a sample, by what chance does not explain.
For a sample with L positions per channel, mean mu_i and unbiased variance var_i,

    mu  = mu_b  + soft(mu_i  - mu_b,  k * sqrt((var_b + eps) / L))
    var = var_b + soft(var_i - var_b, k * (var_b + eps) * sqrt(2 / (L - 1)))

where soft(d, t) brings d nearer to zero by t, and (mu_b, var_b) are running statistics. Inputs enter a memory
that is even over the predicted classes. Every 64, one step of Adam descends the entropy of the memory, with
its own statistics as (mu_b, var_b), and the running ones move to those by 0.01.

The authors train the source model with this layer. Put into a model trained with plain BatchNorm, as here, it
is an approximation, and results are not those of the paper. With one position (L = 1) it is a BatchNorm.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from leantta.functional import Stats, normalize, positions_of
from leantta_lab.baselines.balanced_memory import BalancedReservoir
from leantta_lab.baselines.base import BELOW_ONE, Baseline, Config, check_range
from leantta_lab.baselines.learning import descend, entropy, flattened
from leantta_lab.baselines.norms import (
    SourceNorm,
    affine_parameters,
    batch_stats,
    replace_norms,
    sample_stats,
)


@dataclass(frozen=True, kw_only=True)
class NoteConfig(Config):
    """The authors' settings."""

    learning_rate: float = 1e-4
    beta1: float = 0.9
    beta2: float = 0.999
    width: float = 4.0  # k: how many deviations are chance
    capacity: int = 64
    every: int = 64  # inputs between two steps
    statistics_momentum: float = 0.01

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("learning_rate", self.learning_rate, 0)
        check_range("beta1", self.beta1, 0, BELOW_ONE)
        check_range("beta2", self.beta2, 0, BELOW_ONE)
        check_range("width", self.width, 0)
        check_range("capacity", self.capacity, 1)
        check_range("every", self.every, 1)
        check_range("statistics_momentum", self.statistics_momentum, 0, 1)


class InstanceAwareNorm(SourceNorm):
    """Normalizes each sample with running statistics, corrected where the sample's are far from them."""

    learning = False

    def __init__(self, norm: nn.Module, width: float, momentum: float) -> None:
        super().__init__(norm)
        self.width, self.momentum = width, momentum
        self.own = self.source

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized; if it is to be learnt from, around its own statistics, and remember those."""
        count = x.numel() // x.shape[1]
        base = self.own
        if self.learning and count > 1:
            base = unbiased(batch_stats(x), count)
            mean = torch.lerp(self.own.mean, base.mean.detach(), self.momentum)
            self.own = Stats(mean, torch.lerp(self.own.var, base.var.detach(), self.momentum))
        return normalize(x, self._corrected(x, base), self.weight, self.bias, self.eps)

    def _corrected(self, x: Tensor, base: Stats) -> Stats:
        positions = positions_of(x)
        if positions == 1:
            return Stats(base.mean.repeat(len(x), 1), base.var.repeat(len(x), 1))
        sample = unbiased(sample_stats(x), positions)  # each (n, c)
        room = base.var + self.eps
        mean = soft(sample.mean - base.mean, self.width * (room / positions).sqrt())
        var = soft(sample.var - base.var, self.width * room * math.sqrt(2 / (positions - 1)))
        return Stats(base.mean + mean, base.var + var)  # never below zero: `soft` stops at the sample's


class Note(Baseline[NoteConfig]):
    """Descends the entropy of a balanced memory, and corrects statistics for each input."""

    def begin(self) -> None:
        """Exchange the BatchNorms, empty the memory and start Adam anew."""
        width, momentum = self.config.width, self.config.statistics_momentum
        self.norms = replace_norms(self.network, lambda norm: InstanceAwareNorm(norm, width, momentum))
        trained = flattened(affine_parameters(self.norms))
        betas = (self.config.beta1, self.config.beta2)
        self.optimizer = torch.optim.Adam([trained], lr=self.config.learning_rate, betas=betas)
        self.memory = BalancedReservoir(self.config.capacity, self.classes, self.generator)

    def step(self, x: Tensor) -> Tensor:
        """Return the logits, remember the inputs and learn whenever enough have come."""
        with torch.no_grad():
            logits: Tensor = self.network(x)
        finite = logits.isfinite().all(1)
        for sample, label in zip(x[finite], logits[finite].argmax(1).tolist(), strict=True):
            self.memory.add(sample, label)
            if sum(self.memory.seen) % self.config.every == 0:
                self._learn()
        return logits

    def _learn(self) -> None:
        for norm in self.norms:
            norm.learning = True
        descend(entropy(self.network(self.memory.content())).mean(), self.optimizer)
        for norm in self.norms:
            norm.learning = False


def soft(difference: Tensor, threshold: Tensor) -> Tensor:
    """Return the difference brought nearer to zero by the threshold, zero if it is within.

    >>> soft(torch.tensor([-3.0, 0.5, 3.0]), torch.tensor(1.0))
    tensor([-2.,  0.,  2.])
    """
    return difference - torch.minimum(torch.maximum(difference, -threshold), threshold)


def unbiased(stats: Stats, count: int) -> Stats:
    """Return statistics of `count` values with the variance that chance does not make too small."""
    return Stats(stats.mean, stats.var * (count / (count - 1)))
