"""Calibration inputs from folders of files: images, and clips of sound."""

from itertools import islice
from pathlib import Path

import numpy as np

from leantta.data.audio import find_sounds
from leantta.data.collection.opening import open_collection
from leantta.data.datasets import Inputs, Pixels
from leantta.data.logmel import FRAMES, Filling, clip_samples, log_mel
from leantta.data.preprocess import Preprocessing, fitted
from leantta.data.resize import cover, luminance
from leantta.data.sound_windows import read_sound_windows
from leantta.data.words import Size
from leantta.errors import DataError
from leantta.progress import Progress, silent


def read_images(
    path: Path,
    count: int,
    channels: int = 3,
    size: Size | None = None,
    how: Preprocessing | None = None,
) -> Pixels:
    """Return at most `count` images of a collection in one size (height, width): uint8 (n, h, w, c).

    Of more than that, some are taken at even steps, so that each class has its part.
    They are fitted as the preprocessing says or, without one, scaled to cover the size.

    Raises:
        DataError: there is none, one cannot be read, or their sizes differ and nothing says which to take.
    """
    photos = open_collection(path, layout="unlabelled").spread(count)
    images: list[Pixels] = []
    for place, key in enumerate(photos.keys):
        try:
            image = _fitted(photos.read(place), size, how)
        except DataError as e:
            raise e if key in str(e) else DataError(f"{path}: {key}: {e}") from e
        if images and image.shape != images[0].shape:
            raise DataError(
                f"{path}: {photos.keys[0]} and {key} have different sizes; say with --resize and --crop, or "
                "--size H,W, what the model takes"
            )
        images.append(luminance(image) if channels == 1 and how is None else image)
    return np.stack(images)


def fit_images(images: Pixels, size: Size | None, how: Preprocessing | None) -> Pixels:
    """Return images of a dataset: fitted, scaled to cover a size, or as they are."""
    if size is None and how is None:
        return images
    return np.stack([_fitted(image, size, how) for image in images])


def _fitted(image: Pixels, size: Size | None, how: Preprocessing | None) -> Pixels:
    if how is not None:
        return fitted(image, how)
    return image if size is None else cover(image, *size)


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
