"""Calibration inputs from folders of files: images, and clips of sound."""

from itertools import islice
from pathlib import Path

import numpy as np

from leantta.data.audio import find_sounds
from leantta.data.datasets import Inputs, Pixels
from leantta.data.imagefiles import find_images, read_image
from leantta.data.logmel import FRAMES, Filling, clip_samples, log_mel
from leantta.data.preprocess import Preprocessing, fitted
from leantta.data.resize import Size, cover, luminance
from leantta.data.sound_windows import read_sound_windows
from leantta.errors import DataError
from leantta.progress import Progress, silent


def read_images(
    path: Path,
    count: int,
    channels: int = 3,
    size: Size | None = None,
    how: Preprocessing | None = None,
) -> Pixels:
    """Return at most `count` images of a folder in one size (height, width): uint8 (n, h, w, c).

    They are fitted as the preprocessing says or, without one, scaled to cover the size.

    Raises:
        DataError: there is none, one cannot be read, or their sizes differ and nothing says which to take.
    """
    paths = find_images(path)[:count]
    images: list[Pixels] = []
    for each in paths:
        try:
            image = _fitted(read_image(each), size, how)
        except DataError as e:
            raise e if str(each) in str(e) else DataError(f"{each}: {e}") from e
        if images and image.shape != images[0].shape:
            raise DataError(
                f"{paths[0]} and {each} have different sizes; say with --resize and --crop, or --size H,W, "
                "what the model takes"
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


def is_image_folder(path: Path) -> bool:
    """Tell whether a folder holds image files itself, rather than a dataset."""
    if not path.is_dir():
        return False
    try:
        find_images(path)
    except DataError:
        return False
    return True


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
