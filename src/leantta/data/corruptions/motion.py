"""Smearing along a line, as a moving camera (or a falling flake) does.

A pixel becomes the weighted sum of the pixels ahead of it in one direction, at distances 0, 1, 2, ...; the
weights are half a Gaussian. Positions are rounded to whole pixels and held at the border.
"""

import numpy as np

from leantta.data.corruptions.pixels import Floats, Images


def trail(radius: int, sigma: float) -> Floats:
    """Return the weights of the pixels at distance 0, 1, ..., 2 * radius.

    >>> trail(1, 1.0).round(3).tolist()
    [0.574, 0.348, 0.078]
    """
    weights: Floats = np.exp(-0.5 * (np.arange(2 * radius + 1) / sigma) ** 2)
    return weights / float(weights.sum())


def smear(images: Images, *, radius: int, sigma: float, degrees: Floats) -> Images:
    """Return bytes (n, h, w) or (n, h, w, 3) smeared along one direction each; `degrees` is (n,)."""
    count, height, width = images.shape[:3]
    which = np.arange(count)[:, None, None]
    angle = np.deg2rad(degrees)[:, None]
    total = np.zeros(images.shape)
    for distance, weight in enumerate(trail(radius, sigma)):
        # Half a pixel is rounded down: this is ceil(x - 0.5).
        down = np.ceil(distance * np.sin(angle) - 0.5).astype(np.intp)
        right = np.ceil(distance * np.cos(angle) - 0.5).astype(np.intp)
        rows = np.clip(np.arange(height) + down, 0, height - 1)[:, :, None]  # (n, h, 1)
        columns = np.clip(np.arange(width) + right, 0, width - 1)[:, None, :]  # (n, 1, w)
        total += weight * images[which, rows, columns]
    return np.rint(total).astype(np.uint8)
