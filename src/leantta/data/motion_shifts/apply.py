"""Shifting a batch of motion windows: check the request, then apply one row of the table."""

import numpy as np

from leantta.data.corruptions.draws import Draws
from leantta.data.corruptions.names import SEVERITIES
from leantta.data.datasets import Samples
from leantta.data.motion_shifts.table import SHIFTS
from leantta.data.windows import as_windows
from leantta.errors import SettingError


def shift(samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
    """Return shifted copies of windows (n, 9, 128), as float32.

    Window i of the batch is changed by (name, severity, seed, first + i) alone, as images are corrupted.

    >>> shift(np.ones((1, 9, 128)), "drop_outs", 5, seed=0).min()
    np.float32(0.0)

    Raises:
        SettingError: no such shift, a severity outside 1 to 5, or a negative seed or number.
        DataError: not a batch of windows, or values that are not finite.
    """
    if name not in SHIFTS:
        raise SettingError(f"no motion shift is called {name!r}; there are {', '.join(SHIFTS)}.")
    if severity not in SEVERITIES:
        raise SettingError(f"severity {severity} of {name} was asked for; it is one of 1, 2, 3, 4, 5.")
    if seed < 0 or first < 0:
        raise SettingError(f"seed {seed} and first window {first} were asked for; both count from 0.")
    windows = as_windows(samples, "the batch").astype(np.float64)
    draws = Draws(seed, name, severity, first=first, count=len(windows))
    return SHIFTS[name][severity - 1](windows, draws).astype(np.float32)
