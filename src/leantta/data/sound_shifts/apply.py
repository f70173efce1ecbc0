"""Shifting a clip: check the request, then apply one row of the table."""

from collections.abc import Sequence

import numpy as np

from leantta.data.corruptions.asked import check_asked
from leantta.data.logmel import check_wave
from leantta.data.seeds import derived
from leantta.data.sound_shifts.scene import Scene, Wave
from leantta.data.sound_shifts.table import SOUND_SHIFTS


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
    check_asked("shift of sound", name, SOUND_SHIFTS, severity, seed=seed, number=("clip", clip))
    check_wave(wave)
    scene = Scene(np.random.default_rng(derived(seed, "sound", name, clip)), backgrounds)
    level = SOUND_SHIFTS[name].levels[severity - 1]
    return level(wave.astype(np.float64), scene).astype(np.float32)
