"""The method as pure functions: tensors in, tensors out, one sample never sees another.

For sample n and channel c of x (n, c, *positions), with the source statistics mu_s, var_s of a BatchNorm:

    delta = mean(x) - mu_s            over the positions of this sample
    var_t = mean((x - mean(x))^2)                 biased
    mu    = mu_s  + a * delta                     a: the gate's weight, one per sample
    var   = var_s + a * (var_t - var_s)
    y     = gamma * (x - mu) / sqrt(var + eps) + beta

A dead channel (see `alive`) has no shift, whatever it sees: delta = 0 and var_t = var_s.
Half-precision input is summed in float32.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import batch_norm

DISTANCE_EPS = 1e-6
"""Added to the source variance in the distance, as the method prescribes; not the BatchNorm's own eps."""

DEAD_BELOW = 1e-3
"""A channel whose source variance is at most this part of the BatchNorm's eps is dead."""

SMALLEST = 1e-30
MOST_SEEN, MOST_MOVED = 4.0, 3.0
"""Limits of logarithms of variances: what the shift filter sees, and what it answers."""


class Stats(NamedTuple):
    """Mean and variance per channel: (c,) of the source, (n, c) once blended."""

    mean: Tensor
    var: Tensor


class Shift(NamedTuple):
    """How one sample's statistics differ from the source's, each (n, c)."""

    mean: Tensor  # delta = mu_t - mu_s
    var: Tensor  # var_t - var_s


class Spread(NamedTuple):
    """Mean square of `Shift` over source samples, each (c,): what is ordinary for one sample."""

    mean: Tensor  # s_mu
    var: Tensor  # s_var


class Filter(NamedTuple):
    """What the shift filter of a layer keeps; r is its rank."""

    into: Tensor  # (2c, r): the directions of shift that it knows
    back: Tensor  # (r, 2c): what each of them moves
    weight: Tensor  # (r,): what each of them counts in the distance


class Reading(NamedTuple):
    """What a gate saw and decided, each (n, 1): one value per sample, broadcast over the channels."""

    distance: Tensor  # d of the paper's gate, D of the calibrated one
    weight: Tensor  # a


def measure(x: Tensor, source: Stats) -> Shift:
    """Return how each sample of x (n, c, *positions) differs from the source statistics.

    A sample with one position per channel has no variance of its own; its variance counts as the source's.

    >>> measure(torch.tensor([[[1.0, 3.0]]]), Stats(torch.zeros(1), torch.ones(1)))
    Shift(mean=tensor([[2.]]), var=tensor([[0.]]))
    """
    n, c = x.shape[:2]
    if has_one_position(x):
        delta = x.reshape(n, c) - source.mean
        return Shift(delta, torch.zeros_like(delta))
    count = positions_of(x)
    if x.is_contiguous() and n and not x.requires_grad:
        # One group per channel: group norm's kernel gives mean and 1/deviation in one stable pass, where
        # separate operators cost a tenth of the whole network at batch 1. What it normalises is thrown away,
        # and a channel that does not vary has no gradient there.
        wide_x = x.to(source.mean.dtype)
        _, mean, inverse = torch.native_group_norm(wide_x, None, None, n, c, count, c, 0.0)
        return Shift(mean - source.mean, inverse.pow(-2) - source.var)
    positions = tuple(range(2, x.dim()))
    centred = x - along_channels(source.mean, x)  # so that a channel far from zero loses no digits
    delta = centred.sum(positions).mul_(1 / count)  # (n, c)
    square = centred.square_().sum(positions)  # in place: the copy is ours, one buffer serves both
    var = torch.addcmul(square, delta, delta, value=-count).mul_(1 / count)
    return Shift(delta, var.clamp_min_(0).sub_(source.var))


def alive(source: Stats, eps: float) -> Tensor:
    """Return which channels carry something, (c,) of booleans; the others are dead.

    A dead channel was constant on the training data, next to eps: var_s <= eps / 1000. Its statistics say
    nothing of a shift. So it keeps them, and no distance counts it. Every gate is to use this mask.

    >>> alive(Stats(torch.zeros(3), torch.tensor([0.0, 1e-9, 1e-6])), eps=1e-5)
    tensor([False, False,  True])
    """
    # Such a channel varies by 3 % of gamma at most; those in use have some hundredths of eps, or far more.
    return source.var > DEAD_BELOW * eps


def shift_of_alive(shift: Shift, alive: Tensor) -> Shift:
    """Return the shift with that of dead channels set to zero; `alive` is (c,)."""
    return Shift(*(torch.where(alive, value, 0) for value in shift))


def paper_gate(shift: Shift, source: Stats, *, tau: float, lam: float) -> Reading:
    """Return d = 1 - exp(-(1-tau)^2 * SUM_c delta^2 / (var_s + 1e-6)) and a = (1-tau) * (1 - lam * d).

    >>> none = Shift(torch.zeros(1, 3), torch.zeros(1, 3))
    >>> paper_gate(none, Stats(torch.zeros(3), torch.ones(3)), tau=0.75, lam=0.5)
    Reading(distance=tensor([[0.]]), weight=tensor([[0.2500]]))
    """
    mahalanobis = shift.mean.square().div_(source.var + DISTANCE_EPS).sum(1, keepdim=True)  # (n, 1)
    distance = -torch.expm1(mahalanobis.mul_(-((1 - tau) ** 2)))
    return Reading(distance, torch.rsub(distance, 1 - tau, alpha=lam * (1 - tau)))


