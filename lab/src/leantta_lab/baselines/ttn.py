"""TTN (Lim et al., 2023): statistics between the source's and the batch's, by a weight per channel.

    mu  = alpha mu_b  + (1 - alpha) mu_s
    var = alpha var_b + (1 - alpha) var_s + alpha (1 - alpha) (mu_b - mu_s)^2

Nothing learns in the stream, and nothing is remembered from one batch to the next. The weights are found
once, on source images, before the first prediction:

1. The prior says which channels a shift of the images moves. For an image and a changed view of it, take the
   gradient of the cross-entropy in the channel's scale and offset, with the source's statistics:

       d = 1 - mean over images of cos(gradient of the image, gradient of the view)
       prior = ((d - min d) / (max d - min d))^2            min and max over all channels of all layers

2. alpha begins as the prior. Adam descends, on views of the source images,

       cross-entropy + prior_weight * SUM (alpha - prior)^2

   while everything else is fixed; after each step, alpha is brought back into [0, 1].

The labels are the model's own decisions on the unchanged source images, so that the method needs none; on
images that the model was trained with most of them are right. An image without a gradient in a channel, where
no value passes a ReLU for one, has no cosine there and is left out of that channel's mean; the prior of a
channel without any cosine is 0.
"""

from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.errors import SettingError
from leantta.functional import Stats, along_channels, normalize
from leantta_lab.baselines.augment_images import recoloured
from leantta_lab.baselines.base import Baseline, Config, check_range, tensor_of
from leantta_lab.baselines.learning import descend
from leantta_lab.baselines.norms import SourceNorm, batch_stats, replace_norms

PRIOR_BATCH = 64
"""How many source images go through the network at once for the prior; it decides nothing."""


@dataclass(frozen=True, kw_only=True)
class TtnConfig(Config):
    """How the weights are found."""

    source_images: int = 1000
    steps: int = 64
    batch: int = 64  # source images of a step
    learning_rate: float = 1e-3
    prior_weight: float = 1.0  # lambda

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("source_images", self.source_images, 1)
        check_range("steps", self.steps, 0)
        check_range("batch", self.batch, 1)
        check_range("learning_rate", self.learning_rate, 0)
        check_range("prior_weight", self.prior_weight, 0)


class InterpolatedNorm(SourceNorm):
    """Normalizes with statistics between the source's and the batch's, by a weight per channel."""

    alpha: Tensor  # (c,)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (n, c, *positions) normalized with the statistics between."""
        mean, var = interpolated(self.source, batch_stats(x), self.alpha)
        if mean.requires_grad:  # the kernel of `normalized` has no gradient for its statistics
            return normalize(x, Stats(mean[None], var[None]), self.weight, self.bias, self.eps)
        return self.normalized(x, Stats(mean, var))


class NormOfRows(SourceNorm):
    """A BatchNorm with a scale and an offset for each row of a batch, so that each has its own gradient."""

    scales: Tensor  # (n, c)
    offsets: Tensor  # (n, c)

    def begin(self, rows: int) -> None:
        """Give so many rows the scale and offset of the layer."""
        self.scales = self.weight.repeat(rows, 1).requires_grad_()
        self.offsets = self.bias.repeat(rows, 1).requires_grad_()

    def forward(self, x: Tensor) -> Tensor:
        """Return x (n, c, *positions) normalized with the source statistics."""
        z = F.batch_norm(x, self.source_mean, self.source_var, eps=self.eps)
        return torch.addcmul(along_channels(self.offsets, x), z, along_channels(self.scales, x))


