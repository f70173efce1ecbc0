"""What a shift works with beside the wave: its own dice, and real sounds to put behind it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Wave = npt.NDArray[np.float32]
Exact = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scene:
    """Dice for one clip, the same at every severity, and background sounds at 32 kHz."""

    dice: np.random.Generator
    backgrounds: Sequence[Wave] = ()


def power(wave: npt.NDArray[np.floating]) -> float:
    """Return the mean square of a wave.

    >>> power(np.array([1.0, -1.0]))
    1.0
    """
    return float(np.mean(np.square(wave, dtype=np.float64)))


def mixed(wave: Exact, other: Exact, snr_db: float) -> Exact:
    """Return the wave with another sound behind it that is `snr_db` quieter; a silent one adds nothing."""
    signal, noise = power(wave), power(other)
    if not signal or not noise:
        return wave
    return np.asarray(wave + other * np.sqrt(signal / noise / 10 ** (snr_db / 10)))
