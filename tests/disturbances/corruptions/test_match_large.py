"""Our corruptions of large images against an independent generator of ImageNet-C, in strength.

`make_imagenet_c_changes.py` says how the file of expected changes was made.
"""

import json

import numpy as np
import pytest

from disturbances.corruptions.make_imagenet_c_changes import CHANGES, pictures
from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.apply import corrupt
from leantta.disturbances.corruptions.blur import followed, lens
from leantta.disturbances.corruptions.frost import WindowSource
from leantta.disturbances.corruptions.names import NAMES, SEVERITIES
from leantta.disturbances.corruptions.pixels import Images
from leantta.disturbances.corruptions.strengths import CIFAR_C, IMAGENET_C

SEEDS = {"frost": 24, "fog": 24, "spatter": 24}
"""How often ours are drawn for each of the four pictures: few, large shapes leave more to chance."""


@pytest.fixture(scope="module")
def clean() -> Images:
    return pictures()


def ours(clean: Images, name: str, severity: int, seed: int) -> Images:
    if name != "frost":
        return corrupt(clean, name, severity, seed=seed)
    draws = Draws(seed, name, severity, first=0, count=len(clean))
    level = IMAGENET_C[name].levels[severity - 1]
    return level(clean, draws, source=WindowSource.FORMULA)  # type: ignore[call-arg] # frost takes it


@pytest.mark.parametrize("name", NAMES)
def test_same_mean_absolute_change(clean: Images, name: str) -> None:
    expected = json.loads(CHANGES.read_text())[name]
    seeds = SEEDS.get(name, 3)
    for severity, (mean, error) in zip(SEVERITIES, expected, strict=True):
        damaged = [ours(clean, name, severity, seed) for seed in range(seeds)]
        found = np.mean([np.abs(images.astype(np.int16) - clean).mean() for images in damaged])
        # `error` is the standard error of 24 draws; that of the difference has our own draws in it.
        allowed = 0.02 * mean + 3 * error * (1 + 24 / seeds) ** 0.5
        assert found == pytest.approx(mean, abs=allowed), severity


@pytest.mark.parametrize("name", NAMES)
def test_size_decides_the_strengths(clean: Images, name: str) -> None:
    for side, table in ((63, CIFAR_C), (64, IMAGENET_C)):
        images = clean[:2, :side, :90]
        expected = table[name].levels[2](images, Draws(0, name, 3, first=0, count=2))
        np.testing.assert_array_equal(corrupt(images, name, 3, seed=0), expected)


@pytest.mark.parametrize("name", NAMES)
def test_batch_equals_one_by_one(clean: Images, name: str) -> None:
    small = clean[:3, :64, :72]  # three images of this size are damaged at once
    batch = corrupt(small, name, 4, seed=4, first=7)
    alone = [corrupt(small[i : i + 1], name, 4, seed=4, first=7 + i)[0] for i in range(3)]
    np.testing.assert_array_equal(batch, np.stack(alone))


def test_glass_copies_as_a_loop_from_the_last_pixel_would() -> None:
    random = np.random.default_rng(0)
    origin = random.integers(0, 60, (2, 60))
    for places, ends in zip(origin, followed(origin), strict=True):
        values = np.arange(60)
        for place in range(59, -1, -1):
            values[place] = values[places[place]]
        np.testing.assert_array_equal(ends, values)


@pytest.mark.parametrize("radius", [3, 6, 8, 10])
def test_lens_keeps_the_light(radius: int) -> None:
    kernel = lens(radius, 0.5)
    assert kernel.shape == (2 * radius + (3 if radius < 8 else 1),) * 2
    assert kernel.sum() == pytest.approx(1.0, abs=0.02)  # the rim that is cut off was mirrored instead
    np.testing.assert_allclose(kernel, kernel[::-1].T, atol=1e-15)
