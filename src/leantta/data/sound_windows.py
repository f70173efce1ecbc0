"""A recording of any length, ten seconds at a time, in little memory.

Windows follow each other without a gap. The last one ends where the recording ends, so it overlaps the one
before; what would add less than half a second, such as the padding of a codec, is left out. Only a recording
that is shorter than a window gives a shorter wave.

About two windows are in memory at any time, however long the file is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leantta.data.audio import MonoReader, Wave
from leantta.data.logmel import SAMPLE_RATE, clip_samples
from leantta.data.resample import phases_of, resample_part, resampled_length
from leantta.errors import SettingError

LEAST_REST = SAMPLE_RATE // 2
"""Samples behind the last whole window that are worth a window of their own."""


class SoundWindow(NamedTuple):
    """A part of a recording, at 32 kHz."""

    start_s: float
    wave: Wave


def read_sound_windows(path: Path | str, samples: int = clip_samples()) -> Iterator[SoundWindow]:
    """Give the windows of `samples` samples at 32 kHz of the sound file at `path`, each when asked for.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        MissingFileError: there is nothing at `path`.
        DataError: it is not a sound file, is empty, or holds NaN or infinite values.
        SettingError: a window without samples.
    """
    if samples < 1:
        raise SettingError(f"a window has at least one sample; {samples} were asked for.")
    with MonoReader(path) as reader:
        yield from _windows(reader, samples)


def _windows(reader: MonoReader, samples: int) -> Iterator[SoundWindow]:
    rate = reader.rate
    reach = 0 if rate == SAMPLE_RATE else phases_of(rate).reach
    held, begins = np.zeros(0, np.float32), 0  # a part of the file, and which sample its first one is
    first = 0  # of the next window, at 32 kHz

    def window(start: int, count: int) -> SoundWindow:
        return SoundWindow(start / SAMPLE_RATE, resample_part(held, rate, begins, start, count))

    while True:
        wanted = (first + samples) * rate // SAMPLE_RATE + reach + 1 - begins - len(held)
        more = reader.read(wanted)
        held = np.concatenate([held, more])
        if len(more) < wanted:
            break
        yield window(first, samples)
        first += samples
        drop = max(0, (first - samples) * rate // SAMPLE_RATE - reach - begins)  # the last may reach back
        held, begins = held[drop:], begins + drop
    total = resampled_length(begins + len(held), rate)
    if not total:
        raise reader.no_samples()
    if total < samples:
        yield window(0, total)
    if first + samples <= total:
        yield window(first, samples)
        first += samples
    if total - first >= LEAST_REST and total > samples:
        yield window(total - samples, samples)
