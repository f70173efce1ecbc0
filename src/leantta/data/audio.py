"""Sound files: found, and read as mono waves, whole or piece by piece. Reading needs the extra `audio`.

What libsndfile reads is taken (wav, flac, ogg, mp3; 8 to 32 bits or floats; any rate and channels).
Channels are averaged, integers become fractions of full scale, and another rate is converted to 32 kHz.
"""

from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.resample import check_rate, resample
from leantta.errors import DataError, LeanTTAError, MissingExtraError
from leantta.files import existing

Wave = npt.NDArray[np.float32]

SUFFIXES = (".flac", ".mp3", ".ogg", ".wav")
"""Endings of the files that count as sound, in lower case."""

LOUDEST = 1e12
"""No sample is larger, whatever its unit is: sums of such overflow."""

_BLOCK_VALUES = 2**20
"""Values of all channels read at once: bounds the memory that a file with many channels takes."""


def find_sounds(path: Path) -> tuple[Path, ...]:
    """Return the sound file at `path`, or those in the folder at `path` and its folders, by name.

    Hidden files and folders do not count.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: the file is no sound by its ending, or the folder has none.
    """
    known = ", ".join(SUFFIXES)
    try:
        if not existing(path, "sound file or folder of sound files").is_dir():
            if path.suffix.lower() not in SUFFIXES:
                raise DataError(f"{path} does not end like a sound file. Known endings: {known}.")
            return (path,)
        sounds = tuple(sorted(each for each in path.rglob("*") if _counts(each, path)))
    except OSError as e:
        if isinstance(e, LeanTTAError):
            raise
        raise DataError(f"cannot look into {path}: {e.strerror or e}. Check the path.") from e
    if not sounds:
        raise DataError(f"no sound file in {path} or its folders. Known endings: {known}. Check the folder.")
    return sounds


def holds_sounds(path: Path) -> bool:
    """Tell whether `path` is a sound file by its ending, or a folder in which one is found."""
    if path.is_dir():
        return any(_counts(each, path) for each in path.rglob("*"))
    return path.suffix.lower() in SUFFIXES


def _counts(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.suffix.lower() in SUFFIXES and not hidden and file.is_file()


class MonoReader:
    """A sound file from its start to its end, its channels averaged, at its own rate."""

    def __init__(self, path: Path | str) -> None:
        """Open the file.

        Raises:
            MissingExtraError: the extra `audio` is not installed.
            MissingFileError: there is nothing at `path`.
            DataError: it is not a sound file, or its sample rate is not that of a sound.
        """
        soundfile = _soundfile()
        self.path = existing(Path(path), "sound file")
        self._failures: tuple[type[Exception], ...] = (soundfile.SoundFileError, OSError)
        try:
            self._file: Any = soundfile.SoundFile(self.path)
        except self._failures as e:
            raise self._unreadable(e) from e
        self.rate: int = self._file.samplerate
        try:
            check_rate(self.rate, str(self.path))
        except DataError:
            self._file.close()
            raise

    def __enter__(self) -> "MonoReader":
        """Return the reader itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def read(self, count: int) -> Wave:
        """Return the next `count` samples, fewer only at the end of the file.

        Raises:
            DataError: they cannot be read, or are NaN or infinite.
        """
        pieces = [np.zeros(0, np.float32)]
        most = max(1, _BLOCK_VALUES // self._file.channels)
        while count > 0:
            try:
                block = self._file.read(min(count, most), dtype="float32", always_2d=True)  # (n, channels)
            except self._failures as e:
                raise self._unreadable(e) from e
            if not len(block):
                break
            if not np.abs(block).max() < LOUDEST:  # false with NaN among the samples
                raise DataError(
                    f"{self.path} holds NaN or infinite samples, or larger ones than {LOUDEST:g}. "
                    f"Repair or remove it."
                )
            pieces.append(block.mean(axis=1, dtype=np.float32))
            count -= len(block)
        return np.concatenate(pieces)

    def no_samples(self) -> DataError:
        """Return the error of a file that is empty."""
        return DataError(f"{self.path} holds no samples. Remove it, or copy it again.")

    def _unreadable(self, error: Exception) -> DataError:
        reason = str(error).rstrip(". ")
        return DataError(f"{self.path} cannot be read as sound: {reason}. Give a wav, flac, ogg or mp3 file.")


def read_wave(path: Path | str) -> Wave:
    """Return a clip as a mono wave at 32 kHz; `read_sound_windows` is for long recordings.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        MissingFileError: there is nothing at `path`.
        DataError: it is not a sound file, is empty, or holds NaN or infinite values.
    """
    with MonoReader(path) as reader:
        wave = reader.read(2**62)
        if not wave.size:
            raise reader.no_samples()
        return resample(wave, reader.rate)


def _soundfile() -> ModuleType:
    try:
        import soundfile
    except (ImportError, OSError) as e:  # OSError: the package is there, its libsndfile is not
        raise MissingExtraError(
            "reading sound needs soundfile, which is not installed. Run: pip install 'leantta[audio]'"
        ) from e
    module: ModuleType = soundfile
    return module
