"""Log-mel features of sound, as in the DCASE-2018 bird detection baseline, with numpy alone.

A mono wave at 32 kHz is divided by its largest absolute value and cut into windows of 2048 samples that
overlap by 720, so one starts every 1328 samples. Each is multiplied by a symmetric Hamming window w; its
spectrum is |DFT| / sqrt(sum w^2). 64 triangles, evenly spaced on Slaney's mel scale between 50 and 16000 Hz
and each of unit area (2 / width in Hz), sum it to bands b; the feature is ln(b + 1e-8).

Windows lie wholly inside the wave: ten seconds hold 1 + (320000 - 2048) // 1328 = 240 of them, which need
319440 samples. A longer clip is cut at its end. A shorter one is filled up to that length, with silence or by
repeating it (the baseline puts zeros in the features instead, the level of a loud sound and not of silence).
The baseline also standardizes each band by the training set; like all normalization, it is the model's part.

The spectrum is computed in float64: in float32 a loud low tone leaves rounding errors in the quiet bands, and
the logarithm shows them.
"""

from functools import cache
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError, SettingError

SAMPLE_RATE = 32_000
WINDOW = 2048
OVERLAP = 720
HOP = WINDOW - OVERLAP
FRAMES = 240
BANDS = 64
LOWEST_HZ, HIGHEST_HZ = 50.0, 16_000.0
FLOOR = 1e-8

Wave = npt.NDArray[np.floating[Any]]
Number = TypeVar("Number", bound=np.floating[Any])
Features = npt.NDArray[np.float32]
Filling = Literal["silence", "repeat"]

# Slaney's scale: linear up to 1000 Hz, which is mel 15; above, 27 mels for each factor of 6.4.
_KNEE_HZ, _KNEE_MEL = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27


def log_mel(wave: Wave, *, frames: int = FRAMES, filling: Filling = "silence") -> Features:
    """Return the (frames, 64) log-mel features of a mono wave at 32 kHz, of any length.

    `filling` says what follows a clip that is too short.

    >>> log_mel(np.sin(np.arange(320_000) * 0.3)).shape
    (240, 64)

    Raises:
        DataError: the wave is empty, has several channels, or holds NaN or infinite values.
        SettingError: less than one frame, or an unknown filling.
    """
    if frames < 1:
        raise SettingError(f"features need at least one frame; {frames} were asked for.")
    check_wave(wave)
    fitted = fit_wave(_levelled(wave), WINDOW + (frames - 1) * HOP, filling)
    pieces = np.lib.stride_tricks.sliding_window_view(fitted, WINDOW)[::HOP]  # (frames, 2048)
    spectrum = np.abs(np.fft.rfft(pieces * unit_window(), axis=1))  # (frames, 1025)
    return np.asarray(np.log(spectrum @ mel_filters() + FLOOR), dtype=np.float32)


def clip_samples(frames: int = FRAMES) -> int:
    """Return how many samples a clip of so many frames has, in whole tenths of a second.

    >>> clip_samples(240) / SAMPLE_RATE
    10.0
    """
    tenth = SAMPLE_RATE // 10
    return -(-(WINDOW + (frames - 1) * HOP) // tenth) * tenth


def fit_wave(wave: npt.NDArray[Number], length: int, filling: Filling) -> npt.NDArray[Number]:
    """Return the wave cut at its end, or filled, to `length` samples.

    >>> fit_wave(np.array([1.0, 2.0]), 5, "repeat").tolist()
    [1.0, 2.0, 1.0, 2.0, 1.0]

    Raises:
        SettingError: an unknown filling.
    """
    if filling == "silence":
        return np.pad(wave[:length], (0, max(0, length - wave.size)))
    if filling == "repeat":
        return np.resize(wave, length)  # numpy's resize repeats
    raise SettingError(f"unknown filling {filling!r}; known: silence, repeat.")


@cache
def unit_window() -> npt.NDArray[np.float64]:
    """Return the Hamming window, its squares summing to one: (2048,), read-only."""
    window = np.hamming(WINDOW)
    window /= np.sqrt(np.sum(window**2))
    window.flags.writeable = False  # every caller shares it
    return window


@cache
def mel_filters() -> npt.NDArray[np.float64]:
    """Return the weight of each of the 1025 spectral lines in each of the 64 bands: (1025, 64), read-only."""
    lines = np.fft.rfftfreq(WINDOW, 1 / SAMPLE_RATE)[:, np.newaxis]
    lowest, highest = hz_to_mel(np.array([LOWEST_HZ, HIGHEST_HZ]))
    corners = mel_to_hz(np.linspace(lowest, highest, BANDS + 2))
    low, centre, high = corners[:-2], corners[1:-1], corners[2:]
    triangles = np.maximum(0, np.minimum((lines - low) / (centre - low), (high - lines) / (high - centre)))
    filters = np.asarray(triangles * 2 / (high - low), dtype=np.float64)
    filters.flags.writeable = False  # every caller shares it
    return filters


def hz_to_mel(hz: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return frequencies on Slaney's mel scale.

    >>> hz_to_mel(np.array([500.0, 1000.0, 6400.0])).round(6).tolist()
    [7.5, 15.0, 42.0]
    """
    above = _KNEE_MEL + np.log(np.maximum(hz, _KNEE_HZ) / _KNEE_HZ) / _LOG_STEP
    return np.where(hz < _KNEE_HZ, hz * _KNEE_MEL / _KNEE_HZ, above)


def mel_to_hz(mel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the frequencies of positions on Slaney's mel scale.

    >>> mel_to_hz(np.array([7.5, 15.0, 42.0])).round(6).tolist()
    [500.0, 1000.0, 6400.0]
    """
    above = _KNEE_HZ * np.exp(_LOG_STEP * (np.maximum(mel, _KNEE_MEL) - _KNEE_MEL))
    return np.where(mel < _KNEE_MEL, mel * _KNEE_HZ / _KNEE_MEL, above)


def check_wave(wave: Wave) -> None:
    """Look whether the features of a wave can be computed.

    Raises:
        DataError: it is empty, no floats, has several channels, or holds NaN or infinite values.
    """
    if wave.dtype.kind != "f":
        raise DataError(
            f"a wave is float between -1 and 1; this is {wave.dtype}. Divide whole numbers by their largest."
        )
    if wave.ndim != 1 or not wave.size:
        raise DataError(
            f"log-mel features need a mono wave with at least one sample; this has the shape {wave.shape}. "
            f"leantta.data.audio.read_wave mixes the channels of a file."
        )
    if not np.isfinite(wave).all():
        raise DataError("the wave holds NaN or infinite values. Repair or remove the clip.")


def _levelled(wave: Wave) -> npt.NDArray[np.float64]:
    """The wave divided by its largest absolute value; silence stays silence."""
    exact = wave.astype(np.float64)
    return exact / (np.max(np.abs(exact)) or 1.0)
