"""The table of modalities, and what is done with a dataset of any of them."""

from collections.abc import Mapping
from pathlib import Path

from leantta.data.cells import GeneratedCells
from leantta.data.datasets import Dataset, Split, dataset_info
from leantta.data.images import IMAGES
from leantta.data.modality import Modality
from leantta.data.motion import MOTION
from leantta.data.sound import SOUND

MODALITIES: Mapping[str, Modality] = {"image": IMAGES, "motion": MOTION, "sound": SOUND}


def modality_of(dataset: str) -> Modality:
    """Return what kind of data a dataset is.

    >>> modality_of("cifar10").noun
    'images'

    Raises:
        SettingError: there is no such dataset in the table.
    """
    return MODALITIES[dataset_info(dataset).modality]


def load_data(path: Path, dataset: str, split: Split) -> Dataset:
    """Return one split of a dataset, from any of the forms in which people keep it.

    Raises:
        SettingError: the dataset or the split is unknown.
        MissingFileError: there is nothing at `path`.
        DataError: it is there, but is damaged or something else.
    """
    return modality_of(dataset).load(path, dataset, split)


def generated_cells(data: Dataset) -> GeneratedCells:
    """Return the corruptions of a dataset, made when they are asked for."""
    return GeneratedCells(data, modality_of(data.name))
