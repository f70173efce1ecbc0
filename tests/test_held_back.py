"""The shifts that the gate is tuned on: none of those that are reported, and stronger at higher severity."""

from pathlib import Path

import held_back
import numpy as np
import pytest

from leantta.data.cifar import load_images
from leantta.data.corruptions.names import NAMES

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return load_images(CHECKOUT / "examples" / "cifar10_sample.npz").images[:100]


def test_no_shift_is_reported():
    assert not set(held_back.SHIFTS) & set(NAMES)


@pytest.mark.parametrize("name", held_back.SHIFTS)
def test_severity_grows(name, images):
    shift, plain = held_back.SHIFTS[name], images[:20].astype(np.float64)
    changes = [
        np.abs(np.clip(shift(plain, severity, np.random.default_rng(0)), 0, 255) - plain).mean()
        for severity in range(held_back.SEVERITIES)
    ]
    assert changes[0] > 0.5
    assert changes == sorted(changes)


def test_images_take_turns_and_a_seed_repeats(images):
    found = held_back.shifted(images)
    assert (found.shape, found.dtype) == (images.shape, np.uint8)
    assert np.array_equal(found, held_back.shifted(images))
    assert all((one != other).any() for one, other in zip(found, images, strict=True))
    alone = held_back.SHIFTS["underexposed"](images[[0, 50]].astype(np.float64), 0, np.random.default_rng(0))
    assert np.array_equal(found[[0, 50]], np.round(alone).astype(np.uint8))
