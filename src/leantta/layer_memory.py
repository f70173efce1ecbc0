"""What one layer remembers of a stream, as pure functions and as a state; see `leantta.memory`."""

from typing import NamedTuple

import torch
from torch import Tensor

from leantta.functional import MOST_SEEN, SMALLEST, Filter, Reading
from leantta.memory import (
    AGREEMENT_OVER,
    DOMAIN,
    DOUBT,
    FULL_AGREEMENT,
    LEAST_AGREEMENT,
    NOW,
    StreamMemory,
)


class Remembered(NamedTuple):
    """What the shift filter of a layer remembers of a stream; one row per stream, r is the filter's rank."""

    mean: Tensor  # (n, r): running mean of z
    moments: Tensor  # (n, 2c): running means of what `moments` returns
    inputs: Tensor  # (n, 1): how many both count for
    agreement: Tensor  # (n, 1): how far inputs were what the mean before them let expect, from -1 to 1


def moments(seen: Tensor) -> Tensor:
    """Return mean and mean square of each channel, in units of the source, from the features f (n, 2c).

    >>> moments(torch.tensor([[3.0, 0.0]]))
    tensor([[ 3., 10.]])
    """
    mean, log_var = seen.chunk(2, 1)
    return torch.cat([mean, log_var.exp() + mean.square()], 1)


def features_of_domain(moments: Tensor) -> Tensor:
    """Return the features (n, 2c) of a domain from the mean moments of its inputs: their mean and variance.

    >>> features_of_domain(torch.tensor([[3.0, 10.0]]))
    tensor([[3., 0.]])
    """
    mean, square = moments.chunk(2, 1)
    log_var = (square - mean.square()).clamp_min(SMALLEST).log()
    return torch.cat([mean, log_var.clamp(-MOST_SEEN, MOST_SEEN)], 1)


def remembered(seen: Tensor, parts: Filter, before: Remembered, *, length: float) -> Remembered:
    """Return what is known after one more input of each stream, whose features are f = seen (n, 2c).

        z = f into;   w = [mean, mean square] of each channel
        r = (SUM weight z m) / (SUM weight m^2), from -1 to 1        how far the input is what the mean m says
        q = q + (r - q) / 6;   if r < 0: n = 0, q = min(q, 0.2)      it lies the other way: forget all means
        n = min(n + 1, length);   m = m + (z - m) / n;   M = M + (w - M) / n

    >>> nothing = Remembered(torch.zeros(1, 1), torch.zeros(1, 2), torch.zeros(1, 1), torch.zeros(1, 1))
    >>> parts = Filter(torch.tensor([[1.0], [0.0]]), torch.zeros(1, 2), torch.ones(1))
    >>> after = remembered(torch.tensor([[3.0, 0.0]]), parts, nothing, length=8)
    >>> [value.tolist() for value in after]
    [[[3.0]], [[3.0, 10.0]], [[1.0]], [[0.0]]]
    """
    along = seen @ parts.into
    size = (before.mean.square() @ parts.weight).unsqueeze(1)
    agrees = ((along * before.mean) @ parts.weight).unsqueeze(1) / size.clamp_min(SMALLEST)
    agrees = torch.where(before.inputs > 0, agrees.clamp(-1, 1), 0)
    agreement = before.agreement + (agrees - before.agreement) / AGREEMENT_OVER
    is_against = agrees < 0
    agreement = torch.where(is_against, agreement.clamp_max(DOUBT), agreement)
    count = (torch.where(is_against, 0, before.inputs) + 1).clamp_max(length)
    mean, of_channels = (
        old + (new - old) / count for new, old in ((along, before.mean), (moments(seen), before.moments))
    )
    return Remembered(mean, of_channels, count, agreement)


def filtered_in_stream(
    seen: Tensor, parts: Filter, before: Remembered, *, shrink: float, length: float
) -> tuple[Tensor, Reading, Remembered]:
    """Return what `functional.filtered` does for inputs that follow others, and what is remembered then.

        d = [mean, log of the variance] of all that is remembered    the domain, as a BatchNorm would see it
        p = (q - 0.3) / 0.3, from 0 to 1                             how far the memory is trusted
        c = (1 - p) a(S) z back  +  p a(S_m) (0.6 z back + 0.4 d)    S_m = n SUM_r weight * m^2

    While p is 0, as for a first input, it is what that returns. The distance is the input's alone.
    """
    along = seen @ parts.into  # (n, r)
    after = remembered(seen, parts, before, length=length)
    distance, of_mean = ((z.square() @ parts.weight).unsqueeze(1) for z in (along, after.mean))
    weight, weight_of_mean = (
        (1 - shrink / size.clamp_min(SMALLEST)).clamp_min(0) for size in (distance, after.inputs * of_mean)
    )
    trust = ((after.agreement - LEAST_AGREEMENT) / (FULL_AGREEMENT - LEAST_AGREEMENT)).clamp(0, 1)
    trusted = trust * weight_of_mean
    answer = (((1 - trust) * weight + NOW * trusted) * along) @ parts.back
    answer = answer + DOMAIN * trusted * features_of_domain(after.moments)
    return answer, Reading(distance, weight), after


class LayerMemory:
    """What one layer remembers; inputs are taken one after the other, also within a batch."""

    def __init__(self, memory: StreamMemory) -> None:
        self.memory = memory
        self.state: Remembered | None = None

    def forget(self) -> None:
        """Return to the state of a layer that has seen nothing."""
        self.state = None

    def follow(self, seen: Tensor, parts: Filter, *, shrink: float) -> tuple[Tensor, Reading]:
        """Take in the features (n, 2c) of a batch, and return the answer to each input and what was seen."""
        state, answers, readings = self.state, [], []
        if state is None:
            nothing = seen.new_zeros(1, 1)
            mean = seen.new_zeros(1, len(parts.weight))
            state = Remembered(mean, torch.zeros_like(seen[:1]), nothing, nothing)
        for row in seen.split(1):
            answer, reading, state = filtered_in_stream(
                row, parts, state, shrink=shrink, length=self.memory.length
            )
            answers.append(answer)
            readings.append(reading)
        self.state = state
        if not answers:
            return seen, Reading(*(seen.new_zeros(0, 1) for _ in Reading._fields))
        return torch.cat(answers), Reading(*(torch.cat(column) for column in zip(*readings, strict=True)))
