"""Random views of training windows of motion sensors: moved in time."""

import numpy as np

from leantta.data.datasets import Inputs

MOVE = 32
"""How many samples a window may be moved in each direction: a quarter of it."""


def moved(windows: Inputs, generator: np.random.Generator) -> Inputs:
    """Return windows (n, 9, t), each moved in time; what leaves at one end comes in at the other."""
    n, _, length = windows.shape
    step = generator.integers(-MOVE, MOVE + 1, (n, 1))
    places = (np.arange(length) - step) % length  # (n, t)
    return np.take_along_axis(windows, places[:, None], axis=2)
