"""What disturbances draw, one for each sample, and the weights with which they mix what lies side by side.

Draws are made on the generator's device and have the type and device of the samples.
"""

import math

import torch
from torch import Generator, Tensor


def uniform(samples: Tensor, random: Generator, *shape: int) -> Tensor:
    """Draw numbers from 0 to 1 for each sample: (n, *shape)."""
    drawn = torch.rand((len(samples), *shape), generator=random, device=random.device)
    return drawn.to(samples)


def normal(samples: Tensor, random: Generator, *shape: int) -> Tensor:
    """Draw normally distributed numbers for each sample: (n, *shape)."""
    drawn = torch.randn((len(samples), *shape), generator=random, device=random.device)
    return drawn.to(samples)


def signs(samples: Tensor, random: Generator, *shape: int) -> Tensor:
    """Draw -1 or 1 for each sample: (n, *shape)."""
    return 1 - 2 * (uniform(samples, random, *shape) < 0.5).to(samples)


def beside(values: Tensor, samples: Tensor) -> Tensor:
    """Return one value for each sample, (n,), so that it multiplies the sample: (n, 1, ...).

    >>> beside(torch.ones(2), torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 1, 1, 1])
    """
    return values.view(-1, *[1] * (samples.ndim - 1))


def counted(samples: Tensor, size: int) -> Tensor:
    """Return 0, 1, ..., size - 1 in the type and on the device of the samples."""
    return torch.arange(size, dtype=samples.dtype, device=samples.device)


def smooth_curves(samples: Tensor, random: Generator, size: int, *, waves: int) -> Tensor:
    """Draw a smooth curve of about zero mean and unit deviation for each sample: (n, size).

    It is a sum of cosines with 1/2 to `waves`/2 periods, the slow ones stronger.
    """
    number = 1 + counted(samples, waves)  # (waves,)
    cosines = torch.cos(math.pi * number[:, None] * (counted(samples, size) + 0.5) / size)  # (waves, size)
    shares = math.sqrt(2) / number / (1 / number).norm()
    curves: Tensor = (normal(samples, random, waves) * shares) @ cosines
    return curves


def lost_in_bursts(samples: Tensor, random: Generator, share: Tensor, size: int) -> Tensor:
    """Draw which of `size` moments are lost, a share (n,) of them, in bursts of a few: booleans (n, size)."""
    widths = 1 + uniform(samples, random) * size / 16
    noise = (box_weights(widths, size) @ uniform(samples, random, size, 1))[..., 0]  # (n, size)
    rank = noise.argsort(dim=1).argsort(dim=1)
    return rank < share[:, None] * size


def box_weights(widths: Tensor, size: int) -> Tensor:
    """Return matrices (n, size, size) that average over `widths` (n,), at least 1, along an axis.

    Places that a width covers in part count in part; beyond the ends there is nothing.

    >>> box_weights(torch.tensor([2.0]), 3)[0, 1]
    tensor([0.2500, 0.5000, 0.2500])
    """
    weights = (widths.view(-1, 1, 1) / 2 + 0.5 - _apart(widths, size)).clamp(0, 1)
    return weights / weights.sum(2, keepdim=True)


def tent_weights(widths: Tensor, size: int) -> Tensor:
    """Return matrices (n, size, size) that average with weights that fall to 0 at `widths` (n,) to each side.

    >>> tent_weights(torch.tensor([2.0]), 3)[0, 1]
    tensor([0.2500, 0.5000, 0.2500])
    """
    weights = (1 - _apart(widths, size) / widths.view(-1, 1, 1)).clamp_min(0)
    return weights / weights.sum(2, keepdim=True)


def line_weights(places: Tensor) -> Tensor:
    """Return matrices (n, size, size) that read an axis at `places` (n, size), between two on the line.

    What lies beyond an end is read at the end.

    >>> line_weights(torch.tensor([[0.5, 3.0]]))[0]
    tensor([[0.5000, 0.5000],
            [0.0000, 1.0000]])
    """
    size = places.shape[1]
    inside = places.clamp(0, size - 1)
    return (1 - (inside[:, :, None] - counted(places, size)).abs()).clamp_min(0)


def _apart(like: Tensor, size: int) -> Tensor:
    places = counted(like, size)
    return (places[:, None] - places).abs()
