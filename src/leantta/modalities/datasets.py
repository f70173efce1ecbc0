"""Datasets that have names: what an entry point of the group `leantta.datasets` holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from leantta import plugins
from leantta.data.datasets import Dataset, Split
from leantta.modalities.cells import Cells, GeneratedCells
from leantta.modalities.image import IMAGES
from leantta.modalities.modality import Modality


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """What is published about a dataset: its classes, and the statistics its models normalize with."""

    name: str
    classes: tuple[str, ...]
    mean: tuple[float, ...]  # per channel, of what models take
    std: tuple[float, ...]
    load: Callable[[Path, str, Split], Dataset]  # a file or folder, the name and the split
    corrupted: Callable[[Path, str, Dataset], Cells] | None = None  # of a published folder, if there is one
    modality: Modality = IMAGES
    yes_no: bool = False  # of two classes, models say by one score whether it is the second
    is_folder: Callable[[Path], bool] = lambda _: False  # whether a folder of image files is this dataset
    learnt_from: str | None = None  # the dataset whose models are tested on it; None: its own

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def outputs(self) -> int:
        """How many scores a model gives."""
        return 1 if self.yes_no else len(self.classes)


def dataset_info(name: str) -> DatasetInfo:
    """Return what is known of a dataset.

    Raises:
        SettingError: no installed package brings such a dataset.
    """
    info: DatasetInfo = plugins.load("datasets", name)
    return info


def modality_of(name: str) -> Modality:
    """Return what kind of data a dataset is.

    Raises:
        SettingError: no installed package brings such a dataset.
    """
    return dataset_info(name).modality


def dataset_with(classes: Sequence[str]) -> str | None:
    """Return the dataset that has exactly these classes and models of its own; None if it is not one."""
    infos = [dataset_info(name) for name in plugins.brought("datasets")]
    names = [i.name for i in infos if i.classes == tuple(classes) and i.learnt_from is None]
    return names[0] if len(names) == 1 else None


def learnt_from(name: str) -> str:
    """Return the dataset that the models for a dataset are trained on: itself, unless it says another."""
    known = dataset_info(name) if name in plugins.brought("datasets") else None
    return (known.learnt_from if known else None) or name


def load_data(path: Path, dataset: str, split: Split) -> Dataset:
    """Return one split of a dataset, from any of the forms in which people keep it.

    Raises:
        SettingError: the dataset or the split is unknown.
        MissingFileError: there is nothing at `path`.
        DataError: it is there, but is damaged or something else.
    """
    return dataset_info(dataset).load(path, dataset, split)


def generated_cells(data: Dataset) -> GeneratedCells:
    """Return the corruptions of a dataset, made when they are asked for."""
    return GeneratedCells(data, modality_of(data.name))
