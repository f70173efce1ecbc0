"""Blur: pixels mix with their neighbours."""

import math

import numpy as np
from scipy import ndimage

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.pixels import Floats, Images, enlarge, smear, to_bytes, to_unit


def gaussian_blur(images: Images, draws: Draws, *, sigma: float) -> Images:  # noqa: ARG001 - same shape for all
    """Blur with a Gaussian."""
    return to_bytes(smooth(to_unit(images), sigma))


def smooth(unit: Floats, sigma: float) -> Floats:
    """Return images (n, h, w, 3) or layers (n, h, w) blurred by a Gaussian; the edge repeats outside."""
    axes = (0.0, sigma, sigma, 0.0)[: unit.ndim]
    return ndimage.gaussian_filter(unit, axes, mode="nearest", truncate=4.0)


def defocus_blur(images: Images, draws: Draws, *, radius: float, softness: float) -> Images:  # noqa: ARG001 - same
    """Blur with the disk of an open lens, its rim softened by a 3x3 Gaussian."""
    kernel = lens(radius, softness)
    return to_bytes(ndimage.correlate(to_unit(images), kernel[None, :, :, None], mode="mirror"))


def lens(radius: float, softness: float) -> Floats:
    """Return the kernel of a defocused lens: a disk, its rim blurred by a 3x3 Gaussian.

    >>> np.round(lens(0.3, 0.4), 3)[1]
    array([0.037, 0.845, 0.037])
    """
    reach = int(radius)
    steps = np.arange(-reach - 1, reach + 2)  # one more on each side for the soft rim
    disk = (steps[:, None] ** 2 + steps**2 <= radius**2).astype(np.float64)
    # math's exp, as numpy's has other last bits on other processors, and a byte is cut off, not rounded
    side = np.array([math.exp(-0.5 * (step / softness) ** 2) for step in (-1, 0, 1)])
    rim = np.outer(side, side) / side.sum() ** 2
    return ndimage.correlate(disk / disk.sum(), rim, mode="constant")


def glass_blur(images: Images, draws: Draws, *, sigma: float, rounds: int) -> Images:
    """Look through frosted glass: blur, replace pixels by a near one, blur.

    The benchmark means to swap neighbours, but its swap copies: each pixel becomes itself or the one above,
    to the left, or above left, each as likely. So does ours. The first two rows and columns stay.
    """
    count, height, width = images.shape[:3]
    shaken = to_bytes(smooth(to_unit(images), sigma))
    which = np.arange(count)[:, None, None]
    rows, columns = np.arange(2, height)[:, None], np.arange(2, width)
    for _ in range(rounds):
        steps = draws.uniform(0.0, 2.0, (2, height - 2, width - 2)).astype(
            np.intp
        )  # 0 or 1, (n, 2, h-2, w-2)
        moved = shaken.copy()
        moved[:, 2:, 2:] = shaken[which, rows - steps[:, 0], columns - steps[:, 1]]
        shaken = moved
    return to_bytes(smooth(to_unit(shaken), sigma))


def motion_blur(images: Images, draws: Draws, *, radius: int, sigma: float) -> Images:
    """Smear along a random direction within 45 degrees of the horizontal: a moving camera."""
    return smear(images, radius=radius, sigma=sigma, degrees=draws.uniform(-45.0, 45.0))


def zoom_blur(images: Images, draws: Draws, *, below: float) -> Images:  # noqa: ARG001 - same shape for all
    """Average the image with itself enlarged by 1, 1.01, 1.02, ...: a camera that nears as it exposes."""
    unit = to_unit(images)
    # Not 1 + k / 100: the last bits of arange decide, as in the benchmark, whether the last factor is in (7
    # of them below 1.06, 16 below 1.16) and whether 26 * 1.25 rounds to 32 or 33 points.
    factors = np.arange(1.0, below, 0.01)
    total = unit.copy()
    for factor in factors:
        total += enlarge(unit, float(factor))
    return to_bytes(total / (len(factors) + 1))
