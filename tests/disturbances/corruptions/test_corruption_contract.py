"""Every corruption of the table keeps the contract of `corrupt`, on photographs of the CIFAR-10 test set."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leantta.disturbances.corruptions.apply import corrupt
from leantta.disturbances.corruptions.names import FAMILIES, SEVERITIES
from leantta.disturbances.corruptions.pixels import Images
from leantta.disturbances.corruptions.strengths import CIFAR_C
from leantta.errors import DataError, SettingError

CELLS = [(name, severity) for name in CIFAR_C for severity in SEVERITIES]

# The benchmark's strengths do not rise in mean absolute change for these.
NOT_RISING = {
    "glass_blur": "the blur removes contrast before pixels move; a second round starts at severity 4",
    "frost": "from severity 4 on the scene is darker under about the same ice: nearer to the clean one",
    "elastic_transform": "the whole image tilts less as its parts are torn more",
    "spatter": "mud, from severity 4 on, covers less than the water of severity 3",
    "saturate": "1 and 2 take colour away, 3 to 5 add it",
}


@pytest.fixture(scope="module")
def photos(sample: Path) -> Images:
    with np.load(sample) as file:
        images: Images = file["x_test"][:95]
    images.flags.writeable = False  # a corruption that edits its input fails every test here
    return images


def test_table_lists_the_benchmark_once() -> None:
    assert len(CIFAR_C) == 19
    assert sorted(name for names in FAMILIES.values() for name in names) == sorted(CIFAR_C)


@pytest.mark.parametrize(("name", "severity"), CELLS)
def test_batch_equals_one_by_one(photos: Images, name: str, severity: int) -> None:
    batch = corrupt(photos[:3], name, severity, seed=4, first=7)
    assert batch.shape == (3, 32, 32, 3)
    assert batch.dtype == np.uint8
    for place in range(3):
        alone = corrupt(photos[place : place + 1], name, severity, seed=4, first=7 + place)
        np.testing.assert_array_equal(alone[0], batch[place])


@pytest.mark.parametrize("name", CIFAR_C)
def test_seed_decides(photos: Images, name: str) -> None:
    first, again, other = (corrupt(photos[:2], name, 3, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.array_equal(first, other) is not CIFAR_C[name].random


@pytest.mark.parametrize("name", [name for name in CIFAR_C if CIFAR_C[name].random])
def test_two_copies_of_an_image_differ(photos: Images, name: str) -> None:
    one, two = corrupt(photos[[0, 0]], name, 5, seed=0)
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("name", CIFAR_C)
def test_severity_grows(photos: Images, name: str) -> None:
    clean = photos.astype(np.int16)
    changes = [np.abs(corrupt(photos, name, level, seed=0) - clean).mean() for level in SEVERITIES]
    assert changes[0] > 0.5
    rises = all(low < high for low, high in pairwise(changes))
    assert rises is (name not in NOT_RISING), changes


@pytest.mark.parametrize("name", CIFAR_C)
@pytest.mark.parametrize("size", [(24, 40), (40, 24), (16, 16), (33, 17), (150, 210)])
def test_other_sizes(name: str, size: tuple[int, int]) -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, *size, 3), dtype=np.uint8)
    for severity in (1, 3, 5):
        assert corrupt(images, name, severity, seed=0).shape == images.shape


def test_large_batch_is_done_in_pieces() -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    whole = corrupt(images, "shot_noise", 2, seed=0)
    np.testing.assert_array_equal(whole[39:], corrupt(images[39:], "shot_noise", 2, seed=0, first=39))


# Flat, black and white images are where divisions by zero hide; arrays() shrinks towards them.
@settings(max_examples=60, deadline=None)
@given(
    image=arrays(np.uint8, st.tuples(st.integers(16, 36), st.integers(16, 36), st.just(3))),
    cell=st.sampled_from(CELLS),
    seed=st.integers(0, 2**63),
)
def test_any_image_is_corrupted(image: Images, cell: tuple[str, int], seed: int) -> None:
    name, severity = cell
    with np.errstate(all="raise", under="ignore"):  # NaN would become a silent 0 in bytes
        damaged = corrupt(image[None], name, severity, seed=seed)
    assert damaged.shape == (1, *image.shape)
    assert damaged.dtype == np.uint8


@pytest.mark.parametrize(("name", "severity"), CELLS)
@pytest.mark.parametrize("value", [0, 255])
def test_flat_images(name: str, severity: int, value: int) -> None:
    with np.errstate(all="raise", under="ignore"):
        corrupt(np.full((2, 32, 32, 3), value, dtype=np.uint8), name, severity, seed=1)


GOOD = np.zeros((1, 32, 32, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("images", "says"),
    [
        (GOOD.astype(np.float32), "float32, not uint8"),
        (GOOD[0], r"shape \(32, 32, 3\)"),
        (GOOD.transpose(0, 3, 1, 2), r"shape \(1, 3, 32, 32\)"),
        (GOOD[:0], "no image"),
        (GOOD[:, :15], "15x32"),
    ],
)
def test_bad_images_are_refused(images: Images, says: str) -> None:
    with pytest.raises(DataError, match=says):
        corrupt(images, "fog", 1, seed=0)


@pytest.mark.parametrize(
    ("name", "severity", "seed", "says"),
    [
        ("smog", 1, 0, "'smog'; there are gaussian_noise"),
        ("fog", 0, 0, "severity 0 of fog"),
        ("fog", 6, 0, "severity 6 of fog"),
        ("fog", 1, -1, "seed -1"),
    ],
)
def test_bad_settings_are_refused(name: str, severity: int, seed: int, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        corrupt(GOOD, name, severity, seed=seed)
