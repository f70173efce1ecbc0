"""SITA (Khurana et al., 2021): statistics of one input and of random views of it, mixed with the source's.

    mu = prior mu_s + (1 - prior) mu_t, the variance likewise

(mu_t, var_t) are pooled over the input and its views, which go through the network together; the answer is
the input's own. The method leaves prior and number of views to be tuned; the defaults here are ours. Views of
every input are drawn from the seed anew, so that an answer depends on its input alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from leantta_lab.baselines.alpha_bn import BlendedNorm
from leantta_lab.baselines.augment_images import augmented
from leantta_lab.baselines.base import Baseline, Config, check_range
from leantta_lab.baselines.norms import replace_norms


@dataclass(frozen=True, kw_only=True)
class SitaConfig(Config):
    """How much the source counts, and how many views there are beside the input."""

    prior: float = 0.8
    views: int = 8

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("prior", self.prior, 0, 1)
        check_range("views", self.views, 1)


class Sita(Baseline[SitaConfig]):
    """Takes the statistics of an input from views of it."""

    stateless = True

    def begin(self) -> None:
        """Exchange the BatchNorms."""
        for norm in replace_norms(self.network, BlendedNorm):
            norm.alpha = 1 - self.config.prior

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logits of each input, run with its views."""
        return torch.cat([self._one(sample[None]) for sample in x])

    def _one(self, x: Tensor) -> Tensor:
        self.generator.manual_seed(self.config.seed)
        copies = x.expand(self.config.views, *x.shape[1:])
        logits: Tensor = self.network(torch.cat((x, augmented(copies, self.generator))))
        return logits[:1]
