"""Shifting a batch of motion windows: check the request, then apply one row of the table."""

import numpy as np

from leantta.data.corruptions.asked import check_asked
from leantta.data.corruptions.draws import Draws
from leantta.data.datasets import Samples
from leantta.data.motion_shifts.table import SHIFTS
from leantta.data.windows import as_windows


def shift(samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
    """Return shifted copies of windows (n, 9, 128), as float32.

    Window i of the batch is changed by (name, severity, seed, first + i) alone, as images are corrupted.

    >>> shift(np.ones((1, 9, 128)), "drop_outs", 5, seed=0).min()
    np.float32(0.0)

    Raises:
        SettingError: no such shift, a severity outside 1 to 5, or a negative seed or number.
        DataError: not a batch of windows, or values that are not finite.
    """
    check_asked("motion shift", name, SHIFTS, severity, seed=seed, number=("first window", first))
    windows = as_windows(samples, "the batch").astype(np.float64)
    draws = Draws(seed, name, severity, first=first, count=len(windows))
    return SHIFTS[name][severity - 1](windows, draws).astype(np.float32)
