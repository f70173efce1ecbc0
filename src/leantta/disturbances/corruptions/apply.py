"""Corrupting a batch: check the request, then apply one row of the table."""

import numpy as np

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.names import NAMES
from leantta.disturbances.corruptions.pixels import Images
from leantta.disturbances.corruptions.strengths import strengths_for
from leantta.disturbances.levels import check_asked
from leantta.errors import DataError

SMALLEST = 16
"""Pixels on the shorter side: less, and the blurs are as large as the image."""

PIECE_PIXELS = 2**14
"""Pixels worked on at once: 16 images of 32x32, whose intermediate results stay in the processor's cache."""


def corrupt(images: Images, name: str, severity: int, *, seed: int, first: int = 0) -> Images:
    """Return a damaged copy of `images`, bytes (n, height, width, 3): same shape, same type.

    Image i of the batch is damaged by (name, severity, seed, first + i) alone. So a large data set may be
    corrupted in batches, `first` being the number of the batch's first image, with the same result.
    Images of 64 pixels and more on the shorter side get the strengths of ImageNet-C, smaller ones those of
    CIFAR-C; they work from 16x16 on.

    Raises:
        SettingError: no such corruption, a severity outside 1 to 5, or a negative seed or number.
        DataError: not a batch of byte images, none at all, or smaller than 16x16.

    >>> grey = np.full((2, 32, 32, 3), 100, dtype=np.uint8)
    >>> corrupt(grey, "brightness", 5, seed=0)[0, 0, 0].tolist()
    [176, 176, 176]
    """
    check_asked("corruption", name, NAMES, severity, seed=seed, number=("first image", first))
    check_images(images)
    level = strengths_for(*images.shape[1:3])[name].levels[severity - 1]
    piece = max(1, PIECE_PIXELS // (images.shape[1] * images.shape[2]))
    damaged = np.empty_like(images)
    for start in range(0, len(images), piece):
        part = images[start : start + piece]
        draws = Draws(seed, name, severity, first=first + start, count=len(part))
        damaged[start : start + piece] = level(part, draws)
    return damaged


def check_images(images: Images) -> None:
    """Make sure that `images` is a batch that can be corrupted.

    Raises:
        DataError: it is not.
    """
    if images.dtype != np.uint8:
        raise DataError(f"images are {images.dtype}, not uint8. Give bytes from 0 to 255.")
    if images.ndim != 4 or images.shape[3] != 3:
        raise DataError(
            f"images have the shape {images.shape}, not (n, height, width, 3). One image is images[None]."
        )
    if len(images) == 0:
        raise DataError("the batch holds no image. Give at least one.")
    if min(images.shape[1:3]) < SMALLEST:
        raise DataError(
            f"images are {images.shape[1]}x{images.shape[2]}; corruptions need {SMALLEST}x{SMALLEST} or more."
        )
