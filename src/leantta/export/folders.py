"""Calibration inputs from folders of files: images, and clips of sound."""

from itertools import islice
from pathlib import Path

import numpy as np

from leantta.data.audio import find_sounds
from leantta.data.collection.opening import open_collection
from leantta.data.datasets import Inputs, Pixels
from leantta.data.logmel import FRAMES, Filling, clip_samples, log_mel
from leantta.data.resize import cover, luminance
from leantta.data.sound_windows import read_sound_windows
from leantta.errors import DataError
from leantta.progress import Progress, silent


def read_images(path: Path, count: int, *, channels: int = 3, size: tuple[int, int] | None = None) -> Pixels:
    """Return at most `count` images of a collection in one size (height, width): uint8 (n, h, w, c).

    Of more than that, some are taken at even steps, so that each class has its part.

    Raises:
        DataError: there is none, one cannot be read, or their sizes differ and no size is given.
    """
    photos = open_collection(path, layout="unlabelled").spread(count)
    images = [photos.read(place) for place in range(len(photos))]
    if size is None:
        odd = next((i for i, image in enumerate(images) if image.shape != images[0].shape), None)
        if odd is not None:
            raise DataError(
                f"{path}: {photos.keys[0]} and {photos.keys[odd]} have different sizes; say with --size H,W "
                "what the model takes"
            )
    height, width = size or images[0].shape[:2]
    sized = [cover(image, height, width) for image in images]
    return np.stack([luminance(image) for image in sized] if channels == 1 else sized)


def read_features(
    path: Path, count: int, filling: Filling, *, frames: int = FRAMES, progress: Progress = silent
) -> Inputs:
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
    features: list[Inputs] = []
    for number, file in enumerate(chosen):
        windows = islice(read_sound_windows(file, clip_samples(frames)), each)
        features += [log_mel(window.wave, frames=frames, filling=filling) for window in windows]
        progress(number + 1, len(chosen))
    return np.stack(features[:count])[:, np.newaxis]