class Ttn(Baseline[TtnConfig]):
    """Normalizes each batch between the source's statistics and its own, by weights learnt before."""

    _alpha: list[Tensor] | None = None  # of the source model, so it outlives a reset

    def begin(self) -> None:
        """Exchange the BatchNorms; the first time, find their weights.

        Raises:
            SettingError: there are no source images.
        """
        if self._alpha is None:
            images = self._images()
            labels = _decisions(self.network, images)
            prior = prior_of(deepcopy(self.network), images, labels, self.generator)
            self._alpha = self._learnt(prior, images, labels)
        for norm, alpha in zip(replace_norms(self.network, InterpolatedNorm), self._alpha, strict=True):
            norm.alpha = alpha

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the logits of the batch."""
        logits: Tensor = self.network(x)
        return logits

    def _images(self) -> Tensor:
        images = None if self.source is None else self.source(self.config.source_images)
        if images is None or not len(images):
            raise SettingError("TTN learns its weights on source images and was given none; give it some")
        return tensor_of(images)

    def _learnt(self, prior: list[Tensor], images: Tensor, labels: Tensor) -> list[Tensor]:
        """Return the weights (c,) of each layer after the steps from the prior."""
        network = deepcopy(self.network)
        norms = replace_norms(network, InterpolatedNorm)
        start = torch.cat(prior)
        alpha = nn.Parameter(start.clone())
        sizes = [len(each) for each in prior]
        optimizer = torch.optim.Adam([alpha], lr=self.config.learning_rate)
        for _ in range(self.config.steps):
            for norm, weights in zip(norms, alpha.split(sizes), strict=True):
                norm.alpha = weights
            drawn = torch.randperm(len(images), generator=self.generator)[: self.config.batch]
            logits = network(recoloured(images[drawn], self.generator))
            away = (alpha - start).square().sum()
            descend(F.cross_entropy(logits, labels[drawn]) + self.config.prior_weight * away, optimizer)
            alpha.data.clamp_(0, 1)
        return list(alpha.detach().split(sizes))


def interpolated(source: Stats, batch: Stats, alpha: Tensor) -> Stats:
    """Return mean and variance of a mixture that has a share `alpha` of the batch, per channel.

    >>> apart = Stats(torch.zeros(1), torch.ones(1)), Stats(torch.full((1,), 4.0), torch.ones(1))
    >>> interpolated(*apart, torch.tensor([0.5]))
    Stats(mean=tensor([2.]), var=tensor([5.]))
    """
    between = alpha * (1 - alpha) * (batch.mean - source.mean).square()
    mean = torch.lerp(source.mean, batch.mean, alpha)
    return Stats(mean, torch.lerp(source.var, batch.var, alpha) + between)


def prior_of(network: nn.Module, images: Tensor, labels: Tensor, generator: torch.Generator) -> list[Tensor]:
    """Return how much a shift moves each channel, between 0 and 1, (c,) of each BatchNorm of the network.

    The network's BatchNorms are exchanged, so it should be a copy.
    """
    norms = replace_norms(network, NormOfRows)
    sizes = [len(norm.weight) for norm in norms]
    total = torch.zeros(sum(sizes), dtype=torch.float64)
    count = torch.zeros(sum(sizes), dtype=torch.int64)
    for x, y in zip(images.split(PRIOR_BATCH), labels.split(PRIOR_BATCH), strict=True):
        clean = _gradients(network, norms, x, y)
        changed = _gradients(network, norms, recoloured(x, generator), y)
        lengths = clean.norm(dim=2) * changed.norm(dim=2)  # (n, channels of all layers)
        cosines = (clean * changed).sum(2) / lengths
        has_cosine = lengths > 0
        total += torch.where(has_cosine, 1 - cosines, 0).sum(0)
        count += has_cosine.sum(0)
    return list(squared_share(total / count).float().split(sizes))


def squared_share(distances: Tensor) -> Tensor:
    """Return where each distance is between the smallest, 0, and the largest, 1, squared; 0 if it is NaN.

    >>> squared_share(torch.tensor([1.0, 2.0, 3.0, torch.nan]))
    tensor([0.0000, 0.2500, 1.0000, 0.0000])
    """
    known = distances[distances.isfinite()]
    if not len(known) or known.min() == known.max():
        return torch.zeros_like(distances)
    return ((distances - known.min()) / (known.max() - known.min())).square().nan_to_num(0)


def _gradients(network: nn.Module, norms: list[NormOfRows], x: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient in scale and offset of each row and channel of all layers, (n, channels, 2)."""
    for norm in norms:
        norm.begin(len(x))
    leaves = [leaf for norm in norms for leaf in (norm.scales, norm.offsets)]
    loss = F.cross_entropy(network(x), labels, reduction="sum")
    found = torch.autograd.grad(loss, leaves, materialize_grads=True)
    return torch.stack((torch.cat(found[0::2], 1), torch.cat(found[1::2], 1)), 2).double()


@torch.no_grad()
def _decisions(network: nn.Module, images: Tensor) -> Tensor:
    """Return the class that a network sees in each image, (n,)."""
    return torch.cat([network(x).argmax(1) for x in images.split(PRIOR_BATCH)])
