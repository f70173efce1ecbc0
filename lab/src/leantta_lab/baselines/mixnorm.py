"""MixNorm (Hu et al., 2021): statistics of an input and of a view of it, mixed into slowly moving ones.

    mu_g <- (1 - speed) mu_g + speed mu_l        after each input
    mu    = (1 - mixing) mu_g + mixing mu_l      with which it is normalized

and the variances likewise. (mu_l, var_l) are pooled over the input and its views, which go through the
network together; (mu_g, var_g) begin as the source's. The inputs of a batch are taken in their order, each
with a view of its own, so that the batch size decides nothing: an answer depends on the input and on those
before it.
"""

from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor, nn

from leantta.functional import Stats
from leantta_lab.baselines.augment_images import augmented
from leantta_lab.baselines.base import Baseline, Config, check_range
from leantta_lab.baselines.norms import SourceNorm, replace_norms, sample_stats


@dataclass(frozen=True, kw_only=True)
class MixNormConfig(Config):
    """How much an input counts for itself, and how fast the statistics move."""

    mixing: float = 0.05  # m
    speed: float = 0.001  # tau
    views: int = 1  # beside the input

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("mixing", self.mixing, 0, 1)
        check_range("speed", self.speed, 0, 1)
        check_range("views", self.views, 0)


class MixingNorm(SourceNorm):
    """Normalizes inputs and their views with moving statistics, mixed with their own."""

    def __init__(self, norm: nn.Module, config: MixNormConfig) -> None:
        super().__init__(norm)
        self.config = config
        self.moving = self.source

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized, an input (c, *positions) and then its views, and so on."""
        copies = 1 + self.config.views
        local = pooled(sample_stats(x), copies)  # each (n / copies, c)
        means = course(self.moving.mean, local.mean, self.config.speed)
        variances = course(self.moving.var, local.var, self.config.speed)
        self.moving = Stats(means[-1], variances[-1])
        mixed = (
            torch.lerp(moving, own, self.config.mixing).repeat_interleave(copies, 0)
            for moving, own in ((means, local.mean), (variances, local.var))
        )
        return self.normalized(x, Stats(*mixed))


class MixNorm(Baseline[MixNormConfig]):
    """Mixes the statistics of an input and of views of it into moving ones."""

    def begin(self) -> None:
        """Exchange the BatchNorms."""
        replace_norms(self.network, lambda norm: MixingNorm(norm, self.config))

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the inputs, run with their views."""
        copies = 1 + self.config.views
        if copies == 1:
            logits: Tensor = self.network(x)
            return logits
        together = torch.cat([self._with_views(sample[None]) for sample in x])
        return self.network(together)[::copies]  # type: ignore[no-any-return]

    def _with_views(self, sample: Tensor) -> Tensor:
        views = augmented(sample.expand(self.config.views, *sample.shape[1:]), self.generator)
        return torch.cat((sample, views))


def pooled(stats: Stats, copies: int) -> Stats:
    """Return the statistics of each so many samples together, (n / copies, c), from each one's (n, c).

    >>> pooled(Stats(torch.tensor([[0.0], [4.0]]), torch.ones(2, 1)), 2)
    Stats(mean=tensor([[2.]]), var=tensor([[5.]]))
    """
    channels = stats.mean.shape[1]
    between, mean = torch.var_mean(stats.mean.view(-1, copies, channels), 1, correction=0)
    return Stats(mean, stats.var.view(-1, copies, channels).mean(1) + between)


def course(start: Tensor, values: Tensor, speed: float) -> Tensor:
    """Return where a moving mean (c,) is after each of the values (n, c).

    >>> course(torch.tensor([8.0]), torch.tensor([[0.0], [0.0]]), 0.5)
    tensor([[4.],
            [2.]])
    """
    return torch.stack(list(accumulate(values, lambda at, to: torch.lerp(at, to, speed), initial=start))[1:])
