"""Other sounds: what is heard behind the bird."""

import numpy as np

from leantta.data.logmel import SAMPLE_RATE
from leantta.data.sound_shifts.scene import Exact, Scene, mixed
from leantta.errors import DataError

RUMBLE_HZ = 200.0
"""Above it, wind falls off by 12 dB an octave."""

GUST_SECONDS = 0.5


def background(wave: Exact, scene: Scene, *, snr_db: float) -> Exact:
    """Put one of the scene's sounds behind the wave, from a random place of it on, repeated if it is short.

    Raises:
        DataError: the scene has no sounds, or the one that was drawn is silent or not a mono wave.
    """
    if not scene.backgrounds:
        raise DataError(
            "a background needs real sounds, and none were given. Pass backgrounds=, e.g. clips of rain."
        )
    number = int(scene.dice.integers(len(scene.backgrounds)))
    sound = np.asarray(scene.backgrounds[number], np.float64)
    if sound.ndim != 1 or not np.any(sound) or not np.isfinite(sound).all():
        raise DataError(
            f"background {number} of {len(scene.backgrounds)}, of shape {sound.shape}, is no mono wave, is "
            f"silent, or not finite. Take it out."
        )
    start = int(scene.dice.integers(sound.size))
    return mixed(wave, np.resize(np.roll(sound, -start), wave.size), snr_db)


def wind(wave: Exact, scene: Scene, *, snr_db: float) -> Exact:
    """Blow on the microphone: low rumble that comes and goes in gusts."""
    size = wave.size
    spectrum = np.fft.rfft(scene.dice.standard_normal(size))
    frequency = np.fft.rfftfreq(size, 1 / SAMPLE_RATE)
    spectrum *= (frequency > 20) / (1 + (frequency / RUMBLE_HZ) ** 2)
    gusts = scene.dice.uniform(0.1, 1.0, int(size / SAMPLE_RATE / GUST_SECONDS) + 2)
    at = np.arange(size) / (GUST_SECONDS * SAMPLE_RATE)
    return mixed(wave, np.fft.irfft(spectrum, size) * np.interp(at, np.arange(gusts.size), gusts), snr_db)
