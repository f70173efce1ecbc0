"""Load CIFAR-10 and CIFAR-100 from any of the forms in which people keep them.

| form | recognised by |
|---|---|
| one `.npz` file | its arrays `x_train y_train x_test y_test` |
| binary version | `cifar-10-batches-bin/data_batch_1.bin ...`, `cifar-100-binary/train.bin test.bin` |
| python version | `cifar-10-batches-py/data_batch_1 ...`, `cifar-100-python/train test` |

A folder that contains one of these (or `cifar10.npz`) will do; a folder may hold only the split that is asked
for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Dataset, Split
from leantta.data.npz import read_arrays
from leantta.errors import DataError, SettingError
from leantta.files import existing
from leantta.modalities.datasets import dataset_info
from leantta_lab.datasets.cifar_pickle import read_batch

Batch = tuple[npt.NDArray[Any], npt.NDArray[Any]]  # rows (n, 3072): all red, all green, all blue; labels (n,)

_SIDE = 32
_ROW = 3 * _SIDE * _SIDE


@dataclass(frozen=True)
class _Layout:
    files: Mapping[Split, tuple[str, ...]]
    read: Callable[[Path], Batch]

    def holds(self, folder: Path, split: Split) -> bool:
        """Whether the folder has a file of the split; that another is missing is an error of this layout."""
        return any((folder / name).is_file() for name in self.files[split])


def load_images(path: Path, dataset: str = "cifar10", split: Split = "test") -> Dataset:
    """Return one split of a CIFAR dataset, in the official order, from a `.npz` file or a folder.

    Raises:
        SettingError: the dataset or the split is unknown.
        MissingFileError: there is nothing at `path`.
        DataError: it is there, but is damaged or something else.
    """
    info = dataset_info(dataset)
    if dataset not in _LAYOUTS:
        raise SettingError(f"{dataset} has no images; those that do: {', '.join(_LAYOUTS)}.")
    if split not in ("train", "test"):
        raise SettingError(f"unknown split {split!r}; known: train, test.")
    existing(path, f"{dataset} images", f"Check the path; `leantta download {dataset}` fetches them.")
    images, labels = _read(path, dataset, split)
    if images.shape[1:3] != (_SIDE, _SIDE):
        raise DataError(
            f"{dataset} images are {_SIDE} x {_SIDE}; those of {path} have the shape {images.shape}."
        )
    return Dataset.checked(dataset, split, images, labels, info.classes)


def _read(path: Path, dataset: str, split: Split) -> Batch:
    if path.is_file():
        return _read_npz(path, split)
    for folder in _with_children(path):
        if (folder / f"{dataset}.npz").is_file():
            return _read_npz(folder / f"{dataset}.npz", split)
        for layout in _LAYOUTS[dataset]:
            if layout.holds(folder, split):
                batches = [
                    layout.read(existing(folder / name, f"{dataset} file")) for name in layout.files[split]
                ]
                rows = np.concatenate([_images(rows) for rows, _ in batches])
                return rows, np.concatenate([labels for _, labels in batches])
    wanted = " or ".join(layout.files[split][0] for layout in _LAYOUTS[dataset])
    raise DataError(
        f"no {dataset} {split} images in {path}: neither it nor a folder in it has {wanted} "
        f"or {dataset}.npz. `leantta download {dataset}` fetches them."
    )


def _with_children(folder: Path) -> Iterator[Path]:
    yield folder
    yield from sorted(child for child in folder.iterdir() if child.is_dir())


def _read_npz(path: Path, split: Split) -> Batch:
    images, labels = read_arrays(path, [f"x_{split}", f"y_{split}"])
    return (images if images.ndim == 4 else _images(images)), labels


def _images(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return (n, 32, 32, 3) images of rows that hold the colours one after another."""
    if rows.ndim != 2 or rows.shape[1] != _ROW:
        raise DataError(
            f"CIFAR rows have {_ROW} values; these have the shape {rows.shape}. Is it another dataset?"
        )
    return np.ascontiguousarray(rows.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1))


def _binary(label_bytes: int) -> Callable[[Path], Batch]:
    """Return a reader of fixed-length records: label bytes (the class is the last), then the row."""

    def read(path: Path) -> Batch:
        raw = np.fromfile(path, dtype=np.uint8)
        length = label_bytes + _ROW
        if raw.size == 0 or raw.size % length:
            raise DataError(
                f"{path} is damaged: {raw.size} bytes are not records of {length}. Fetch it again."
            )
        records = raw.reshape(-1, length)
        return records[:, label_bytes:], records[:, label_bytes - 1]

    return read


def _python(label_key: str) -> Callable[[Path], Batch]:
    return lambda path: read_batch(path, label_key)


_LAYOUTS: Mapping[str, tuple[_Layout, ...]] = {
    "cifar10": (
        _Layout(
            {"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)},
            _binary(label_bytes=1),
        ),
        _Layout(
            {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)},
            _python("labels"),
        ),
    ),
    "cifar100": (
        _Layout({"train": ("train.bin",), "test": ("test.bin",)}, _binary(label_bytes=2)),
        _Layout({"train": ("train",), "test": ("test",)}, _python("fine_labels")),
    ),
}
