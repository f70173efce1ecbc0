"""What a layer remembers of a stream: a running mean of how inputs differ from the source, O(channels).

With `delta`, `var_t` of the input at hand and the memory's mean shift M of n inputs, all per channel:

    it agrees if   SUM_c delta * M / var_s  >=  agreement * SUM_c M^2 / var_s;   if not, n = 0: forget
    n     = min(n + 1, length)
    M     = M + (delta - M) / n
    E     = E + (var_t + delta^2 - E) / n             second moment around mu_s
    shift = (M, E - M^2 - var_s)                      variance within inputs and between them
    a_n   = n * a / (1 + (n - 1) * a)                 the gate's weight `a` for n inputs instead of one

Until n reaches the memory's patience, the layer follows the input alone, as it does without a memory: inputs
of different domains agree by chance, but seldom many in a row. From then on the gate sees the remembered
shift; for the calibrated one D counts n times, as a mean of n scatters less.
The last line is Bayes: a weight `a` for one input means a prior worth 1/a - 1 inputs.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from leantta.functional import DISTANCE_EPS, Shift, Stats
from leantta.memory import StreamMemory


class Followed(NamedTuple):
    """What the memory makes of a batch: a shift for each input (n, c), and how many inputs it is of."""

    shift: Shift
    counts: Tensor  # (n, 1)


class Remembered:
    """The state of one layer; inputs are taken one after the other, also within a batch."""

    def __init__(self, memory: StreamMemory) -> None:
        self.memory = memory
        self.forget()

    def forget(self) -> None:
        """Return to the state of a layer that has seen nothing."""
        self.count = 0.0
        self.mean = self.moment = torch.zeros(())

    def follow(self, shift: Shift, source: Stats) -> Followed:
        """Take in the inputs of a batch, and return what is known after each of them."""
        precision = 1 / (source.var + DISTANCE_EPS)
        moments = shift.var + source.var + shift.mean.square()  # (n, c)
        means, seconds, counts = [], [], []
        needed = min(self.memory.patience, self.memory.length)
        for delta, moment in zip(shift.mean, moments, strict=True):
            self._take(delta, moment, precision)
            is_used = self.count >= needed
            means.append(self.mean if is_used else delta)
            seconds.append(self.moment if is_used else moment)
            counts.append(self.count if is_used else 1.0)
        mean, second = torch.stack(means), torch.stack(seconds)
        var = (second - mean.square()).clamp_min_(0).sub_(source.var)
        return Followed(Shift(mean, var), torch.tensor(counts, dtype=mean.dtype).unsqueeze(1))

    def _take(self, delta: Tensor, moment: Tensor, precision: Tensor) -> None:
        if self.count and not self._agrees(delta, precision):
            self.count = 0.0
        self.count = min(self.count + 1, self.memory.length)
        if self.count == 1:
            self.mean, self.moment = delta, moment
        else:
            self.mean = torch.lerp(self.mean, delta, 1 / self.count)
            self.moment = torch.lerp(self.moment, moment, 1 / self.count)

    def _agrees(self, delta: Tensor, precision: Tensor) -> bool:
        scaled = self.mean * precision
        return bool(scaled @ delta >= self.memory.agreement * (scaled @ self.mean))


def weight_of_many(weight: Tensor, counts: Tensor) -> Tensor:
    """Return the weight for the mean of `counts` inputs where one input has `weight`, each (n, 1).

    >>> weight_of_many(torch.tensor([[0.1]]), torch.tensor([[9.0]]))
    tensor([[0.5000]])
    """
    return counts * weight / (1 + (counts - 1) * weight)
