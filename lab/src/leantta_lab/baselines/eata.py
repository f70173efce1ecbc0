"""EATA (Niu et al., 2022): Tent on sure and novel samples only, held near the source where that matters.

A sample is kept if its entropy H is below E0 = margin * ln C and if its prediction points elsewhere than the
running mean of those kept: |cos| < similarity. With the Fisher information F of the source,

    loss = mean over the kept of exp(E0 - H) H  +  fisher_weight * SUM F (theta - theta_0)^2

where the factor exp(E0 - H) is a constant. A batch of which nothing is kept costs no backward pass.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.errors import SettingError
from leantta_lab.baselines.base import Baseline, Config, check_range, tensor_of
from leantta_lab.baselines.learning import descend, entropy, flattened
from leantta_lab.baselines.norms import BatchNorm, affine_parameters, replace_norms

FISHER_BATCH = 64
"""How many source images make one gradient of the Fisher information."""

REMEMBERED = 0.9
"""How much of the mean prediction stays when a batch adds to it."""


@dataclass(frozen=True, kw_only=True)
class EataConfig(Config):
    """Which samples are kept, how hard the source holds, and SGD's settings."""

    learning_rate: float = 2.5e-4
    momentum: float = 0.9
    margin: float = 0.4  # x ln(classes): the largest entropy
    similarity: float = 0.05  # the largest cosine to the mean prediction
    fisher_weight: float = 2000.0  # 0 needs no source images
    fisher_images: int = 2000

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("learning_rate", self.learning_rate, 0)
        check_range("momentum", self.momentum, 0, 1)
        check_range("margin", self.margin, 0)
        check_range("similarity", self.similarity, 0)
        check_range("fisher_weight", self.fisher_weight, 0)
        check_range("fisher_images", self.fisher_images, 1)


class Eata(Baseline[EataConfig]):
    """Minimizes the entropy of the samples that are worth it."""

    _fisher: Tensor | None = None  # of the source model, so it outlives a reset

    def begin(self) -> None:
        """Exchange the BatchNorms, start SGD and the mean prediction anew; the first time, find what matters.

        Raises:
            SettingError: the penalty needs source images, and there are none.
        """
        self.trained = flattened(affine_parameters(replace_norms(self.network, BatchNorm)))
        self.start = self.trained.detach().clone()
        self.mean: Tensor | None = None
        self.highest = self.config.margin * math.log(self.classes)
        if self._fisher is None and self.config.fisher_weight:
            self._fisher = self._information()
        self.optimizer = torch.optim.SGD(
            [self.trained], lr=self.config.learning_rate, momentum=self.config.momentum
        )

    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the batch, and descend the loss of what is kept."""
        logits: Tensor = self.network(x)
        entropies = entropy(logits)
        kept, self.mean = self._chosen(entropies.detach(), logits.detach().softmax(1))
        if len(kept):
            sure = entropies[kept]
            loss = ((self.highest - sure.detach()).exp() * sure).mean()
            if self._fisher is not None:
                moved = self.trained - self.start
                loss = loss + self.config.fisher_weight * (self._fisher * moved.square()).sum()
            descend(loss, self.optimizer)
        return logits

    def _chosen(self, entropies: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the indices of samples to learn from, and the mean prediction with them in it."""
        kept = entropies < self.highest
        if self.mean is not None:
            kept &= F.cosine_similarity(self.mean[None], predictions).abs() < self.config.similarity
        places = kept.nonzero()[:, 0]
        if not len(places):
            return places, self.mean
        new = predictions[places].mean(0)
        return places, new if self.mean is None else REMEMBERED * self.mean + (1 - REMEMBERED) * new

    def _information(self) -> Tensor:
        """Return the mean over source batches of the squared gradient of their own labels' cross-entropy."""
        images = None if self.source is None else self.source(self.config.fisher_images)
        if images is None or not len(images):
            weight = self.config.fisher_weight
            raise SettingError(
                f"EATA with fisher_weight={weight:g} needs source images and was given none; "
                "give it some, or set fisher_weight to 0"
            )
        batches = tensor_of(images).split(FISHER_BATCH)
        squares = torch.zeros_like(self.start)
        for batch in batches:
            logits = self.network(batch)
            F.cross_entropy(logits, logits.argmax(1)).backward()
            squares += _gradient(self.trained).square()
            _gradient(self.trained).zero_()
        return squares / len(batches)


def _gradient(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
