"""Other views of training clips: two mixed, later or earlier, louder or quieter.

All are pure functions of the wave and of what was drawn; waves are mono at 32 kHz. The front end divides by
the largest value, so a gain is heard only where it acts on a part of the whole: in a mixture, or in a clip
whose loudness changes as it goes on.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError, SettingError

Wave = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class SoundViews:
    """How often and how strongly training clips are changed."""

    mixing: float = 0.5  # how often another clip is mixed in
    quietest_db: float = -12.0  # of the clip that is mixed in, against the first
    shifting: float = 1.0  # how often the clip is moved in time
    swell_db: float = 6.0  # how far loudness may rise or fall between start and end

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not (0 <= self.mixing <= 1 and 0 <= self.shifting <= 1):
            raise SettingError(
                f"mixing and shifting are shares from 0 to 1, got {self.mixing} and {self.shifting}"
            )
        if self.quietest_db > 0 or self.swell_db < 0:
            raise SettingError(
                f"quietest_db is at most 0 and swell_db at least 0, got {self.quietest_db}, {self.swell_db}"
            )


def sound_view(
    wave: Wave,
    label: int,
    other: Wave,
    other_label: int,
    dice: np.random.Generator,
    views: SoundViews = SoundViews(),  # noqa: B008 - frozen
) -> tuple[Wave, int]:
    """Return a training view of a clip with its label; `other` is the clip that may be mixed in.

    There is a bird in a mixture if there is one in either clip.

    >>> quiet = SoundViews(mixing=0, shifting=0, swell_db=0)
    >>> sound_view(np.ones(4, np.float32), 1, np.ones(4, np.float32), 0, np.random.default_rng(0), quiet)[1]
    1

    Raises:
        DataError: a clip without samples.
    """
    mixes, moves = dice.random(2) < (views.mixing, views.shifting)
    gain_db, place, swell_db = dice.uniform((views.quietest_db, 0, -views.swell_db), (0, 1, views.swell_db))
    if mixes:
        wave, label = mix(wave, other, float(gain_db)), label | other_label
    if moves:
        wave = moved(wave, int(place * wave.size))
    return swelled(wave, float(swell_db)), label


def mix(wave: Wave, other: Wave, gain_db: float) -> Wave:
    """Return two clips at once, the second `gain_db` louder when both are at their full level.

    The length is that of the first; the second is repeated or cut.

    >>> mix(np.array([1, 0, 0], np.float32), np.array([0, 5], np.float32), 0).tolist()
    [1.0, 1.0, 0.0]

    Raises:
        DataError: a clip without samples.
    """
    if not wave.size or not other.size:
        raise DataError("a clip without samples cannot be mixed. Remove it.")
    factor = np.float32(10 ** (gain_db / 20))
    return _levelled(wave) + factor * np.resize(_levelled(other), wave.size)


def moved(wave: Wave, samples: int) -> Wave:
    """Return the clip so many samples later; what leaves at its end comes in at its start.

    >>> moved(np.array([1, 2, 3], np.float32), 1).tolist()
    [3.0, 1.0, 2.0]
    """
    return np.roll(wave, samples)


def swelled(wave: Wave, gain_db: float) -> Wave:
    """Return the clip with its loudness changed evenly, from none at its start to `gain_db` at its end."""
    return wave * (10 ** (np.linspace(0, gain_db / 20, wave.size))).astype(np.float32)


def _levelled(wave: Wave) -> Wave:
    return np.asarray(wave / (np.abs(wave).max() or 1), np.float32)
