"""Shifting a clip: check the request, then apply one row of the table."""

from collections.abc import Sequence

import numpy as np

from leantta.data.logmel import check_wave
from leantta.data.seeds import derived
from leantta.data.sound_shifts.scene import Scene, Wave
from leantta.data.sound_shifts.table import SOUND_SHIFTS
from leantta.errors import SettingError

SEVERITIES = (1, 2, 3, 4, 5)


def shift_sound(
    wave: Wave, name: str, severity: int, *, seed: int, clip: int, backgrounds: Sequence[Wave] = ()
) -> Wave:
    """Return a changed copy of a mono wave at 32 kHz, of the same length.

    What is drawn depends on (name, seed, clip) alone, `clip` being the clip's number in its corpus, so the
    severities of one clip differ in strength only. `backgrounds` are waves at 32 kHz for the shift of that
    name. Silence stays silence, but for `gain`, which adds the noise of the recorder.

    Raises:
        SettingError: no such shift, a severity outside 1 to 5, or a negative seed or number.
        DataError: the wave is empty, has several channels, or holds NaN or infinite values; or a background
            is missing or cannot be used.

    >>> shift_sound(np.array([0.0, 1.0, -0.5], np.float32), "clipping", 1, seed=0, clip=0).tolist()
    [0.0, 0.5, -0.5]
    """
    if name not in SOUND_SHIFTS:
        raise SettingError(f"no shift of sound is called {name!r}; there are {', '.join(SOUND_SHIFTS)}.")
    if severity not in SEVERITIES:
        raise SettingError(f"severity {severity} of {name} was asked for; it is one of 1, 2, 3, 4, 5.")
    if seed < 0 or clip < 0:
        raise SettingError(f"seed {seed} and clip {clip} were asked for; both count from 0.")
    check_wave(wave)
    scene = Scene(np.random.default_rng(derived(seed, "sound", name, clip)), backgrounds)
    level = SOUND_SHIFTS[name].levels[severity - 1]
    return level(wave.astype(np.float64), scene).astype(np.float32)
