"""What a conversion of a model that hears is given and tells: sound files, their features, a made-up wave."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.logmel import BANDS, FRAMES, SAMPLE_RATE, Filling, clip_samples, log_mel
from leantta.data.sound_windows import read_windows
from leantta.data.soundfiles import find_sounds
from leantta.errors import DataError, SettingError
from leantta.export.artifact import SELFTEST_SEED
from leantta.graph.ir import Array
from leantta.progress import Progress, silent

Floats = npt.NDArray[np.float32]


def read_features(
    path: Path, count: int, filling: Filling, *, frames: int = FRAMES, progress: Progress = silent
) -> Floats:
    """Return the features of at most `count` clips of the sound files at `path`: (n, 1, frames, 64).

    Of more files than that, some are taken at even steps; of fewer, several windows of each that is long.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        MissingFileError: there is nothing at `path`.
        DataError: there is no sound file, or one cannot be read.
    """
    files = find_sounds(path)
    chosen = [files[i] for i in np.linspace(0, len(files) - 1, min(count, len(files))).round().astype(int)]
    each = -(-count // len(chosen))
    found: list[Floats] = []
    for number, file in enumerate(chosen):
        windows = islice(read_windows(file, clip_samples(frames)), each)
        found += [log_mel(window.wave, frames=frames, filling=filling) for window in windows]
        progress(number + 1, len(chosen))
    return np.stack(found[:count])[:, np.newaxis]


def check_sound(features: Array, sound: Filling | None, kind: str) -> None:
    """Refuse what cannot become a file that hears.

    Raises:
        SettingError: the wave is to go in, but the model is not told to hear; or an unknown filling.
        DataError: the calibration inputs are no log-mel features.
    """
    if sound is None:
        if kind == "waveform":
            raise SettingError(
                "a waveform as input needs a model for sound: give a folder of sound files as --calibration, "
                "or convert(..., sound='silence')"
            )
        return
    if sound not in ("silence", "repeat"):
        raise SettingError(f"unknown filling {sound!r}; known: silence, repeat.")
    if kind == "image" or features.ndim != 4 or features.shape[1::2] != (1, BANDS):
        raise DataError(
            f"a model for sound is calibrated with log-mel features (n, 1, frames, {BANDS}), and its file "
            f"takes those or a waveform; asked for were inputs {features.shape} and a file for {kind}s"
        )


def sound_input(features: Mapping[str, Any], filling: Filling) -> dict[str, Any]:
    """Return what the metadata says of an input of features, or of the wave behind them.

    >>> sound_input({"kind": "waveform", "shape": [1, 240, 64]}, "silence")["shape"]
    [320000]
    """
    samples = clip_samples(features["shape"][1])
    told = {"sample_rate": SAMPLE_RATE, "clip_samples": samples, "filling": filling}
    if features["kind"] == "waveform":
        return {**features, "shape": [samples], "sound": told}
    return {**features, "kind": "frames", "sound": told}


def selftest_wave(samples: int) -> Array:
    """Return a made-up wave (1, samples): four short noises, each repeated, so that it packs into little."""
    draw = np.random.default_rng(SELFTEST_SEED)
    part = -(-samples // 4)
    noises = [np.cumsum(draw.standard_normal(1000)) for _ in range(4)]
    wave = np.concatenate([np.resize(noise - noise.mean(), part) for noise in noises])[:samples]
    return np.asarray(wave[None] / np.abs(wave).max(), np.float32)
