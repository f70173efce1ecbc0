"""RoTTA (Yuan et al., 2023): a student and its slow average learn from a balanced memory of recent inputs.

Predictions are the teacher's, with statistics of its own that start as the source's. Inputs enter a memory
that is even over the predicted classes and prefers what is recent and sure. Every 64, both networks see the
memory once, the student in random views:

    mu, var <- (1 - m) own + m memory       in both, which then normalize with these; m = 0.05
    loss     = mean of w * CE(student, teacher)      w = 1 / (1 + exp(age)), ages in multiples of the capacity

The student takes a step of Adam on scales and offsets, and the teacher moves to it by 0.001.
"""

import math
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from leantta.functional import Stats, normalize
from leantta_lab.baselines.augment_images import augmented
from leantta_lab.baselines.balanced_memory import TimelyMemory
from leantta_lab.baselines.base import BELOW_ONE, Baseline, Config, check_range
from leantta_lab.baselines.learning import descend, entropy, flattened
from leantta_lab.baselines.norms import SourceNorm, affine_parameters, batch_stats, replace_norms


@dataclass(frozen=True, kw_only=True)
class RottaConfig(Config):
    """The authors' settings."""

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    capacity: int = 64
    every: int = 64  # inputs between two steps
    statistics_momentum: float = 0.05
    teacher_momentum: float = 0.001

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        check_range("learning_rate", self.learning_rate, 0)
        check_range("beta1", self.beta1, 0, BELOW_ONE)
        check_range("beta2", self.beta2, 0, BELOW_ONE)
        check_range("capacity", self.capacity, 1)
        check_range("every", self.every, 1)
        check_range("statistics_momentum", self.statistics_momentum, 0, 1)
        check_range("teacher_momentum", self.teacher_momentum, 0, 1)


class RobustNorm(SourceNorm):
    """Normalizes with statistics that move a little towards each batch it learns from."""

    learning = False

    def __init__(self, norm: nn.Module, momentum: float) -> None:
        super().__init__(norm)
        self.momentum = momentum
        self.own = self.source

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized with statistics of the past, and of the batch if it is to be learnt from."""
        if not self.learning:
            return self.normalized(x, self.own)
        batch = batch_stats(x)
        mean = torch.lerp(self.own.mean, batch.mean, self.momentum)
        var = torch.lerp(self.own.var, batch.var, self.momentum)
        self.own = Stats(mean.detach(), var.detach())
        rows = Stats(
            mean.repeat(len(x), 1), var.repeat(len(x), 1)
        )  # the kernel for (c,) gives them no gradient
        return normalize(x, rows, self.weight, self.bias, self.eps)


class Rotta(Baseline[RottaConfig]):
    """Learns from its own slow average, on a memory that is even over classes."""

    def begin(self) -> None:
        """Exchange the BatchNorms, make the teacher, empty the memory and start Adam anew."""
        momentum = self.config.statistics_momentum
        norms = replace_norms(self.network, lambda norm: RobustNorm(norm, momentum))
        self.teacher = deepcopy(self.network)
        teacher_norms = [module for module in self.teacher.modules() if isinstance(module, RobustNorm)]
        self.norms = [*norms, *teacher_norms]
        self.student_weights = flattened(affine_parameters(norms))
        self.teacher_weights = flattened(affine_parameters(teacher_norms)).detach()
        self.teacher.requires_grad_(False)
        betas = (self.config.beta1, self.config.beta2)
        self.optimizer = torch.optim.Adam([self.student_weights], lr=self.config.learning_rate, betas=betas)
        self.memory = TimelyMemory(self.config.capacity, self.classes)

    def step(self, x: Tensor) -> Tensor:
        """Return the teacher's logits, remember the inputs and learn whenever enough have come."""
        with torch.no_grad():
            logits: Tensor = self.teacher(x)
            doubts = entropy(logits) / math.log(self.classes)
        for sample, label, doubt in zip(x, logits.argmax(1).tolist(), doubts.tolist(), strict=True):
            if not math.isfinite(doubt):
                continue  # it would spoil every step for as long as it stays
            self.memory.add(sample, label, doubt)
            if self.memory.clock % self.config.every == 0:
                self._learn()
        return logits

    def _learn(self) -> None:
        x, ages = self.memory.content()
        for norm in self.norms:
            norm.learning = True
        with torch.no_grad():
            target: Tensor = self.teacher(x).softmax(1)
        student: Tensor = self.network(augmented(x, self.generator))
        for norm in self.norms:
            norm.learning = False
        losses = -(target * student.log_softmax(1)).sum(1)  # (m,)
        descend((torch.sigmoid(-ages) * losses).mean(), self.optimizer)
        with torch.no_grad():
            self.teacher_weights.lerp_(self.student_weights, self.config.teacher_momentum)
