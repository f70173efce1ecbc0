"""BN-batch (Li et al., 2016; Benz et al., 2021): the statistics of the batch in place of the source's.

Nothing learns and nothing is remembered from one batch to the next.
"""

import torch
from torch import Tensor

from leantta.baselines.base import Baseline, Config
from leantta.baselines.norms import BatchNorm, replace_norms


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
