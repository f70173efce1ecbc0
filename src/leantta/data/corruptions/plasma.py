"""Plasma clouds by the diamond-square method: a height map refined by halves that wraps around."""

import numpy as np

from leantta.data.corruptions.draws import Draws
from leantta.data.corruptions.pixels import Floats


def plasma(draws: Draws, height: int, width: int, *, decay: float) -> Floats:
    """Return clouds (n, height, width) that span exactly [0, 1] on the square map they are cut from.

    Each refinement sets new points to the mean of four known ones plus even noise; its amplitude falls by the
    square of `decay` from one refinement to the next, since the benchmark scales its noise twice.
    """
    size = 1 << (max(height, width) - 1).bit_length()  # the method needs a power of two
    clouds = np.zeros((len(draws.numbers), size, size))
    step, amplitude = size, 100.0**2
    while step >= 2:
        half = step // 2
        corners = clouds[:, ::step, ::step]
        count = corners.shape[1]

        rows = corners + np.roll(corners, -1, axis=1)
        centres = (rows + np.roll(rows, -1, axis=2)) / 4 + draws.uniform(
            -amplitude, amplitude, (count, count)
        )
        clouds[:, half::step, half::step] = centres

        # An edge point lies between two corners along one axis and two centres along the other.
        across = (corners + np.roll(corners, -1, axis=2) + centres + np.roll(centres, 1, axis=1)) / 4
        clouds[:, ::step, half::step] = across + draws.uniform(-amplitude, amplitude, (count, count))
        along = (corners + np.roll(corners, -1, axis=1) + centres + np.roll(centres, 1, axis=2)) / 4
        clouds[:, half::step, ::step] = along + draws.uniform(-amplitude, amplitude, (count, count))

        step, amplitude = half, amplitude / decay**2
    clouds -= clouds.min(axis=(1, 2), keepdims=True)
    clouds /= clouds.max(axis=(1, 2), keepdims=True)
    return clouds[:, :height, :width]
