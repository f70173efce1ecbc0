"""Blur: pixels mix with their neighbours."""

import math

import numpy as np
from scipy import fft, ndimage

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.pixels import Floats, Images, Index, enlarge, smear, to_bytes, to_unit

WIDEST_DIRECT = 11
"""Side of the widest kernel that is summed pixel by pixel; beyond, a Fourier transform is quicker."""

ROOM = 8
"""Pixels from the centre to the edge of the smallest array in which the benchmark draws its lens."""


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
    if len(kernel) <= WIDEST_DIRECT:
        return to_bytes(ndimage.correlate(to_unit(images), kernel[None, :, :, None], mode="mirror"))
    return np.stack([to_bytes(_correlate_waves(image, kernel)) for image in to_unit(images)])


def _correlate_waves(unit: Floats, kernel: Floats) -> Floats:
    """Return one image (h, w, 3) under a kernel that equals its mirror images, by multiplying its waves."""
    reach = len(kernel) // 2
    padded = np.pad(unit, ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    sides = [fft.next_fast_len(side, real=True) for side in padded.shape[:2]]
    waves = fft.rfft2(padded, sides, axes=(0, 1)) * fft.rfft2(kernel, sides)[..., None]
    mixed: Floats = fft.irfft2(waves, sides, axes=(0, 1))
    height, width = unit.shape[:2]
    # A sum of products that should be exactly k / 255 may come out just below it, and bytes are cut off.
    return mixed[2 * reach : 2 * reach + height, 2 * reach : 2 * reach + width] + 1e-9


def lens(radius: float, softness: float) -> Floats:
    """Return the kernel of a defocused lens: a disk, its rim blurred by a Gaussian.

    The Gaussian has 3x3 pixels, from radius 9 on 5x5. From radius 8 on, the benchmark's array has no room for
    the soft rim: it is cut off and mirrored.

    >>> np.round(lens(0.3, 0.4), 3)[1]
    array([0.037, 0.845, 0.037])
    """
    reach = int(radius)
    edge = reach + 1 if reach < ROOM else reach
    steps = np.arange(-edge, edge + 1)
    disk = (steps[:, None] ** 2 + steps**2 <= radius**2).astype(np.float64)
    rim_steps = (-1, 0, 1) if reach <= ROOM else (-2, -1, 0, 1, 2)
    # math's exp, as numpy's has other last bits on other processors, and a byte is cut off, not rounded
    side = np.array([math.exp(-0.5 * (step / softness) ** 2) for step in rim_steps])
    rim = np.outer(side, side) / side.sum() ** 2
    return ndimage.correlate(disk / disk.sum(), rim, mode="constant" if edge > reach else "mirror")


def glass_blur(images: Images, draws: Draws, *, sigma: float, rounds: int, reach: int) -> Images:
    """Look through frosted glass: blur, replace pixels by a near one, blur.

    A near one is up to `reach` pixels above or to the left, or up to `reach - 1` below or to the right, each
    as likely.
    """
    height, width = images.shape[1:3]
    shaken = to_bytes(smooth(to_unit(images), sigma))
    which = np.arange(len(images))[:, None]
    rows, columns = np.arange(reach + 1, height - reach + 1)[:, None], np.arange(reach + 1, width - reach + 1)
    for _ in range(rounds):
        steps = draws.uniform(0.0, 2.0 * reach, (2, rows.size, columns.size)).astype(np.intp)
        near = (rows + reach - 1 - steps[:, 0]) * width + (columns + reach - 1 - steps[:, 1])
        origin = np.tile(np.arange(height * width), (len(images), 1))
        origin[:, (rows * width + columns).ravel()] = near.reshape(len(images), -1)
        pixels = shaken.reshape(len(images), height * width, 3)
        shaken = pixels[which, followed(origin)].reshape(images.shape)
    return to_bytes(smooth(to_unit(shaken), sigma))


def followed(origin: Index) -> Index:
    """Return where the pixels (n, places) come from when the last takes its value first, then the one before.

    The benchmark means to swap a pixel with the place `origin` names, but its swap copies. It goes from the
    last pixel to the first. So a place behind a pixel already has its new value, and a place before it the
    old one.

    >>> followed(np.array([[0, 3, 1, 2]])).tolist()   # 3 takes the old 2, 2 the old 1, 1 what 3 has by then
    [[0, 2, 1, 2]]
    """
    places = np.arange(origin.shape[1])
    # The end of each chain: `after` says which place to ask next, and is the place itself where a chain ends.
    after = np.where(origin > places, origin, places)
    while True:
        further = np.take_along_axis(after, after, axis=1)
        if np.array_equal(further, after):
            return np.take_along_axis(origin, after, axis=1)
        after = further


def motion_blur(images: Images, draws: Draws, *, radius: int, sigma: float) -> Images:
    """Smear along a random direction within 45 degrees of the horizontal: a moving camera."""
    return smear(images, radius=radius, sigma=sigma, degrees=draws.uniform(-45.0, 45.0))


def zoom_blur(images: Images, draws: Draws, *, below: float, step: float) -> Images:  # noqa: ARG001 - same
    """Average the image and its enlargements by 1, 1 + step, 1 + 2 * step, ...: a camera that nears."""
    unit = to_unit(images)
    # Not 1 + k / 100: the last bits of arange decide, as in the benchmark, whether the last factor is in (7
    # of them below 1.06, 16 below 1.16) and whether 26 * 1.25 rounds to 32 or 33 points.
    factors = np.arange(1.0, below, step)
    total = unit.copy()
    for factor in factors:
        total += enlarge(unit, float(factor))
    return to_bytes(total / (len(factors) + 1))
