"""The recorder: what a microphone, its amplifier and its coding leave of a sound.

The front end divides a clip by its largest value, so a gain alone would not be heard. What is heard of a gain
that is too low is the recorder's own noise, which it does not lower; of one that is too high, clipping.
"""

import numpy as np

from leantta.data.logmel import SAMPLE_RATE
from leantta.data.sound_shifts.scene import Exact, Scene

NOISE_FLOOR_DB = -70.0
"""Of a cheap recorder, below full scale."""

MU = 255.0


def gain(wave: Exact, scene: Scene, *, attenuation_db: float) -> Exact:
    """Record too quietly: the loudest sample lies `attenuation_db` below full scale, the noise stays.

    The result is rounded to 16 bits, and is at its new level.
    """
    quiet = _levelled(wave) * 10 ** (-attenuation_db / 20)
    hiss = scene.dice.standard_normal(wave.size) * 10 ** (NOISE_FLOOR_DB / 20)
    return np.rint(np.clip(quiet + hiss, -1, 1) * 32767) / 32767


def clipping(wave: Exact, scene: Scene, *, kept: float) -> Exact:
    """Record too loudly: what exceeds a share `kept` of the largest value is cut off."""
    del scene
    peak = np.abs(wave).max()
    return np.clip(wave, -kept * peak, kept * peak)


def phone(wave: Exact, scene: Scene, *, low_hz: float, high_hz: float) -> Exact:
    """Pass a band, as a telephone does; outside, 24 dB an octave are lost."""
    del scene
    frequency = np.maximum(np.fft.rfftfreq(wave.size, 1 / SAMPLE_RATE), 1e-3)
    response = 1 / np.sqrt((1 + (low_hz / frequency) ** 8) * (1 + (frequency / high_hz) ** 8))
    return np.fft.irfft(np.fft.rfft(wave) * response, wave.size)


def low_bit_rate(wave: Exact, scene: Scene, *, bits: int) -> Exact:
    """Code every sample in a few bits by the mu-law, the loudest at full scale."""
    del scene
    level = _levelled(wave)
    steps = 2.0 ** (bits - 1)
    folded = np.sign(level) * np.log1p(MU * np.abs(level)) / np.log1p(MU)
    coded = np.rint(folded * steps) / steps
    return np.asarray(np.sign(coded) * np.expm1(np.abs(coded) * np.log1p(MU)) / MU)


def _levelled(wave: Exact) -> Exact:
    return np.asarray(wave / (np.abs(wave).max() or 1.0))
