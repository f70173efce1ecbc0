"""Our corruptions against the benchmark's own generator, on the same clean images.

The generator is unseeded, so the random ones are compared in strength: mean absolute change, and the accuracy
one network keeps. The reference is itself one draw of 100 images per corruption: its luck is 2 to 3 points.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from leantta.data.datasets import model_inputs
from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.apply import corrupt
from leantta.disturbances.corruptions.frost import WindowSource, window_source
from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.disturbances.corruptions.pixels import Images
from leantta.disturbances.corruptions.strengths import CIFAR_C
from leantta.methods.method import TorchPredictor
from leantta.modalities.datasets import dataset_info
from leantta.models.opening import pretrained

CHECKOUT = Path(__file__).resolve().parents[3]
REFERENCE = CHECKOUT.parent / "shared/data/cifar10c-reference/reference.npz"
CIFAR10 = CHECKOUT.parent / "data/cifar10.npz"
"""Where `../shared/bin/get-cifar10 ../data` puts it; the tests of accuracy need all clean images."""

LOOSE = {"frost", "snow", "spatter"}  # few, large, random shapes: few images leave more to chance
DETERMINISTIC = [name for name in CIFAR_C if not CIFAR_C[name].random]


class Cell(NamedTuple):
    """The images of one corruption at one severity whose clean version is at hand."""

    corrupted: Images  # (n, 32, 32, 3)
    labels: Images  # (n,)
    clean: Images  # as `corrupted`


Reference = Mapping[str, Sequence[Cell]]  # by corruption, then severity


def stored(name: str) -> Images:
    if not REFERENCE.is_file():
        pytest.skip(f"the reference is not at {REFERENCE}")
    with np.load(REFERENCE) as file:
        values: Images = file[name]
    return values


def reference_of(clean: Images, position: NDArray[np.integer]) -> Reference:
    """Return what the reference has of the clean images at those positions of the official test set."""
    corrupted, labels, index = (stored(name) for name in ("corrupted", "labels", "clean_index"))
    at_hand = {int(place): i for i, place in enumerate(position)}

    def cell(k: int, s: int) -> Cell:
        places = [(i, at_hand[int(p)]) for i, p in enumerate(index[k, s]) if int(p) in at_hand]
        theirs, ours = [i for i, _ in places], [i for _, i in places]
        return Cell(corrupted[k, s, theirs], labels[k, s, theirs], clean[ours])

    return {name: [cell(k, s) for s in range(len(SEVERITIES))] for k, name in enumerate(CIFAR_C)}


@pytest.fixture(scope="module")
def sampled(sample: Path) -> Reference:
    """At least four images per cell: those of the sample that the repository carries."""
    with np.load(sample) as file:
        return reference_of(file["x_test"], file["test_index"])


@pytest.fixture(scope="module")
def whole() -> Reference:
    """All 20 images per cell."""
    if not CIFAR10.is_file():
        pytest.skip(f"CIFAR-10, for the clean images of the reference, is not at {CIFAR10}")
    with np.load(CIFAR10) as file:
        return reference_of(file["x_test"], np.arange(len(file["x_test"])))


def ours(cells: Sequence[Cell], name: str, seed: int, source: WindowSource | None = None) -> list[Images]:
    """Return our versions of the clean images, by severity; frost with windows of the given source."""
    if source is None:
        return [corrupt(cell.clean, name, s, seed=seed) for s, cell in zip(SEVERITIES, cells, strict=True)]
    levels: Any = CIFAR_C[name].levels  # only frost takes a source
    draws = [Draws(seed, name, s, first=0, count=len(cells[s - 1].clean)) for s in SEVERITIES]
    return [levels[s - 1](cells[s - 1].clean, draws[s - 1], source=source) for s in SEVERITIES]


def change(images: Sequence[Images], cells: Sequence[Cell]) -> float:
    """Return the mean absolute change, in grey levels, each severity counting the same."""
    changes = [np.abs(x.astype(np.int16) - cell.clean).mean() for x, cell in zip(images, cells, strict=True)]
    return float(np.mean(changes))


def test_order_of_names() -> None:
    assert stored("names").tolist() == list(CIFAR_C)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_same_pixels_where_nothing_is_random(sampled: Reference, name: str) -> None:
    for found, cell in zip(ours(sampled[name], name, seed=0), sampled[name], strict=True):
        difference = np.abs(found.astype(np.int16) - cell.corrupted)
        assert len(found) >= 4
        assert difference.max() <= 1
        assert difference.mean() < 0.06  # rounding of values that end in .5


def check_change(reference: Reference, name: str, source: WindowSource | None = None) -> None:
    cells = reference[name]
    wanted = change([cell.corrupted for cell in cells], cells)
    found = np.mean([change(ours(cells, name, seed, source), cells) for seed in range(3)])
    allowed = 0.25 * wanted if name in LOOSE else max(0.15 * wanted, 1.5)
    assert abs(found - wanted) <= allowed, (found, wanted)


@pytest.mark.parametrize("name", CIFAR_C)
def test_same_mean_absolute_change(sampled: Reference, name: str) -> None:
    check_change(sampled, name)


@pytest.mark.parametrize("name", CIFAR_C)
def test_same_mean_absolute_change_on_all_images(whole: Reference, name: str) -> None:
    check_change(whole, name)


@pytest.mark.parametrize("source", WindowSource)
def test_same_mean_absolute_change_of_frost(sampled: Reference, source: WindowSource) -> None:
    if source is WindowSource.PHOTOGRAPHS and window_source() is not source:
        pytest.skip("the package imagecorruptions is not installed")
    check_change(sampled, "frost", source)


# Right answers of ResNet18 among the 100 images of the reference, for the random corruptions; a slow test
# counts them anew. Where nothing is random the pixels are the same (tested above), and so are the answers.
RIGHT = {
    "gaussian_noise": 53,
    "shot_noise": 60,
    "impulse_noise": 58,
    "glass_blur": 55,
    "motion_blur": 72,
    "snow": 71,
    "frost": 76,
    "fog": 70,
    "elastic_transform": 85,
    "speckle_noise": 61,
    "spatter": 77,
}


Count = Callable[[Sequence[Images], Sequence[Cell]], int]


@pytest.fixture(scope="module")
def count_right(weights: Path) -> Count:
    info = dataset_info("cifar10")
    predictor = TorchPredictor(pretrained("resnet18", weights=weights), mean=info.mean, std=info.std)

    def count(images: Sequence[Images], cells: Sequence[Cell]) -> int:
        classes = predictor.predict(model_inputs(np.concatenate(images))).argmax(1)
        return int((classes == np.concatenate([cell.labels for cell in cells])).sum())

    return count


def check_accuracy(reference: Reference, count_right: Count, seeds: range, source: WindowSource) -> None:
    """Compare the mean over the seeds per corruption (6 points) and over all 19 (1.5 points)."""
    gap = dict.fromkeys(DETERMINISTIC, 0.0)
    for name, right in RIGHT.items():
        windows = source if name == "frost" else None
        drawn = [ours(reference[name], name, seed, windows) for seed in seeds]
        gap[name] = float(np.mean([count_right(images, reference[name]) for images in drawn])) - right
    assert set(gap) == set(CIFAR_C)
    assert max(abs(points) for points in gap.values()) <= 6, gap
    assert abs(np.mean(list(gap.values()))) <= 1.5, gap


@pytest.mark.slow
def test_same_accuracy(whole: Reference, count_right: Count) -> None:
    check_accuracy(whole, count_right, range(2), window_source())


def test_same_accuracy_on_the_sample(sampled: Reference, count_right: Count) -> None:
    """Some 450 images: 4 points over all are three standard errors of what the draws leave to chance."""
    total = sum(len(cell.labels) for cells in sampled.values() for cell in cells)
    right = [
        (count_right([c.corrupted for c in cells], cells), cells, name) for name, cells in sampled.items()
    ]
    gap = sum(count_right(ours(cells, name, 0), cells) - theirs for theirs, cells, name in right)
    assert abs(gap) <= 0.04 * total


@pytest.mark.slow
def test_right_answers_on_the_reference(whole: Reference, count_right: Count) -> None:
    for name, cells in whole.items():
        found = count_right([cell.corrupted for cell in cells], cells)
        assert found == (RIGHT[name] if name in RIGHT else count_right(ours(cells, name, 0), cells)), name


@pytest.mark.slow
@pytest.mark.parametrize("source", WindowSource)
def test_same_accuracy_over_seeds(whole: Reference, count_right: Count, source: WindowSource) -> None:
    if source is WindowSource.PHOTOGRAPHS and window_source() is not source:
        pytest.skip("the package imagecorruptions is not installed")
    check_accuracy(whole, count_right, range(8), source)
