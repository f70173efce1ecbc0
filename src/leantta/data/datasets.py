"""What a labelled set of samples is, and how arrays of unknown origin become one.

Images are uint8 in (n, h, w, 3) order; models take float32 in (n, 3, h, w) order between 0 and 1. Other
samples are as their modality says (`leantta.modalities.kinds`). The mean and standard deviation of a dataset
belong to the model that was trained with them, so nothing here normalizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError

Samples = npt.NDArray[Any]
Pixels = npt.NDArray[np.uint8]
Inputs = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Split = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their labels; `checked` is the way to make one of images from arrays of unknown origin."""

    name: str
    split: str
    samples: Samples  # images are (n, h, w, 3); other modalities have shapes of their own
    labels: Labels  # (n,)
    classes: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.labels)

    @classmethod
    def checked(
        cls,
        name: str,
        split: str,
        images: npt.NDArray[Any],
        labels: npt.NDArray[Any],
        classes: tuple[str, ...],
    ) -> "Dataset":
        """Return a dataset of arrays that were looked at first.

        Raises:
            DataError: the images or the labels cannot be used; the message says why.
        """
        pixels = as_pixels(images)
        return cls(name, split, pixels, as_labels(labels, len(pixels), len(classes)), classes)


def as_pixels(images: npt.NDArray[Any]) -> Pixels:
    """Return images as uint8 (n, h, w, 3); floating-point ones must lie between 0 and 1.

    >>> as_pixels(np.full((1, 2, 2, 3), 0.5)).max()
    np.uint8(128)

    Raises:
        DataError: another type, shape or range, NaN or infinity among the values, or no image at all.
    """
    if images.ndim != 4 or images.shape[-1] != 3 or 0 in images.shape:
        hint = (
            "Transpose with .transpose(0, 2, 3, 1)."
            if images.ndim == 4 and images.shape[1] == 3
            else "Reshape them."
        )
        raise DataError(
            f"images must have the shape (n, height, width, 3), n > 0; these have {images.shape}. {hint}"
        )
    if images.dtype == np.uint8:
        return images
    if not np.issubdtype(images.dtype, np.floating):
        raise DataError(
            f"images must be uint8, or float between 0 and 1; these are {images.dtype}. Convert them first."
        )
    if not np.isfinite(images).all():
        bad = int(np.flatnonzero(~np.isfinite(images).all(axis=(1, 2, 3)))[0])
        raise DataError(
            f"images must be finite; image {bad} has NaN or infinite values. Repair or remove it."
        )
    low, high = float(images.min()), float(images.max())
    if low < 0 or high > 1:
        hint = (
            "Divide them by 255."
            if low >= 0 and high <= 255
            else "Give them as they were before normalization."
        )
        raise DataError(
            f"float images must lie between 0 and 1; these lie between {low:g} and {high:g}. {hint}"
        )
    return np.asarray(np.rint(images * 255), dtype=np.uint8)


def as_labels(labels: npt.NDArray[Any], count: int, num_classes: int) -> Labels:
    """Return `count` labels as int64 (n,); (n, 1) is accepted.

    >>> as_labels(np.array([[3], [1]], dtype=np.uint8), count=2, num_classes=10)
    array([3, 1])

    Raises:
        DataError: another number of labels, not integers, or a class outside 0 .. num_classes - 1.
    """
    if labels.shape not in ((count,), (count, 1)):
        raise DataError(f"{count} samples need {count} labels; the labels have the shape {labels.shape}.")
    if not np.issubdtype(labels.dtype, np.integer):
        raise DataError(f"labels must be integers; these are {labels.dtype}. Give class numbers from 0.")
    flat = np.asarray(labels.reshape(count), dtype=np.int64)
    outside = np.flatnonzero((flat < 0) | (flat >= num_classes))
    if outside.size:
        first = int(outside[0])
        raise DataError(
            f"labels must lie between 0 and {num_classes - 1}; label {first} is {flat[first]}, "
            f"and {outside.size} of {count} are outside. Is it another dataset?"
        )
    return flat


def model_inputs(pixels: Pixels) -> Inputs:
    """Return uint8 (n, h, w, 3) images as what models take: float32 (n, 3, h, w) between 0 and 1.

    >>> model_inputs(np.full((1, 4, 5, 3), 255, dtype=np.uint8)).shape
    (1, 3, 4, 5)
    """
    return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


def per_channel(values: Sequence[float], axes: int) -> Inputs:
    """Return a value per channel, shaped to meet inputs (n, c, *positions) of so many axes.

    >>> per_channel((0.5, 0.25), 4).shape
    (2, 1, 1)
    """
    return np.asarray(values, np.float32).reshape(-1, *(1,) * (axes - 2))
