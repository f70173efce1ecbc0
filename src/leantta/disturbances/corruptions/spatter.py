"""Spatter: drops of water or mud on the lens.

Both start from normal noise, blurred and cut off at a threshold. Water is lit from the upper left: its
brightness comes from the distance to the nearest outline of a drop, run through a relief filter.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.blur import smooth
from leantta.disturbances.corruptions.pixels import Floats, Images, to_bytes, to_unit

WATER = np.array([175.0, 238.0, 238.0]) / 255  # pale turquoise
MUD = np.array([63.0, 42.0, 20.0]) / 255
RELIEF = np.array([[-2.0, -1.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
FARTHEST = 20  # pixels from an outline beyond which a drop is flat


def water(
    images: Images,
    draws: Draws,
    *,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    strength: float,
    slack: float,
) -> Images:
    """Put drops of water on the lens; the brightest adds `strength` of its colour.

    `slack` is added before distances are cut off to whole pixels, so that 0.999... counts as 1, as it does in
    the benchmark. Small images have none: they stay what they were before this was known.
    """
    liquid = smooth(draws.normal(mean, deviation, images.shape[1:3]), sigma)
    drops = to_bytes(np.where(liquid < threshold, 0.0, liquid))
    light = drops * relief(drops, slack)  # (n, h, w)
    brightest = light.max(axis=(1, 2), keepdims=True)
    light = strength * light / np.where(brightest > 0.0, brightest, 1.0)  # no drop at all: no light
    return to_bytes(to_unit(images) + light[..., None] * WATER)


def mud(
    images: Images,
    draws: Draws,
    *,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    softness: float,
) -> Images:
    """Put drops of mud on the lens, their outlines softened by `softness`."""
    liquid = smooth(draws.normal(mean, deviation, images.shape[1:3]), sigma)
    cover = smooth((liquid > threshold).astype(np.float64), softness)[..., None]  # (n, h, w, 1)
    cover[cover < 0.8] = 0.0
    return to_bytes(to_unit(images) * (1 - cover) + cover * MUD)


def relief(drops: Images, slack: float) -> Floats:
    """Return how bright each point of the drops (n, h, w) is, 0 to 255, when lit from the upper left."""
    outside = ~outlines(drops)
    # A huge step along the batch axis keeps the search for the nearest outline within each image.
    distance = ndimage.distance_transform_edt(outside, sampling=(1e6, 1.0, 1.0))
    distance = np.minimum(np.asarray(distance, dtype=np.float64), FARTHEST)
    mean_distance = ndimage.uniform_filter(distance, (0, 3, 3), mode="mirror")
    spread = equalized((mean_distance + slack).astype(np.intp))
    lit = np.clip(ndimage.correlate(spread, RELIEF[None], mode="mirror"), 0.0, 255.0)
    return np.rint(ndimage.uniform_filter(lit, (0, 3, 3), mode="mirror"))


def equalized(levels: NDArray[np.intp]) -> Floats:
    """Spread whole numbers 0 to FARTHEST (n, h, w) over 0 to 255 so that each image's histogram is even.

    The lowest level present becomes 0; an image of a single level stays as it is.
    """
    count, size = len(levels), levels[0].size
    flat = levels.reshape(count, size)
    histogram = np.stack([np.bincount(row, minlength=FARTHEST + 1) for row in flat])  # (n, 21)
    lowest = np.take_along_axis(
        histogram, flat.min(axis=1, keepdims=True), axis=1
    )  # pixels at the lowest level
    rank = np.cumsum(histogram, axis=1) - lowest
    table = np.rint(rank * 255 / np.maximum(size - lowest, 1))
    spread = np.where(lowest == size, flat, np.take_along_axis(table, flat, axis=1))
    return spread.reshape(levels.shape).astype(np.float64)


def outlines(drops: Images, low: float = 50.0, high: float = 150.0) -> NDArray[np.bool_]:
    """Return the edges of layers (n, h, w) by Canny's method: thin lines of steep change.

    A point is on an edge if its slope (|dx| + |dy| of Sobel) is the steepest along its own direction and
    exceeds `high`, or exceeds `low` and is connected to such a point.
    """
    layers = drops.astype(np.float64)
    ramp, bell = np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 1.0])
    down = ndimage.correlate(layers, np.outer(ramp, bell)[None], mode="nearest")
    right = ndimage.correlate(layers, np.outer(bell, ramp)[None], mode="nearest")
    slope = np.abs(down) + np.abs(right)
    around = np.pad(slope, ((0, 0), (1, 1), (1, 1)))
    height, width = slope.shape[1:]

    def at(dy: int, dx: int) -> Floats:
        return around[:, 1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]

    # The direction of change is taken as horizontal, vertical or one of the diagonals, split at 22.5 degrees.
    flat = np.abs(down) < np.abs(right) * np.tan(np.pi / 8)
    steep = np.abs(down) > np.abs(right) * np.tan(3 * np.pi / 8)
    falling = down * right >= 0  # changes towards lower right (or upper left)
    diagonal = np.where(
        falling, (slope > at(-1, -1)) & (slope > at(1, 1)), (slope > at(-1, 1)) & (slope > at(1, -1))
    )
    sideways = (slope > at(0, -1)) & (slope >= at(0, 1))
    upright = (slope > at(-1, 0)) & (slope >= at(1, 0))
    thin = np.where(flat, sideways, np.where(steep, upright, diagonal)) & (slope > low)
    touching = np.zeros((3, 3, 3), dtype=bool)
    touching[1] = True  # neighbours within one image only
    return ndimage.binary_propagation(thin & (slope > high), structure=touching, mask=thin)
