"""Which calibration inputs give the ranges of int8, which choose among ways, and which report."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

SEED = 0
FEWEST_TO_SPLIT = 64
"""With fewer inputs none are held out: a quarter of them would say nothing, and ranges need them."""

MOST_HELD_OUT, MOST_CHOOSING = 300, 32

Places = npt.NDArray[np.intp]


class HeldOut(NamedTuple):
    """Places among the calibration inputs; with few inputs nothing is held out and all report."""

    ranges: Places
    choosing: Places
    reporting: Places

    @classmethod
    def of(cls, count: int) -> "HeldOut":
        """Split so many inputs: a quarter is held out, at most 300; a third of that, at most 32, chooses.

        >>> [len(part) for part in HeldOut.of(500)], [len(part) for part in HeldOut.of(40)]
        ([375, 32, 93], [40, 0, 40])
        """
        order = np.random.default_rng(SEED).permutation(count)
        if count < FEWEST_TO_SPLIT:
            return cls(np.arange(count), order[:0], np.sort(order))
        held = min(count // 4, MOST_HELD_OUT)
        chosen = min(held // 3, MOST_CHOOSING)
        return cls(np.sort(order[held:]), order[:chosen], order[chosen:held])

    @property
    def is_honest(self) -> bool:
        """Whether those that report gave no range and chose nothing."""
        return len(self.choosing) > 0
