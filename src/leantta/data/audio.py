"""Sound files as mono waves at 32 kHz. Needs the extra `audio`: soundfile reads, scipy resamples."""

from math import gcd
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from leantta.data.logmel import SAMPLE_RATE
from leantta.errors import DataError, MissingExtraError
from leantta.files import existing


def read_wave(path: Path | str) -> npt.NDArray[np.float32]:
    """Return a clip (wav, flac or ogg; any rate, any number of channels) as a mono wave at 32 kHz.

    Channels are averaged; another rate is converted with a polyphase filter.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        MissingFileError: there is nothing at `path`.
        DataError: it is not a sound file, is empty, or holds NaN or infinite values.
    """
    soundfile = _soundfile()
    file = existing(Path(path), "sound file")
    try:
        channels, rate = soundfile.read(file, dtype="float32", always_2d=True)  # (samples, channels)
    except (soundfile.SoundFileError, OSError) as e:
        raise DataError(f"{file} cannot be read as sound: {e} Give a wav, flac or ogg file.") from e
    if not channels.size:
        raise DataError(f"{file} holds no samples. Remove it, or copy it again.")
    if not np.isfinite(channels).all():
        raise DataError(f"{file} holds NaN or infinite samples. Repair or remove it.")
    return resample(np.asarray(channels.mean(axis=1), dtype=np.float32), rate)


def resample(wave: npt.NDArray[np.float32], rate: int) -> npt.NDArray[np.float32]:
    """Return a wave of `rate` samples a second at 32 kHz.

    >>> resample(np.zeros(44_100, dtype=np.float32), 44_100).shape
    (32000,)

    Raises:
        MissingExtraError: the extra `audio` is not installed.
    """
    if rate == SAMPLE_RATE:
        return wave
    try:
        from scipy.signal import resample_poly
    except ImportError as e:
        raise MissingExtraError(_missing("scipy")) from e
    common = gcd(rate, SAMPLE_RATE)
    return np.asarray(resample_poly(wave, SAMPLE_RATE // common, rate // common), dtype=np.float32)


def _soundfile() -> ModuleType:
    try:
        import soundfile
    except (ImportError, OSError) as e:  # OSError: the package is there, its libsndfile is not
        raise MissingExtraError(_missing("soundfile")) from e
    module: ModuleType = soundfile
    return module


def _missing(package: str) -> str:
    return f"reading sound needs {package}, which is not installed. Run: pip install 'leantta[audio]'"
