"""Reading images between their pixels: enlarging about the centre, and warping by a coordinate field."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leantta.data.corruptions.pixels import Floats

Index = NDArray[np.intp]


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
