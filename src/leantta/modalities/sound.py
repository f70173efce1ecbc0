"""Clips of sound as a modality: what models hear of them, what happens to recordings, and sound files.

A sample is a mono wave at 32 kHz, of five seconds unless its dataset has longer ones; a shorter clip is
repeated. Models take the log-mel frames that lie wholly inside it. A background that is mixed in is another
clip of the same split of the first class ("no bird"), so that the answer stays what it was.
"""

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leantta.data.audio import SUFFIXES, find_sounds
from leantta.data.datasets import Dataset, Inputs, Samples
from leantta.data.logmel import HOP, SAMPLE_RATE, WINDOW, log_mel
from leantta.data.sound_windows import read_sound_windows
from leantta.disturbances.sound import EDITION, SOUND_SHIFTS, shift_sound
from leantta.modalities.modality import Corrupt, FileReader, Given, Modality, Source
from leantta.runtime.inputs import hear, sound_info

if TYPE_CHECKING:
    from leantta.runtime.metadata import Info

SAMPLES = 5 * SAMPLE_RATE
FRAMES = 1 + (SAMPLES - WINDOW) // HOP


class SoundReader(FileReader):
    """Reads sound, as frames or as a waveform: a long file window by window, in the memory of two windows."""

    nothing = "standard input names no sound files; give paths, one to a line."
    endings = SUFFIXES

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if it is not for sound."""
        super().__init__(info)
        self._samples = sound_info(info).clip_samples

    def find(self, path: Path) -> tuple[Path, ...]:
        """Return the sound file at a path, or those of a folder and its folders."""
        return find_sounds(path)

    def sources(self, file: Path) -> Iterator[Source]:
        """Give the one recording in a file."""
        yield str(file), partial(self._windows, file)

    def _windows(self, file: Path) -> Iterator[Given]:
        for start_s, wave in read_sound_windows(file, self._samples):
            yield Given(start_s, hear(wave, self.info))


def _inputs(waves: Samples) -> Inputs:
    """Return waves (n, samples) as log-mel frames (n, 1, frames, 64)."""
    return np.stack([log_mel(wave, frames=1 + (len(wave) - WINDOW) // HOP) for wave in waves])[:, np.newaxis]


def _corruptor(data: Dataset) -> Corrupt:
    @cache  # when the first is asked for: some datasets read their clips from disk
    def backgrounds() -> list[Samples]:
        return [data.samples[place] for place in np.flatnonzero(data.labels == 0)]  # views, no copies

    def shifted(samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
        return np.stack(
            [
                shift_sound(wave, name, severity, seed=seed, clip=first + place, backgrounds=backgrounds())
                for place, wave in enumerate(samples)
            ]
        )

    return shifted


SOUND = Modality(
    name="sound",
    noun="clips",
    inputs=_inputs,
    corruptions=tuple(SOUND_SHIFTS),
    corruptor=_corruptor,
    made_by=lambda: f"generated, sound shifts, edition {EDITION}",
    file_inputs=("frames", "waveform"),
    reader=SoundReader,
)
