"""Clips of bird sound as a modality: two corpora in plain tables, and what happens to recordings.

A sample is a mono wave of five seconds at 32 kHz; a shorter clip is repeated. Models take the log-mel frames
that lie wholly inside it. A background that is mixed in is another clip of the same split without a bird, so
that the answer stays what it was.
"""

from pathlib import Path

import numpy as np

from leantta.data.audio import read_wave
from leantta.data.bird_lists import LISTED, TEST_FOLDS, TRAIN_FOLDS, find_listed
from leantta.data.birds import Clips
from leantta.data.datasets import Dataset, Inputs, Samples, Split, dataset_info, learnt_from
from leantta.data.logmel import HOP, SAMPLE_RATE, WINDOW, fit_wave, log_mel
from leantta.data.modality import Corrupt, Modality
from leantta.data.sound_shifts.apply import shift_sound
from leantta.data.sound_shifts.table import SOUND_SHIFTS

SAMPLES = 5 * SAMPLE_RATE
FRAMES = 1 + (SAMPLES - WINDOW) // HOP
EDITION = 1
"""Of the shifts: another one makes other sounds."""


def load_clips(path: Path, dataset: str = "esc50", split: Split = "test") -> Dataset:
    """Return the clips of one split of a corpus, as they lie in a folder with its table.

    Of ESC-50, four folds are for training and one for testing. All clips of the other corpus are for testing;
    what its models are trained on is ESC-50, whose table must be in the same folder.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        MissingFileError: the table or sound files are missing.
        DataError: the table or a clip is damaged.
    """
    if split == "train":
        clips = find_listed(path, learnt_from(dataset), folds=TRAIN_FOLDS)
    else:
        clips = find_listed(path, dataset, folds=TEST_FOLDS if LISTED[dataset].folds else None)
    return heard(clips, dataset, split)


def heard(clips: Clips, dataset: str, split: str) -> Dataset:
    """Return clips with their sound, for models of a dataset.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        DataError: a clip cannot be read.
    """
    waves = np.stack([fit_wave(read_wave(clip), SAMPLES, "repeat") for clip in clips.paths])
    return Dataset(dataset, split, waves, clips.labels, dataset_info(dataset).classes)


def _inputs(waves: Samples) -> Inputs:
    """Return waves (n, samples) as log-mel frames (n, 1, frames, 64)."""
    return np.stack([log_mel(wave, frames=FRAMES) for wave in waves])[:, np.newaxis]


def _corruptor(data: Dataset) -> Corrupt:
    backgrounds = [data.images[place] for place in np.flatnonzero(data.labels == 0)]  # views, no copies

    def shifted(samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
        return np.stack(
            [
                shift_sound(wave, name, severity, seed=seed, clip=first + place, backgrounds=backgrounds)
                for place, wave in enumerate(samples)
            ]
        )

    return shifted


SOUND = Modality(
    noun="clips",
    load=load_clips,
    inputs=_inputs,
    corruptions=tuple(SOUND_SHIFTS),
    corruptor=_corruptor,
    made_by=lambda: f"generated, sound shifts, edition {EDITION}",
)
