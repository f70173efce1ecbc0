"""No adaptation: what the model says as it was trained."""

import torch
from torch import Tensor

from leantta.baselines.base import Baseline, Config


class Source(Baseline[Config]):
    """Predicts with the statistics and weights of the training data."""

    stateless = True

    def begin(self) -> None:
        """Do nothing: the copy is used as it is."""

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the model's logits."""
        logits: Tensor = self.network(x)
        return logits
