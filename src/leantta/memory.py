"""Stream mode: a layer remembers how the inputs before this one differ from the source.

Where inputs follow each other from one domain (a camera that looks at the same fog for minutes), the
statistics of the last few say more than those of one. Each adapting layer keeps their mean, O(channels). With
`delta`, `var_t` of the input at hand and the memory's mean shift M of n inputs, all per channel:

    it agrees if   SUM_c delta * M / var_s  >=  agreement * SUM_c M^2 / var_s;   if not, n = 0: forget
    n     = min(n + 1, length)
    M     = M + (delta - M) / n
    E     = E + (var_t + delta^2 - E) / n             second moment around mu_s
    shift = (M, E - M^2 - var_s)                      variance within inputs and between them

Until n reaches the memory's patience, the layer follows the input alone, as it does without a memory: inputs
of different domains agree by chance, but seldom many in a row. From then on the gate sees the remembered
shift and its n. The settings are torch-free, so that options and records can name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leantta.errors import SettingError

if TYPE_CHECKING:
    from torch import Tensor

    from leantta.functional import Shift, Stats


@dataclass(frozen=True, kw_only=True)
class StreamMemory:
    """How long a layer remembers, and when it forgets.

    >>> StreamMemory(length=0.5)
    Traceback (most recent call last):
    leantta.errors.SettingError: a memory holds at least one input, got length=0.5
    """

    length: float = 64.0  # inputs that the running mean counts for, at most
    agreement: float = 0.3  # part of the remembered shift that an input must have, or the layer forgets
    patience: float = 16.0  # inputs in a row that agree before it is used; `length` if that is less

    def __post_init__(self) -> None:
        """Refuse what is no memory."""
        if not self.length >= 1:
            raise SettingError(f"a memory holds at least one input, got length={self.length!r}")
        if not self.patience >= 1:
            raise SettingError(
                f"a memory is used from the first input on or later, got patience={self.patience!r}"
            )


class Followed(NamedTuple):
    """What the memory makes of a batch: a shift for each input (n, c), and how many inputs it is of."""

    shift: Shift
    counts: Tensor  # (n, 1)


class Remembered:
    """The state of one layer; inputs are taken one after the other, also within a batch."""

    mean: Tensor  # M, once an input was taken
    moment: Tensor  # E

    def __init__(self, memory: StreamMemory) -> None:
        self.memory = memory
        self.count = 0.0

    def forget(self) -> None:
        """Return to the state of a layer that has seen nothing."""
        self.count = 0.0

    def follow(self, shift: Shift, source: Stats) -> Followed:
        """Take in the inputs of a batch, and return what is known after each of them."""
        import torch

        from leantta.functional import DISTANCE_EPS, Shift

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
            self.mean = self.mean.lerp(delta, 1 / self.count)
            self.moment = self.moment.lerp(moment, 1 / self.count)

    def _agrees(self, delta: Tensor, precision: Tensor) -> bool:
        scaled = self.mean * precision
        return bool(scaled @ delta >= self.memory.agreement * (scaled @ self.mean))
