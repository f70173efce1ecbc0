"""Tent (Wang et al., 2021): one step per batch down the entropy of its predictions.

BatchNorms take the statistics of the batch; only their scales and offsets learn. The logits are those from
before the step.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from leantta_lab.baselines.base import BELOW_ONE, Baseline, Config, check_range
from leantta_lab.baselines.learning import descend, entropy, flattened
from leantta_lab.baselines.norms import BatchNorm, affine_parameters, replace_norms


@dataclass(frozen=True, kw_only=True)
class TentConfig(Config):
    """Adam's settings; the authors advise lr 1e-3 for batches of 200."""

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999

    def __post_init__(self) -> None:
        """Refuse settings that Adam cannot have."""
        check_range("learning_rate", self.learning_rate, 0)
        check_range("beta1", self.beta1, 0, BELOW_ONE)
        check_range("beta2", self.beta2, 0, BELOW_ONE)


class Tent(Baseline[TentConfig]):
    """Minimizes the entropy of each batch."""

    def begin(self) -> None:
        """Exchange the BatchNorms and start Adam anew."""
        trained = flattened(affine_parameters(replace_norms(self.network, BatchNorm)))
        betas = (self.config.beta1, self.config.beta2)
        self.optimizer = torch.optim.Adam([trained], lr=self.config.learning_rate, betas=betas)

    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the batch and descend the entropy."""
        logits: Tensor = self.network(x)
        descend(entropy(logits).mean(), self.optimizer)
        return logits
