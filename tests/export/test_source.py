"""Images that cannot tell what is usual are refused before any work is done."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from export.models import MEAN, STD, given, pixels, small
from leantta.errors import DataError, SettingError
from leantta.export.calibration import LEAST, check_calibration
from leantta.export.source import state_sha256

IMAGES, INPUTS = pixels(LEAST), given(pixels(LEAST)).numpy()
PIXELS = (MEAN, STD)


def with_value(value: float) -> NDArray[np.float32]:
    found = INPUTS.copy()
    found[3, 1, 2, 0] = value
    return found


FLAT = np.zeros_like(IMAGES)
RAMP = np.broadcast_to(np.arange(LEAST, dtype=np.uint8)[:, None, None, None], IMAGES.shape)

REFUSED: dict[str, tuple[NDArray[np.generic], bool, str]] = {
    "none": (IMAGES[:0], True, "0 calibration inputs were given; ranges need at least 16"),
    "one": (IMAGES[:1], True, "1 calibration inputs were given"),
    "too few": (IMAGES[: LEAST - 1], True, "15 calibration inputs"),
    "no inputs": (INPUTS[:0], False, "0 calibration inputs"),
    "identical": (np.repeat(IMAGES[:1], 20, axis=0), True, "all 20 calibration inputs are the same"),
    "black": (FLAT, True, "are the same"),
    "constant each": (RAMP, True, "has one value only"),
    "not a number": (with_value(np.nan), False, "NaN or infinite"),
    "infinite": (with_value(-np.inf), False, "NaN or infinite"),
    "floats as images": (INPUTS, True, r"are uint8 \(n, height, width, channels\) .*; these are float32"),
    "one image without a batch": (IMAGES[0], True, r"these are uint8 \(12, 12, 3\)"),
    "channels first": (IMAGES.transpose(0, 3, 1, 2), True, "mean and std have 3 channels.* images 12"),
    "gray": (IMAGES[..., :1], True, "have 3 channels, the calibration images 1"),
    "with transparency": (np.concatenate([IMAGES, IMAGES[..., :1]], -1), True, "3 channels.* 4"),
    "pixels without mean": (IMAGES, False, "these are uint8. Pass mean and std"),
    "whole numbers": (IMAGES.astype(np.int64), False, "these are int64"),
    "truths": (IMAGES > 100, False, "these are bool"),
    "complex": (INPUTS.astype(np.complex64), False, "these are complex64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_images_that_cannot_be_used_are_refused(name: str) -> None:
    images, normalised, message = REFUSED[name]
    with pytest.raises(DataError, match=message) as caught:
        check_calibration(images, PIXELS if normalised else None, "tensor")
    assert "\n" not in str(caught.value)


def test_preprocessing_inside_needs_mean_and_std() -> None:
    with pytest.raises(SettingError, match="needs the mean and std"):
        check_calibration(INPUTS, None, "image")


@pytest.mark.parametrize("kind", ["tensor", "image"])
def test_ordinary_images_pass(kind: str) -> None:
    check_calibration(IMAGES, PIXELS, kind)


@pytest.mark.parametrize("inputs", [INPUTS, INPUTS.reshape(LEAST, -1), INPUTS.reshape(LEAST, 3, -1)])
def test_ordinary_inputs_of_any_rank_pass(inputs: NDArray[np.float32]) -> None:
    check_calibration(inputs, None, "tensor")


def test_one_odd_image_among_equals_is_enough() -> None:
    images = FLAT.copy()
    images[5] = IMAGES[5]
    check_calibration(images, PIXELS, "tensor")


def test_the_state_hash_is_of_names_and_values() -> None:
    first, second = small(), small()
    assert state_sha256(first) == state_sha256(second)
    with torch.no_grad():
        second.head.bias[0] += 1e-6
    assert state_sha256(first) != state_sha256(second)
    assert len(state_sha256(first)) == 64
