"""Pixels as corruptions compute with them: bytes or floats, read between places, smeared along lines."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
"""Bytes, (n, height, width, 3)."""

Floats = NDArray[np.float64]
"""Whatever a corruption computes with; its shape is said where it is used."""

Index = NDArray[np.intp]


def to_unit(images: Images) -> Floats:
    """Return the bytes as floats in [0, 1]."""
    return images / 255.0


def to_bytes(unit: Floats) -> Images:
    """Return floats as bytes, clipped to [0, 1] and cut off, not rounded: the benchmark cuts off too.

    >>> to_bytes(np.array([-0.5, 0.5, 0.9999, 2.0]))
    array([  0, 127, 254, 255], dtype=uint8)
    """
    return (np.clip(unit, 0.0, 1.0) * 255).astype(np.uint8)


def mirrored(index: Index, size: int) -> Index:
    """Fold an index back into range so that the edge pixel is not repeated: d c b | a b c d | c b a.

    >>> mirrored(np.arange(-2, 6), 4).tolist()
    [2, 1, 0, 1, 2, 3, 2, 1]
    """
    period = 2 * (size - 1)
    folded = np.abs(index) % period
    return np.where(folded < size, folded, period - folded)


def reflected(index: Index, size: int) -> Index:
    """Fold an index back into range so that the edge pixel is repeated: b a | a b c d | d c.

    >>> reflected(np.arange(-2, 6), 4).tolist()
    [1, 0, 0, 1, 2, 3, 3, 2]
    """
    folded = index % (2 * size)
    return np.where(folded < size, folded, 2 * size - 1 - folded)


def enlarge(layers: Floats, factor: float) -> Floats:
    """Enlarge the middle of each layer (n, height, width) or image (n, height, width, 3) by `factor`.

    >>> enlarge(np.array([[[0.0, 10.0, 20.0, 30.0]]]), 2.0)   # 10 to 20, spread over four points
    array([[[10.        , 13.33333333, 16.66666667, 20.        ]]])
    """
    return _enlarge_axis(_enlarge_axis(layers, 1, factor), 2, factor)


def _enlarge_axis(layers: Floats, axis: int, factor: float) -> Floats:
    """Stretch the smallest middle part that fills the axis end to end onto round(part * factor) points.

    Of these points, the middle ones are kept, as many as there were.
    """
    size = layers.shape[axis]
    part = math.ceil(size / factor)
    start = (size - part) // 2
    points = round(part * factor)
    skipped = (points - size) // 2
    position = (np.arange(size) + skipped) * ((part - 1) / max(points - 1, 1))
    lower = np.minimum(position.astype(np.intp), part - 1)
    upper = np.minimum(lower + 1, part - 1)
    fraction: Floats = (position - lower).reshape((size,) + (1,) * (layers.ndim - 1 - axis))
    below: Floats = layers.take(start + lower, axis)
    above: Floats = layers.take(start + upper, axis)
    return below + fraction * (above - below)


def warp(unit: Floats, rows: Floats, columns: Floats, fold: Callable[[Index, int], Index]) -> Floats:
    """Read images (n, h, w, 3) at fractional `rows` and `columns` (n, h, w), interpolating linearly."""
    count, height, width = unit.shape[:3]
    which = np.arange(count)[:, None, None]
    top, left = np.floor(rows), np.floor(columns)
    down, right = (rows - top)[..., None], (columns - left)[..., None]  # (n, h, w, 1)
    row, column = top.astype(np.intp), left.astype(np.intp)
    above, below = fold(row, height), fold(row + 1, height)
    before, after = fold(column, width), fold(column + 1, width)
    upper = unit[which, above, before] * (1 - right) + unit[which, above, after] * right
    lower = unit[which, below, before] * (1 - right) + unit[which, below, after] * right
    return upper * (1 - down) + lower * down


def trail(radius: int, sigma: float) -> Floats:
    """Return the weights of the pixels at distance 0, 1, ..., 2 * radius.

    >>> trail(1, 1.0).round(3).tolist()
    [0.574, 0.348, 0.078]
    """
    weights: Floats = np.exp(-0.5 * (np.arange(2 * radius + 1) / sigma) ** 2)
    return weights / float(weights.sum())


def smear(images: Images, *, radius: int, sigma: float, degrees: Floats) -> Images:
    """Return bytes (n, h, w) or (n, h, w, 3) smeared along one direction each; `degrees` is (n,).

    A pixel becomes the weighted sum of the pixels ahead of it, at distances 0, 1, 2, ...; the weights are
    half a Gaussian. Positions are rounded to whole pixels and held at the border.
    """
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
