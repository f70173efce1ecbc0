"""BN-batch and Alpha-BN: the statistics of the batch, alone or with the source's.

BN-batch (Li et al., 2016; Benz et al., 2021) takes those of the batch in place of the source's. Alpha-BN
(Schneider et al., 2020) takes statistics between the two:

    mu = (1 - alpha) mu_s + alpha mu_t, the variance likewise

Either alpha is given, or the source counts as much as N images do: alpha = n / (N + n) for a batch of n.
Nothing learns and nothing is remembered from one batch to the next.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from leantta.functional import Stats
from leantta_lab.baselines.base import Baseline, Config, check_range
from leantta_lab.baselines.norms import BatchNorm, SourceNorm, batch_stats, replace_norms


class BnBatch(Baseline[Config]):
    """Normalizes each batch with its own statistics."""

    def begin(self) -> None:
        """Exchange the BatchNorms."""
        replace_norms(self.network, BatchNorm)

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the batch."""
        logits: Tensor = self.network(x)
        return logits


@dataclass(frozen=True, kw_only=True)
class AlphaBnConfig(Config):
    """How much the batch counts."""

    alpha: float = 0.1
    prior: float = 0.0  # N: how many images the source counts as; alpha is used where it is 0

    def __post_init__(self) -> None:
        """Refuse a weight outside of [0, 1] and fewer than no images."""
        check_range("alpha", self.alpha, 0, 1)
        check_range("prior", self.prior, 0)


class BlendedNorm(SourceNorm):
    """Normalizes with the source's statistics, moved towards the batch's by `alpha`."""

    alpha = 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized with the blend."""
        batch = batch_stats(x)
        mean = torch.lerp(self.source_mean, batch.mean, self.alpha)
        return self.normalized(x, Stats(mean, torch.lerp(self.source_var, batch.var, self.alpha)))


class AlphaBn(Baseline[AlphaBnConfig]):
    """Normalizes with a blend of the source's statistics and the batch's."""

    def begin(self) -> None:
        """Exchange the BatchNorms."""
        self.norms = replace_norms(self.network, BlendedNorm)

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the batch."""
        prior, n = self.config.prior, len(x)
        alpha = n / (prior + n) if prior else self.config.alpha
        for norm in self.norms:
            norm.alpha = alpha
        logits: Tensor = self.network(x)
        return logits
