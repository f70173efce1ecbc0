"""InTEnt (Dong et al., 2024): predictions under several mixes of statistics, weighted by how sure they are.

A first pass normalizes each sample with its own statistics and remembers them. Then, for r = 0, 0.2, ..., 1,

    mu_r = (1 - r) mu_s + r mu_t        var_r likewise
    p_r  = the prediction with mu_r, var_r in all layers
    w    = softmax over r of -H(p_r) / ln C

and the answer is ln SUM_r w_r p_r. The prediction of r = 1 is the first pass's own and is not run again. Made
for one image at a time (there, for segmentation): nothing is shared between the samples of a batch, or kept.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from leantta.functional import Stats
from leantta_lab.baselines.base import Baseline, Config, check_range
from leantta_lab.baselines.learning import entropy
from leantta_lab.baselines.norms import SourceNorm, replace_norms, sample_stats


@dataclass(frozen=True, kw_only=True)
class IntentConfig(Config):
    """The authors' five steps from the source's statistics to the sample's."""

    steps: int = 5

    def __post_init__(self) -> None:
        """Refuse fewer than one step."""
        check_range("steps", self.steps, 1)


class RecallingNorm(SourceNorm):
    """Normalizes with a mix of the source's statistics and those the sample had in the first pass."""

    share = 1.0  # of the sample; 1 starts a first pass
    sample: Stats

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized with (1 - share) source + share sample."""
        if self.share == 1:
            self.sample = sample_stats(x)
            return self.normalized(x, self.sample)
        mean = torch.lerp(self.source.mean, self.sample.mean, self.share)
        return self.normalized(x, Stats(mean, torch.lerp(self.source.var, self.sample.var, self.share)))


class Intent(Baseline[IntentConfig]):
    """Averages predictions over mixes of source and sample statistics."""

    stateless = True

    def begin(self) -> None:
        """Exchange the BatchNorms."""
        self.norms = replace_norms(self.network, RecallingNorm)

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logarithm of the averaged prediction of each sample."""
        each = [self._with_share(x, i / self.config.steps) for i in range(self.config.steps, -1, -1)]
        sureness = torch.stack([-entropy(logits) / math.log(self.classes) for logits in each])  # (r, n)
        log_p = torch.stack([logits.log_softmax(1) for logits in each])  # (r, n, k)
        return torch.logsumexp(sureness.log_softmax(0)[..., None] + log_p, 0)

    def _with_share(self, x: Tensor, share: float) -> Tensor:
        for norm in self.norms:
            norm.share = share
        logits: Tensor = self.network(x)
        return logits
