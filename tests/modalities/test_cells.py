"""Every source of corrupted images keeps the promise: an image depends on nothing but itself and the seed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leantta.data.datasets import Dataset
from leantta.disturbances.corruptions.apply import corrupt
from leantta.disturbances.corruptions.names import NAMES
from leantta.modalities.cells import CachedCells, Cells, GeneratedCells
from leantta_lab.datasets.cifar_c import open_cells
from leantta_lab.datasets.table import DATASETS

COUNT = 6


def dataset() -> Dataset:
    generator = np.random.default_rng(3)
    images = generator.integers(0, 256, (COUNT, 32, 32, 3), dtype=np.uint8)
    return Dataset.checked("cifar10", "test", images, np.arange(COUNT), DATASETS["cifar10"].classes)


def generated(folder: Path) -> Cells:  # noqa: ARG001 - as the others
    return GeneratedCells(dataset())


def cached(folder: Path) -> Cells:
    return CachedCells(generated(folder))


def official(folder: Path) -> Cells:
    generator = np.random.default_rng(4)
    np.save(folder / "labels.npy", np.tile(np.arange(COUNT), 5))
    for name in NAMES:
        np.save(folder / f"{name}.npy", generator.integers(0, 256, (5 * COUNT, 32, 32, 3), dtype=np.uint8))
    return open_cells(folder, "cifar10", dataset())


SOURCES: dict[str, Callable[[Path], Cells]] = {"generated": generated, "cached": cached, "official": official}


@pytest.mark.parametrize("corruption", ["clean", "gaussian_noise", "elastic_transform", "snow", "contrast"])
@pytest.mark.parametrize("source", SOURCES)
def test_an_image_does_not_depend_on_its_company(source: str, corruption: str, tmp_path: Path) -> None:
    cells = SOURCES[source](tmp_path)
    severity = 0 if corruption == "clean" else 3
    one = {
        i: cells.cell(corruption, severity, np.array([i]), seed=5)[0].copy() for i in reversed(range(COUNT))
    }
    cells.cell("fog", 2, np.arange(COUNT), seed=5)
    for order in ([0, 1, 2, 3, 4, 5], [4, 2, 4]):
        together = cells.cell(corruption, severity, np.array(order), seed=5)
        assert together.dtype == np.uint8
        np.testing.assert_array_equal(together, [one[i] for i in order])


@pytest.mark.parametrize("source", SOURCES)
def test_what_a_source_says_of_itself(source: str, tmp_path: Path) -> None:
    cells = SOURCES[source](tmp_path)
    assert cells.corruptions == NAMES
    np.testing.assert_array_equal(cells.labels, np.arange(COUNT))
    assert cells.name
    assert cells.fingerprint == SOURCES[source](tmp_path).fingerprint
    np.testing.assert_array_equal(cells.cell("clean", 0, np.arange(COUNT), seed=1), dataset().samples)


def test_generated_images_are_those_of_the_whole_dataset() -> None:
    whole = corrupt(dataset().samples, "shot_noise", 4, seed=9)
    cells = GeneratedCells(dataset())
    np.testing.assert_array_equal(cells.cell("shot_noise", 4, np.array([5, 1]), seed=9), whole[[5, 1]])
    assert (cells.cell("shot_noise", 4, np.array([5, 1]), seed=10) != whole[[5, 1]]).any()


def test_the_fingerprint_tells_datasets_apart() -> None:
    other = dataset()
    images = other.samples.copy()
    images[2, 0, 0, 0] ^= 1
    changed = Dataset.checked("cifar10", "test", images, other.labels, other.classes)
    assert GeneratedCells(other).fingerprint != GeneratedCells(changed).fingerprint


class Counting(GeneratedCells):
    made = 0

    def cell(self, corruption: str, severity: int, indices: np.ndarray, seed: int) -> np.ndarray:
        self.made += len(indices)
        return super().cell(corruption, severity, indices, seed)


def test_the_cache_makes_each_image_once() -> None:
    source = Counting(dataset())
    cells = CachedCells(source)
    for indices in ([0, 1], [1, 2], [2, 1, 0]):
        cells.cell("fog", 1, np.array(indices), seed=0)
    assert source.made == 3
    cells.cell("fog", 2, np.array([0]), seed=0)
    cells.cell("fog", 1, np.array([0]), seed=1)
    assert source.made == 5


def test_what_the_cache_returns_may_be_changed() -> None:
    cells = CachedCells(GeneratedCells(dataset()))
    first = cells.cell("fog", 1, np.array([0]), seed=0)
    expected = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(cells.cell("fog", 1, np.array([0]), seed=0), expected)
