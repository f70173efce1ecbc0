"""The official CIFAR-C layout: five severities on top of one another in each file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leantta.data.datasets import Dataset
from leantta.disturbances.corruptions.names import NAMES
from leantta.disturbances.corruptions.strengths import CIFAR_C
from leantta.errors import DataError, MissingFileError, SettingError
from leantta_lab.datasets.cifar_c import open_cells
from leantta_lab.datasets.table import DATASETS

COUNT = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of four images; each pixel says which corruption, severity and image it belongs to."""
    made = tmp_path / "CIFAR-10-C"
    made.mkdir()
    np.save(made / "labels.npy", np.tile(np.array([3, 8, 0, 9], dtype=np.uint8), 5))
    for number, name in enumerate(NAMES):
        stacked = np.zeros((5 * COUNT, 32, 32, 3), dtype=np.uint8)
        stacked[..., 0] = number
        stacked[..., 1] = np.repeat(np.arange(1, 6), COUNT)[:, None, None]
        stacked[..., 2] = np.tile(np.arange(COUNT), 5)[:, None, None]
        np.save(made / f"{name}.npy", stacked)
    return made


def test_the_order_is_that_of_our_own_corruptions() -> None:
    assert tuple(CIFAR_C) == NAMES


def test_each_cell_is_found(folder: Path) -> None:
    cells = open_cells(folder, "cifar10")
    assert cells.name == "CIFAR-10-C"
    assert cells.corruptions == NAMES
    np.testing.assert_array_equal(cells.labels, [3, 8, 0, 9])
    for number, name in enumerate(NAMES):
        for severity in range(1, 6):
            images = cells.cell(name, severity, np.array([2, 0, 2]), seed=0)
            assert images.shape == (3, 32, 32, 3)
            assert not isinstance(images, np.memmap)
            np.testing.assert_array_equal(images[:, 31, 31], [(number, severity, i) for i in (2, 0, 2)])


def test_a_part_of_the_corruptions_is_enough(folder: Path) -> None:
    (folder / "frost.npy").unlink()
    cells = open_cells(folder, "cifar10")
    assert cells.corruptions == tuple(name for name in NAMES if name != "frost")
    assert cells.fingerprint != ""
    with pytest.raises(SettingError, match="CIFAR-10-C has no 'frost' at severity 3"):
        cells.cell("frost", 3, np.array([0]), seed=0)
    with pytest.raises(SettingError, match="no 'fog' at severity 6"):
        cells.cell("fog", 6, np.array([0]), seed=0)


def clean_images(labels: list[int]) -> Dataset:
    images = np.full((len(labels), 32, 32, 3), 77, dtype=np.uint8)
    return Dataset.checked("cifar10", "test", images, np.array(labels), DATASETS["cifar10"].classes)


def test_clean_images_come_from_the_clean_set(folder: Path) -> None:
    with pytest.raises(DataError, match="has no clean images"):
        open_cells(folder, "cifar10").cell("clean", 0, np.array([0]), seed=0)
    cells = open_cells(folder, "cifar10", clean_images([3, 8, 0, 9]))
    assert (cells.cell("clean", 0, np.array([1]), seed=0) == 77).all()
    with pytest.raises(DataError, match="the labels differ"):
        open_cells(folder, "cifar10", clean_images([3, 8, 0, 1]))


def without_labels(folder: Path) -> None:
    (folder / "labels.npy").unlink()


def labels_of_one_severity(folder: Path) -> None:
    np.save(folder / "labels.npy", np.array([3, 8, 0, 9]))


def labels_that_change(folder: Path) -> None:
    np.save(folder / "labels.npy", np.arange(20) % 10)


def labels_of_another_dataset(folder: Path) -> None:
    np.save(folder / "labels.npy", np.tile([3, 8, 0, 99], 5))


def damaged_labels(folder: Path) -> None:
    (folder / "labels.npy").write_bytes(b"junk")


def damaged_images(folder: Path) -> None:
    path = folder / "fog.npy"
    path.write_bytes(path.read_bytes()[:5000])


def fewer_images(folder: Path) -> None:
    np.save(folder / "fog.npy", np.zeros((15, 32, 32, 3), np.uint8))


def float_images(folder: Path) -> None:
    np.save(folder / "fog.npy", np.zeros((20, 32, 32, 3)))


def no_images(folder: Path) -> None:
    for path in folder.glob("*_*.npy"):
        path.unlink()
    for path in folder.glob("*.npy"):
        if path.stem != "labels":
            path.unlink()


DAMAGES: dict[Callable[[Path], None], tuple[type[Exception], str]] = {
    without_labels: (MissingFileError, r"labels\.npy"),
    labels_of_one_severity: (DataError, "same labels 5 times"),
    labels_that_change: (DataError, "same labels 5 times"),
    labels_of_another_dataset: (DataError, "label 3 is 99"),
    damaged_labels: (DataError, "cannot read"),
    damaged_images: (DataError, r"cannot read .*fog\.npy"),
    fewer_images: (DataError, r"fog\.npy must hold uint8 \(20, 32, 32, 3\).*it holds uint8 \(15"),
    float_images: (DataError, "it holds float64"),
    no_images: (DataError, "Is it a CIFAR-C folder"),
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_explained(damage: Callable[[Path], None], folder: Path) -> None:
    damage(folder)
    error, message = DAMAGES[damage]
    with pytest.raises(error, match=message):
        open_cells(folder, "cifar10")


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no cifar10-C folder"):
        open_cells(tmp_path / "absent", "cifar10")
