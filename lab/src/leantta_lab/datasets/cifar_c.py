"""The official CIFAR-10-C and CIFAR-100-C folders, read where they lie.

`<corruption>.npy` holds (5 n, 32, 32, 3) bytes: the n test images at severity 1, then again at severity 2,
and so on; `labels.npy` holds 5 n labels. n is 10,000 in the published files and may be smaller in a copy. The
files are mapped into memory, so opening costs nothing and only the images that are used are read.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from leantta.data.datasets import Dataset, Inputs, Labels, Samples, as_labels, model_inputs
from leantta.disturbances.corruptions.names import NAMES, SEVERITIES
from leantta.errors import DataError, SettingError
from leantta.files import existing
from leantta.modalities.cells import CLEAN
from leantta.modalities.datasets import dataset_info


class FolderCells:
    """The cells of an official folder; `open_cells` makes one."""

    def __init__(
        self,
        name: str,
        files: Mapping[str, np.memmap[tuple[int, ...], np.dtype[np.uint8]]],
        labels: Labels,
        clean: Dataset | None,
    ) -> None:
        self.name = name
        self.labels = labels
        self.corruptions = tuple(files)
        self._files = files
        self._clean = clean

    @property
    def fingerprint(self) -> str:
        """A hash of the labels and of which files there are; gigabytes of pixels are taken on trust."""
        return hashlib.sha256(repr(self.corruptions).encode() + self.labels.tobytes()).hexdigest()[:16]

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Samples:  # noqa: ARG002 - nothing is drawn
        """Return the published images; the seed changes nothing.

        Raises:
            DataError: clean images are asked for, which the folder does not have.
            SettingError: there is no such corruption or severity.
        """
        if corruption == CLEAN:
            if self._clean is None:
                raise DataError(
                    f"{self.name} has no clean images; open the folder with the clean test set as `clean`."
                )
            return self._clean.samples[indices]
        if corruption not in self._files or severity not in SEVERITIES:
            known = ", ".join(self.corruptions)
            raise SettingError(
                f"{self.name} has no {corruption!r} at severity {severity}; it has {known}, each 1 to 5."
            )
        # One advanced index copies out of the file; the offset selects the severity's block.
        return np.asarray(self._files[corruption][indices + (severity - 1) * len(self.labels)])

    def inputs(self, samples: Samples) -> Inputs:
        """Return images as models take them."""
        return model_inputs(samples)


def open_cells(folder: Path, dataset: str, clean: Dataset | None = None) -> FolderCells:
    """Return the cells of a CIFAR-10-C or CIFAR-100-C folder; `clean` adds the uncorrupted test set to them.

    Raises:
        MissingFileError: there is no such folder, or no labels in it.
        DataError: a file is damaged, of another shape, or the clean images are others.
    """
    existing(folder, f"{dataset}-C folder")
    try:
        stacked = np.load(existing(folder / "labels.npy", "CIFAR-C labels"), allow_pickle=False)
    except (ValueError, EOFError) as e:
        raise DataError(f"cannot read {folder / 'labels.npy'}: {e}. Fetch it again.") from e
    rows = stacked.shape[0] if stacked.ndim else 0
    checked = as_labels(stacked, rows, dataset_info(dataset).num_classes)
    if (
        rows == 0
        or rows % len(SEVERITIES)
        or (checked.reshape(len(SEVERITIES), -1) != checked[: rows // len(SEVERITIES)]).any()
    ):
        raise DataError(f"{folder / 'labels.npy'} must hold the same labels 5 times; it has {rows} values.")
    labels = checked[: rows // len(SEVERITIES)]
    if clean is not None and not np.array_equal(clean.labels, labels):
        raise DataError(
            f"the clean images are not those of {folder}: the labels differ. Give the test set, in its order."
        )
    names = [name for name in NAMES if (folder / f"{name}.npy").is_file()]
    if not names:
        raise DataError(f"{folder} has no <corruption>.npy, such as {NAMES[0]}.npy. Is it a CIFAR-C folder?")
    files = {name: _mapped(folder / f"{name}.npy", rows) for name in names}
    return FolderCells(folder.name, files, labels, clean)


def _mapped(path: Path, rows: int) -> np.memmap[tuple[int, ...], np.dtype[np.uint8]]:
    try:
        images = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as e:
        raise DataError(f"cannot read {path}: {e}. Fetch it again.") from e
    if not isinstance(images, np.memmap) or images.dtype != np.uint8 or images.shape != (rows, 32, 32, 3):
        content = (
            f"{images.dtype} {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
        )
        raise DataError(
            f"{path} must hold uint8 ({rows}, 32, 32, 3), as many as there are labels; it holds {content}."
        )
    return images
