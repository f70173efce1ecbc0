"""A collection of the user's images as a source of cells: read, fitted to the model and corrupted when asked.

Corruptions come after scaling and cutting, as in ImageNet-C; the colour order and everything after it is the
model's own affair.
"""

import hashlib
from dataclasses import replace
from functools import cached_property

import numpy as np

from leantta.data.collection.collection import Collection, shown
from leantta.data.datasets import Inputs, Labels, Samples, model_inputs
from leantta.data.imagefiles import Pixels
from leantta.data.preprocess import Preprocessing, fitted
from leantta.errors import DataError
from leantta.modalities.cells import CLEAN
from leantta.modalities.image import IMAGES, corrupt_images


class PhotoCells:
    """Corrupts the images of a collection when they are asked for; holds none of them."""

    def __init__(self, photos: Collection, how: Preprocessing, labels: Labels | None = None) -> None:
        """Take images, what a model does with them, and labels if they are not the collection's own."""
        self.photos = photos
        self.how = how
        self.labels = photos.labels if labels is None else labels
        self.corruptions = IMAGES.corruptions
        self._fit = replace(how, colours="rgb", mean=None, std=None)
        self._colours = Preprocessing(colours=how.colours)
        self._first: tuple[str, tuple[int, ...]] | None = None  # the first image read, and its size

    @property
    def name(self) -> str:
        """How the images come about."""
        return f"{IMAGES.made_by()}, {self.how.described()}"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of paths, sizes, labels and domains."""
        own = hashlib.sha256(self.photos.fingerprint.encode())
        own.update(np.ascontiguousarray(self.labels, "<i8").tobytes())
        return own.hexdigest()[:16]

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Samples:
        """Return images at the model's size, in RGB, corrupted if that is asked for."""
        images = [self._read(int(index)) for index in indices]
        if corruption != CLEAN:
            images = [
                corrupt_images(image[None], corruption, severity, seed=seed, first=int(index))[0]
                for image, index in zip(images, indices, strict=True)
            ]
        return np.stack(images) if images else np.zeros((0, 1, 1, 3), np.uint8)

    def inputs(self, samples: Samples) -> Inputs:
        """Return images as models take them, in the colours that this one sees."""
        if self.how.colours != "rgb":
            samples = np.stack([fitted(image, self._colours) for image in samples])
        return model_inputs(samples)

    def _read(self, index: int) -> Pixels:
        key = shown(self.photos.keys[index])
        try:
            image = fitted(self.photos.read(index), self._fit)
        except DataError as e:
            raise DataError(e if key in str(e) else f"{key}: {e}") from e
        first, size = self._first = self._first or (key, image.shape)
        if image.shape != size:
            raise DataError(
                f"{first} is {size[1]}x{size[0]} pixels and {key} is {image.shape[1]}x{image.shape[0]}; a "
                f"model takes one size. Say which: --resize and --crop."
            )
        return image
