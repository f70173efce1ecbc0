"""CoTTA (Wang et al., 2022): a student learns from its own slow average, and forgets a little at random.

Three networks with the statistics of the batch: a student, a teacher that is the student's running mean, and
an anchor, which is the source. Where the anchor is unsure of a batch, the teacher's logits are their mean
over random views of it. The student takes a step down the cross-entropy to the teacher, the teacher moves a
little towards the student, and each trained weight goes back to its source value with a small probability.
The logits are the teacher's.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.errors import SettingError
from leantta_lab.baselines.augment_images import augmented
from leantta_lab.baselines.base import BELOW_ONE, Baseline, Config, check_range
from leantta_lab.baselines.learning import descend, flattened
from leantta_lab.baselines.norms import BatchNorm, affine_parameters, replace_norms

Trained = Literal["norms", "all"]
Optimizer = Literal["sgd", "adam"]

ROWS = 8
"""How many inputs go through the teacher at once, if a view has no more: so many stay in a core's cache."""


@dataclass(frozen=True, kw_only=True)
class CottaConfig(Config):
    """What learns and how, how slowly the teacher follows, when it looks again, how much is forgotten."""

    learning_rate: float = 1e-3
    optimizer: Optimizer = "sgd"
    momentum: float = 0.9  # SGD's, or Adam's first beta
    train: Trained = "norms"  # scales and offsets, or every weight
    teacher_momentum: float = 0.999
    confidence: float = 0.92  # the anchor's mean highest probability under which views are averaged
    augmentations: int = 32
    restore: float = 0.01  # the probability

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("learning_rate", self.learning_rate, 0)
        check_range("momentum", self.momentum, 0, BELOW_ONE)
        check_range("teacher_momentum", self.teacher_momentum, 0, 1)
        check_range("augmentations", self.augmentations, 1)
        check_range("restore", self.restore, 0, 1)
        for name, value, known in (
            ("train", self.train, get_args(Trained)),
            ("optimizer", self.optimizer, get_args(Optimizer)),
        ):
            if value not in known:
                raise SettingError(f"{name} must be one of {', '.join(known)}, got {value!r}")


class ViewsNorm(BatchNorm):
    """Normalizes several batches at once: rows come as `views` batches, each with its own statistics."""

    views = 1

    def forward(self, x: Tensor) -> Tensor:
        """Return x (views * n, c, *positions), each of the views normalized by itself."""
        n, channels, positions = len(x) // self.views, x.shape[1], x.shape[2:]
        if self.views == 1:
            return super().forward(x)
        if n == 1:
            return self.normalized_apart(x)
        apart = x.view(self.views, n, channels, *positions).transpose(0, 1)
        wide = apart.reshape(n, self.views * channels, *positions)  # a channel of each view is a channel
        weight, bias = self.weight.repeat(self.views), self.bias.repeat(self.views)
        y = F.batch_norm(wide, None, None, weight, bias, training=True, eps=self.eps)
        return y.view(apart.shape).transpose(0, 1).reshape(x.shape)


class Cotta(Baseline[CottaConfig]):
    """Learns from an average of itself over time and over views."""

    def begin(self) -> None:
        """Exchange the BatchNorms, make teacher and anchor, and start the optimizer anew."""
        replace_norms(self.network, ViewsNorm)
        # What nobody trains stays one in memory: three networks read it, and reading is what takes the time.
        trained = {id(weight) for weight in self._trained(self.network)}
        shared = {id(each): each for each in self.network.parameters() if id(each) not in trained}
        self.teacher, self.anchor = deepcopy(self.network, dict(shared)), deepcopy(self.network, dict(shared))
        self.teacher_norms = _norms(self.teacher)
        self.student_weights = flattened(self._trained(self.network))
        self.teacher_weights = flattened(self._trained(self.teacher)).detach()
        self.source_weights = self.student_weights.detach().clone()
        self.teacher.requires_grad_(False)
        self.optimizer = self._optimizer()

    def step(self, x: Tensor) -> Tensor:
        """Return the teacher's logits of the batch, and let student and teacher learn."""
        with torch.no_grad():
            sure = self.anchor(x).softmax(1).amax(1).mean() >= self.config.confidence
            target: Tensor = self.teacher(x) if sure else self._over_views(x)
        logits: Tensor = self.network(x)
        loss = -(target.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        descend(loss, self.optimizer)
        with torch.no_grad():
            self.teacher_weights.lerp_(self.student_weights, 1 - self.config.teacher_momentum)
            drawn = torch.rand(self.source_weights.shape, generator=self.generator)
            forgotten = drawn < self.config.restore
            self.student_weights.copy_(torch.where(forgotten, self.source_weights, self.student_weights))
        return target

    def _over_views(self, x: Tensor) -> Tensor:
        """Return the mean of the teacher's logits over random views of the batch."""
        total = x.new_zeros(len(x), self.classes)
        left = self.config.augmentations
        while left:
            views = min(left, max(1, ROWS // len(x)))
            for norm in self.teacher_norms:
                norm.views = views
            seen = augmented(x.repeat(views, *(1,) * (x.dim() - 1)), self.generator)
            total += self.teacher(seen).view(views, len(x), -1).sum(0)
            left -= views
        for norm in self.teacher_norms:
            norm.views = 1
        return total / self.config.augmentations

    def _trained(self, network: nn.Module) -> list[nn.Parameter]:
        return (
            list(network.parameters()) if self.config.train == "all" else affine_parameters(_norms(network))
        )

    def _optimizer(self) -> torch.optim.Optimizer:
        rate, momentum = self.config.learning_rate, self.config.momentum
        if self.config.optimizer == "adam":
            return torch.optim.Adam([self.student_weights], lr=rate, betas=(momentum, 0.999))
        return torch.optim.SGD([self.student_weights], lr=rate, momentum=momentum)


def _norms(network: nn.Module) -> list[ViewsNorm]:
    return [module for module in network.modules() if isinstance(module, ViewsNorm)]
