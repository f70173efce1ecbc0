"""Load a sample of ImageNet: a folder of photographs whose names begin with the class, `007_cock.jpg`.

The class is ImageNet's index, 0 to 999. Each photograph is cut to its centre of 224x224 pixels, after it was
shrunk to a shorter side of 256 if that is longer. Smaller ones are refused.

Such a sample has no official split. Ours is by class, so that a file always falls on the same side: the
classes whose half, rounded down, leaves 1 or 3 when divided by 5 are for testing (2, 3, 6, 7, 12, 13, ...),
the others for fitting. That is two fifths, whether a sample has all classes or every second one. Nothing is
fitted on a class that is reported on. The photographs come in a fixed random order, so that the first few
hundred are of every kind.
"""

from pathlib import Path

import numpy as np

from leantta.data.collection.search import find_images
from leantta.data.datasets import Dataset, Pixels, Split
from leantta.data.imagefiles import read_image
from leantta.data.resize import cover
from leantta.data.seeds import derived
from leantta.errors import DataError, SettingError
from leantta.files import existing
from leantta.modalities.datasets import dataset_info

NAME = "imagenet"
SIDE = 224
SHORTER_SIDE = 256
CLASSES = 1000
TEST_REMAINDERS = (1, 3)
MOST = 10_000
"""Photographs of one split that are held in memory: 1.5 GB."""


def load_photographs(path: Path, dataset: str = NAME, split: Split = "test") -> Dataset:
    """Return the photographs of one split of a folder, in a fixed order.

    Raises:
        SettingError: the dataset or the split is unknown.
        MissingFileError: there is nothing at `path`.
        DataError: a name does not begin with a class, a file cannot be used, or there are none or too many.
    """
    classes = dataset_info(dataset).classes
    if dataset != NAME:
        raise SettingError(f"{dataset} has no photographs; {NAME} does.")
    if split not in ("train", "test"):
        raise SettingError(f"unknown split {split!r}; known: train, test.")
    files = find_images(existing(path, "folder of photographs", "Give one with files such as 007_cock.jpg."))
    chosen = [(file, number) for file in files if is_test(number := class_of(file)) == (split == "test")]
    if not chosen:
        raise DataError(f"none of the {len(files)} photographs of {path} has a class to {split} with.")
    if len(chosen) > MOST:
        raise DataError(f"{path} has {len(chosen)} photographs to {split} with; give at most {MOST}.")
    order = np.random.default_rng(derived(0, NAME, split)).permutation(len(chosen))
    pixels = np.empty((len(chosen), SIDE, SIDE, 3), np.uint8)
    for place, which in enumerate(order):
        pixels[place] = centre(read_image(chosen[which][0]), chosen[which][0])
    labels = np.array([chosen[which][1] for which in order])
    return Dataset.checked(dataset, split, pixels, labels, classes)


def is_sample(folder: Path) -> bool:
    """Return whether all image files lie in the folder itself and their names begin with a class."""
    try:
        return all(file.parent == folder and class_of(file) >= 0 for file in find_images(folder))
    except DataError:
        return False


def class_of(file: Path) -> int:
    """Return the class that a file's name begins with.

    >>> class_of(Path("007_cock.jpg"))
    7

    Raises:
        DataError: it does not begin with one.
    """
    digits = file.name.partition("_")[0]
    if not (digits.isascii() and digits.isdigit() and int(digits) < CLASSES):
        raise DataError(f"{file} does not begin with a class from 0 to {CLASSES - 1}, as 007_cock.jpg does.")
    return int(digits)


def is_test(number: int) -> bool:
    """Return whether photographs of a class are for testing.

    >>> [number for number in range(14) if is_test(number)]
    [2, 3, 6, 7, 12, 13]
    """
    return number // 2 % 5 in TEST_REMAINDERS


def centre(image: Pixels, file: Path) -> Pixels:
    """Return the centre of a photograph (h, w, 3), after it was shrunk if its shorter side is too long.

    Raises:
        DataError: it is too small.
    """
    height, width = image.shape[:2]
    shorter = min(height, width)
    if shorter < SIDE:
        raise DataError(f"{file} is {width}x{height} pixels; {SIDE} are needed on each side.")
    if shorter > SHORTER_SIDE:
        scale = SHORTER_SIDE / shorter
        image = cover(image, round(height * scale), round(width * scale))
        height, width = image.shape[:2]
    top, left = (height - SIDE) // 2, (width - SIDE) // 2
    return image[top : top + SIDE, left : left + SIDE]
