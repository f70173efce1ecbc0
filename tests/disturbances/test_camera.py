"""The shifts that the gate is tuned on: none of those that are reported, and stronger at higher severity."""

import hashlib

import numpy as np
import pytest

from leantta.disturbances.camera import CAMERA_SHIFTS, disturb, shifted
from leantta.disturbances.corruptions.names import NAMES, SEVERITIES
from leantta.errors import DataError, SettingError
from leantta_lab.datasets.cifar import load_images
from leantta_lab.samples import CIFAR10_SAMPLE


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return load_images(CIFAR10_SAMPLE).samples[:100]


def test_no_shift_is_reported():
    assert not set(CAMERA_SHIFTS) & set(NAMES)


@pytest.mark.parametrize("name", CAMERA_SHIFTS)
def test_severity_grows(name, images):
    plain = images[:20].astype(np.float64)
    changes = [
        np.abs(np.clip(level(plain, np.random.default_rng(0)), 0, 255) - plain).mean()
        for level in CAMERA_SHIFTS[name].levels
    ]
    assert len(changes) == len(SEVERITIES)
    assert changes[0] > 0.5
    assert changes == sorted(changes)


def test_images_take_turns_and_a_seed_repeats(images):
    found = shifted(images)
    assert (found.shape, found.dtype) == (images.shape, np.uint8)
    assert np.array_equal(found, shifted(images))
    assert all((one != other).any() for one, other in zip(found, images, strict=True))
    alone = CAMERA_SHIFTS["underexposed"].levels[0](
        images[[0, 50]].astype(np.float64), np.random.default_rng(0)
    )
    assert np.array_equal(found[[0, 50]], np.round(alone).astype(np.uint8))


def test_the_images_are_those_that_the_gate_was_tuned_on(images):
    digest = hashlib.sha256(shifted(images, 3).tobytes()).hexdigest()
    assert digest == "538c9479ae0d024ddbd61e663fab76595bd8c4a61d0117279eb588c477b38ac2"


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", CAMERA_SHIFTS)
def test_an_image_depends_on_nothing_but_itself_its_number_and_the_seed(name, severity, images):
    together = disturb(images[:4], name, severity, seed=3, first=5)
    assert (together.shape, together.dtype) == (images[:4].shape, np.uint8)
    for i in range(4):
        alone = disturb(images[i : i + 1], name, severity, seed=3, first=5 + i)
        np.testing.assert_array_equal(alone, together[i : i + 1])
    other = disturb(images[:4], name, severity, seed=4, first=5)
    assert np.array_equal(other, together) is not CAMERA_SHIFTS[name].random


def test_what_cannot_be_disturbed_is_refused(images):
    with pytest.raises(SettingError, match="no camera shift is called 'fog'"):
        disturb(images, "fog", 1, seed=0)
    with pytest.raises(SettingError, match="severity 6"):
        disturb(images, "haze", 6, seed=0)
    with pytest.raises(DataError, match="not uint8"):
        disturb(images / 255, "haze", 1, seed=0)