def calibrated_gate(shift: Shift, spread: Spread, *, floor: float, ceiling: float) -> Reading:
    """Return D, about 1 for source-like samples, and a = floor + (ceiling - floor) * max(0, 1 - 1/D).

    D is a mean over channels. One with an infinite spread, as dead channels have, is not counted.

    >>> shift = Shift(torch.full((1, 3), 2.0), torch.zeros(1, 3))
    >>> spread = Spread(torch.ones(3), torch.ones(3))
    >>> calibrated_gate(shift, spread, floor=0.1, ceiling=0.4)  # D = 0.5 * (4 + 0)
    Reading(distance=tensor([[2.]]), weight=tensor([[0.2500]]))
    """
    moved = shift.mean.square().div_(spread.mean).add_(shift.var.square().div_(spread.var))  # (n, c)
    counted = spread.mean.isfinite().sum().clamp_min_(1)
    distance = moved.sum(1, keepdim=True).div_(counted).mul_(0.5)  # (n, 1)
    return Reading(distance, (1 - 1 / distance).clamp_min_(0).mul_(ceiling - floor).add_(floor))


def features(shift: Shift, source: Stats, eps: float) -> Tensor:
    """Return what the shift filter sees of each sample, (n, 2c): moved means, then logarithms of variances.

        f = [ (mu_t - mu_s) / sqrt(var_s + eps),  log((var_t + eps) / (var_s + eps)) ]

    >>> source = Stats(torch.zeros(1), torch.tensor([9.0]))
    >>> features(Shift(torch.tensor([[3.0]]), torch.tensor([[0.0]])), source, eps=0.0)
    tensor([[1., 0.]])
    """
    scale = source.var + eps
    grown = (shift.var / scale).clamp_min(SMALLEST - 1)
    return torch.cat([shift.mean * scale.rsqrt(), torch.log1p(grown).clamp(-MOST_SEEN, MOST_SEEN)], 1)


def filtered(seen: Tensor, parts: Filter, *, shrink: float = 0.0) -> tuple[Tensor, Reading]:
    """Return which part c of the features f (n, 2c) is shift, and the distance S and weight a of each sample.

        z = f into;   S = SUM_r weight * z^2;   a = max(0, 1 - shrink / S);   c = a z back

    >>> parts = Filter(torch.eye(2), 0.5 * torch.eye(2), torch.full((2,), 0.5))
    >>> filtered(torch.tensor([[2.0, 0.0]]), parts)
    (tensor([[1., 0.]]), Reading(distance=tensor([[2.]]), weight=tensor([[1.]])))
    """
    along = seen @ parts.into  # (n, r)
    distance = (along.square() @ parts.weight).unsqueeze(1)
    weight = (1 - shrink / distance.clamp_min(SMALLEST)).clamp_min(0)
    return (weight * along) @ parts.back, Reading(distance, weight)


def moved(source: Stats, answer: Tensor, eps: float) -> Stats:
    """Return the source statistics moved by the answer (n, 2c) of a shift filter; each is (n, c).

    mu = mu_s + sqrt(var_s + eps) * c_mean;   var + eps = (var_s + eps) * exp(c_var)
    """
    scale = source.var + eps
    of_mean, of_var = answer.chunk(2, 1)
    grown = of_var.clamp(-MOST_MOVED, MOST_MOVED).exp()
    return Stats(torch.addcmul(source.mean, scale.sqrt(), of_mean), scale * grown - eps)


def blend(source: Stats, shift: Shift, weight: Tensor, between: Tensor | None = None) -> Stats:
    """Move the source statistics towards each sample's by its weight (n, 1); the result is (n, c).

    `between` (n, 1) adds that share of the squared mean shift: the variance between the parts of a mixture.
    """
    mean = torch.addcmul(source.mean, weight, shift.mean)
    var = torch.addcmul(source.var, weight, shift.var)
    return Stats(mean, var if between is None else torch.addcmul(var, between, shift.mean.square()))


def normalize(x: Tensor, stats: Stats, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Return gamma * (x - mean) / sqrt(var + eps) + beta, the statistics (n, c) of each sample."""
    n, c = x.shape[:2]
    if x.is_contiguous() and n and not stats.mean.requires_grad:
        # Seen as one sample of n*c channels, torch's own kernel does it in a single pass; it has no gradient
        # for the statistics, which only training would ask for.
        mean, var = stats.mean.view(-1), stats.var.view(-1)
        if n == 1:
            return batch_norm(x, mean, var, gamma, beta, eps=eps)
        gammas, betas = gamma.expand(n, c).reshape(-1), beta.expand(n, c).reshape(-1)
        return batch_norm(x.view(1, n * c, *x.shape[2:]), mean, var, gammas, betas, eps=eps).view(x.shape)
    scale = gamma * torch.rsqrt(stats.var + eps)  # (n, c)
    offset = torch.addcmul(beta, stats.mean, scale, value=-1)
    return torch.addcmul(along_channels(offset, x), x, along_channels(scale, x)).to(x.dtype)


def along_channels(values: Tensor, x: Tensor) -> Tensor:
    """Return values (c,) or (n, c) shaped to broadcast over the positions of x (n, c, *positions)."""
    return values.view(*values.shape, *(1,) * (x.dim() - 2))


def positions_of(x: Tensor) -> int:
    """Return how many values x (n, c, *positions) has per sample and channel."""
    return math.prod(x.shape[2:])


def has_one_position(x: Tensor) -> bool:
    """Tell whether a sample of x has a single value per channel, hence no variance of its own."""
    return positions_of(x) == 1


def two_scores(score: Tensor) -> Tensor:
    """Return the score z (n, 1) of a yes-no question as two, (0, z), whose softmax is z's sigmoid."""
    return torch.cat([torch.zeros_like(score), score], 1)


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the precision to compute statistics in: float64 for float64, else float32."""
    return torch.float64 if dtype is torch.float64 else torch.float32
