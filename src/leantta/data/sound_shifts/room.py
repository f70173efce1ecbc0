"""Reverberation: the sound again and again, from the walls of a room."""

import numpy as np

from leantta.data.logmel import SAMPLE_RATE
from leantta.data.sound_shifts.scene import Exact, Scene, power

LONGEST_SECONDS = 1.5


def reverberation(wave: Exact, scene: Scene, *, seconds: float, wet_db: float) -> Exact:
    """Add the echoes of a room: noise that fades by 60 dB in `seconds`, `wet_db` as strong as the sound.

    The echoes are drawn at one length for all severities, so a stronger one is the same room, only harder.
    """
    echoes = scene.dice.standard_normal(int(LONGEST_SECONDS * SAMPLE_RATE))
    time = np.arange(echoes.size) / SAMPLE_RATE
    echoes *= 10 ** (-3 * time / seconds)
    size = wave.size + echoes.size - 1
    tail = np.fft.irfft(np.fft.rfft(wave, size) * np.fft.rfft(echoes, size), size)[: wave.size]
    if not power(tail):
        return wave
    return np.asarray(wave + tail * np.sqrt(power(wave) / power(tail)) * 10 ** (wet_db / 20))
