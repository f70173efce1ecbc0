"""What a labelled set of samples is, and what is known of each benchmark dataset.

Images are uint8 in (n, h, w, 3) order; models take float32 in (n, 3, h, w) order between 0 and 1. Other
samples are as their modality says (`leantta.data.modalities`). The mean and standard deviation of a dataset
belong to the model that was trained with them, so nothing here normalizes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError, SettingError

Samples = npt.NDArray[Any]
Pixels = npt.NDArray[np.uint8]
Inputs = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Split = Literal["train", "test"]


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """What is published about a dataset: its classes, and the statistics its models normalize with."""

    name: str
    classes: tuple[str, ...]
    mean: tuple[float, ...]  # per channel, of what models take
    std: tuple[float, ...]
    modality: str = "image"
    yes_no: bool = False  # of two classes, models say by one score whether it is the second
    learnt_from: str | None = None  # the dataset whose models are tested on it; None: its own

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def outputs(self) -> int:
        """How many scores a model gives."""
        return 1 if self.yes_no else len(self.classes)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their labels; `checked` is the way to make one of images from arrays of unknown origin."""

    name: str
    split: str
    images: Samples  # (n, h, w, 3), or what the modality of the dataset has for it
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


def dataset_info(name: str) -> DatasetInfo:
    """Return what is known of a dataset.

    Raises:
        SettingError: there is no such dataset in the table.
    """
    if name not in DATASETS:
        raise SettingError(f"unknown dataset {name!r}; known: {', '.join(DATASETS)}.")
    return DATASETS[name]


def learnt_from(name: str) -> str:
    """Return the dataset that the models for a dataset are trained on: itself, unless the table says another.

    >>> learnt_from("capuchin"), learnt_from("cifar10")
    ('esc50', 'cifar10')
    """
    known = DATASETS.get(name)
    return (known.learnt_from if known else None) or name


_CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_CIFAR100_CLASSES = (
    *("apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee"),
    *("beetle", "bicycle", "bottle", "bowl", "boy", "bridge", "bus"),
    *("butterfly", "camel", "can", "castle", "caterpillar", "cattle", "chair"),
    *("chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile"),
    *("cup", "dinosaur", "dolphin", "elephant", "flatfish", "forest", "fox"),
    *("girl", "hamster", "house", "kangaroo", "keyboard", "lamp", "lawn_mower"),
    *("leopard", "lion", "lizard", "lobster", "man", "maple_tree", "motorcycle"),
    *("mountain", "mouse", "mushroom", "oak_tree", "orange", "orchid", "otter"),
    *("palm_tree", "pear", "pickup_truck", "pine_tree", "plain", "plate", "poppy"),
    *("porcupine", "possum", "rabbit", "raccoon", "ray", "road", "rocket"),
    *("rose", "sea", "seal", "shark", "shrew", "skunk", "skyscraper"),
    *("snail", "snake", "spider", "squirrel", "streetcar", "sunflower", "sweet_pepper"),
    *("table", "tank", "telephone", "television", "tiger", "tractor", "train"),
    *("trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf"),
    *("woman", "worm"),
)

DATASETS: Mapping[str, DatasetInfo] = {
    "cifar10": DatasetInfo(
        name="cifar10",
        classes=_CIFAR10_CLASSES,
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2471, 0.2435, 0.2616),
    ),
    "cifar100": DatasetInfo(
        name="cifar100",
        classes=_CIFAR100_CLASSES,
        mean=(0.5071, 0.4865, 0.4409),
        std=(0.2673, 0.2564, 0.2762),
    ),
    "har": DatasetInfo(
        name="har",
        classes=("walking", "walking_upstairs", "walking_downstairs", "sitting", "standing", "laying"),
        mean=(-0.0009, -0.0003, -0.0002, -0.0054, 0.0002, 0.0005, 0.8145, 0.0104, 0.0620),
        std=(0.1974, 0.1271, 0.1049, 0.4153, 0.3823, 0.2630, 0.4057, 0.4125, 0.3298),
        modality="motion",
    ),
    "esc50": DatasetInfo(
        name="esc50",
        classes=("no bird", "bird"),
        mean=(0.0,),
        std=(1.0,),
        modality="sound",
        yes_no=True,
    ),
    "capuchin": DatasetInfo(
        name="capuchin",
        classes=("no bird", "bird"),
        mean=(0.0,),
        std=(1.0,),
        modality="sound",
        yes_no=True,
        learnt_from="esc50",
    ),
}
