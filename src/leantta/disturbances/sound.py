"""What may happen to a recording between the bird and the model, at five severities.

The front end divides a clip by its largest value, so a gain alone would not be heard. What is heard of a gain
that is too low is the recorder's own noise, which it does not lower; of one that is too high, clipping.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leantta.data.logmel import SAMPLE_RATE, check_wave
from leantta.data.seeds import derived
from leantta.disturbances.levels import Disturbance, check_asked, levels
from leantta.errors import DataError

Wave = npt.NDArray[np.float32]
Exact = npt.NDArray[np.float64]

EDITION = 1
"""Of the shifts: another one makes other sounds."""

NOISE_FLOOR_DB = -70.0
"""Of a cheap recorder, below full scale."""

MU = 255.0

RUMBLE_HZ = 200.0
"""Above it, wind falls off by 12 dB an octave."""

GUST_SECONDS = 0.5
LONGEST_ECHO_SECONDS = 1.5


@dataclass(frozen=True)
class Scene:
    """Dice for one clip, the same at every severity, and background sounds at 32 kHz."""

    dice: "np.random.Generator"  # quoted: reading a file must not load numpy.random
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


def reverberation(wave: Exact, scene: Scene, *, seconds: float, wet_db: float) -> Exact:
    """Add the echoes of a room: noise that fades by 60 dB in `seconds`, `wet_db` as strong as the sound.

    The echoes are drawn at one length for all severities, so a stronger one is the same room, only harder.
    """
    echoes = scene.dice.standard_normal(int(LONGEST_ECHO_SECONDS * SAMPLE_RATE))
    time = np.arange(echoes.size) / SAMPLE_RATE
    echoes *= 10 ** (-3 * time / seconds)
    size = wave.size + echoes.size - 1
    tail = np.fft.irfft(np.fft.rfft(wave, size) * np.fft.rfft(echoes, size), size)[: wave.size]
    if not power(tail):
        return wave
    return np.asarray(wave + tail * np.sqrt(power(wave) / power(tail)) * 10 ** (wet_db / 20))


SoundShift = Disturbance[Callable[[Exact, Scene], Exact]]

SOUND_SHIFTS: Mapping[str, SoundShift] = {
    "background": SoundShift(levels(background, snr_db=(20, 12, 6, 0, -6))),
    "wind": SoundShift(levels(wind, snr_db=(12, 6, 0, -6, -12))),
    "reverberation": SoundShift(
        levels(reverberation, seconds=(0.3, 0.5, 0.8, 1.2, 1.5), wet_db=(-12, -8, -4, 0, 4))
    ),
    "phone": SoundShift(
        levels(phone, low_hz=(100, 150, 200, 300, 400), high_hz=(8000, 6000, 5000, 3400, 2500)), random=False
    ),
    "clipping": SoundShift(levels(clipping, kept=(0.5, 0.25, 0.12, 0.06, 0.03)), random=False),
    "gain": SoundShift(levels(gain, attenuation_db=(15, 25, 35, 45, 55))),
    "low_bit_rate": SoundShift(levels(low_bit_rate, bits=(7, 6, 5, 4, 3)), random=False),
}


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
