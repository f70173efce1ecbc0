"""Load UCI HAR: windows of a phone's motion sensors, 30 people, six activities, 2.56 s at 50 Hz.

| form | recognised by |
|---|---|
| one `.npz` file | its arrays `x` (n, 9, 128) or (n, 128, 9), `y` (n,) 0 to 5, `subject` (n,) 0 to 29 |
| official folder | `train/Inertial Signals/body_acc_x_train.txt ...`, also `test`; numbers from 1 |

The channels are the acceleration of the body along x, y, z, without gravity, in g; the angular velocity in
rad/s; and the total acceleration, with gravity, in g. A folder that contains one of these will do.

The split is by person, whatever form it is: 0 to 19 are for training, 20 to 29 for testing, so that a model
is tested on people it has never seen. The files have one person after another; here the windows come in a
fixed random order, so that the first few hundred are of everybody.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Dataset, Inputs, Labels, Split, as_labels
from leantta.data.npz import read_arrays
from leantta.data.seeds import derived
from leantta.data.windows import SAMPLES, as_windows, in_order
from leantta.errors import DataError, SettingError
from leantta.files import existing
from leantta.modalities.datasets import dataset_info

NAME = "har"
PEOPLE = 30
FIRST_TEST_PERSON = 20

SIGNALS = tuple(f"{sensor}_{axis}" for sensor in ("body_acc", "body_gyro", "total_acc") for axis in "xyz")
"""The nine files of an official folder, in the order of the channels."""

Arrays = tuple[Inputs, npt.NDArray[Any], npt.NDArray[Any]]  # windows (n, 9, 128), classes and people from 0


def load_windows(path: Path, dataset: str = NAME, split: Split = "test") -> Dataset:
    """Return the windows of the people of one split, from a `.npz` file or a folder, in a fixed order.

    Raises:
        SettingError: the dataset or the split is unknown.
        MissingFileError: there is nothing at `path`, or a file of the folder is missing.
        DataError: it is there, but is damaged or something else, or has nobody of the split.
    """
    classes = dataset_info(dataset).classes
    if dataset != NAME:
        raise SettingError(f"{dataset} has no motion windows; {NAME} does.")
    if split not in ("train", "test"):
        raise SettingError(f"unknown split {split!r}; known: train, test.")
    existing(path, "motion windows", "Give har.npz, or the folder 'UCI HAR Dataset'.")
    windows, labels, people = _read_npz(path) if path.is_file() else _read_folder(path)
    checked = as_labels(labels, len(windows), len(classes))
    person = as_labels(people, len(windows), PEOPLE)
    chosen = np.flatnonzero((person >= FIRST_TEST_PERSON) == (split == "test"))
    if not chosen.size:
        wanted = "0 to 19" if split == "train" else "20 to 29"
        raise DataError(f"{path} has nobody to {split} with: people {wanted}, counted from 0. Is it a part?")
    order = np.random.default_rng(derived(0, NAME, split)).permutation(chosen)
    return Dataset(dataset, split, windows[order], checked[order], classes)


def _read_npz(path: Path) -> Arrays:
    x, labels, people = read_arrays(path, ["x", "y", "subject"])
    return in_order(as_windows(x, str(path)), str(path)), labels, people


def _read_folder(path: Path) -> Arrays:
    for folder in _with_children(path):
        if (folder / f"{NAME}.npz").is_file():
            return _read_npz(folder / f"{NAME}.npz")
        parts = [part for part in ("train", "test") if (folder / part / "Inertial Signals").is_dir()]
        if parts:
            read = [_read_part(folder / part, part) for part in parts]
            windows, labels, people = (np.concatenate(each) for each in zip(*read, strict=True))
            return windows, labels - 1, people - 1
    raise DataError(
        f"no motion windows in {path}: neither it nor a folder in it has 'train/Inertial Signals' or "
        f"{NAME}.npz. Give the folder 'UCI HAR Dataset'."
    )


def _with_children(folder: Path) -> Iterator[Path]:
    yield folder
    yield from sorted(child for child in folder.iterdir() if child.is_dir())


def _read_part(folder: Path, part: str) -> tuple[Inputs, Labels, Labels]:
    signals = [_table(folder / "Inertial Signals" / f"{name}_{part}.txt", SAMPLES) for name in SIGNALS]
    labels, people = (_table(folder / f"{name}_{part}.txt", 1)[:, 0] for name in ("y", "subject"))
    rows = {len(table) for table in (*signals, labels, people)}
    if len(rows) != 1:
        raise DataError(
            f"the files of {folder} have different numbers of rows: {sorted(rows)}. Fetch it anew."
        )
    windows = as_windows(np.stack(signals, axis=1), str(folder))
    return windows, labels.astype(np.int64), people.astype(np.int64)


def _table(path: Path, columns: int) -> npt.NDArray[np.float64]:
    """Return a text file of numbers as (rows, columns)."""
    existing(path, "file of motion windows", "Fetch the folder anew.")
    try:
        table = np.loadtxt(path, ndmin=2)
    except (ValueError, OSError) as e:
        raise DataError(f"cannot read {path} as rows of numbers: {e}. Fetch it anew.") from e
    if table.shape[1] != columns or not len(table):
        raise DataError(f"{path} must have {columns} numbers a row; it has the shape {table.shape}.")
    return table
