"""Images and labels of unknown origin are looked at before they are used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from leantta.data.datasets import Dataset, as_labels, as_pixels, model_inputs
from leantta.errors import DataError


def with_value(value: float) -> np.ndarray:
    images = np.zeros((3, 4, 4, 3), dtype=np.float32)
    images[1, 2, 2, 0] = value
    return images


BAD_IMAGES: dict[str, tuple[np.ndarray, str]] = {
    "grey": (np.zeros((3, 4, 4), np.uint8), "these have \\(3, 4, 4\\)"),
    "one image": (np.zeros((4, 4, 3), np.uint8), "must have the shape"),
    "colours first": (np.zeros((3, 3, 4, 4), np.uint8), r"transpose\(0, 2, 3, 1\)"),
    "four channels": (np.zeros((3, 4, 4, 4), np.uint8), "must have the shape"),
    "none": (np.zeros((0, 4, 4, 3), np.uint8), "n > 0"),
    "wide integers": (np.zeros((3, 4, 4, 3), np.int64), "these are int64"),
    "objects": (np.zeros((3, 4, 4, 3), object), "these are object"),
    "NaN": (with_value(np.nan), "image 1 has NaN"),
    "infinity": (with_value(np.inf), "image 1 has NaN or infinite"),
    "bytes as floats": (with_value(255.0), "Divide them by 255"),
    "normalized": (with_value(-1.5), "before normalization"),
}


@pytest.mark.parametrize("name", BAD_IMAGES)
def test_bad_images_are_explained(name: str) -> None:
    images, message = BAD_IMAGES[name]
    with pytest.raises(DataError, match=message):
        as_pixels(images)


BAD_LABELS: dict[str, tuple[np.ndarray, str]] = {
    "too few": (np.zeros(2, int), "3 samples need 3 labels"),
    "one-hot": (np.zeros((3, 10), int), r"shape \(3, 10\)"),
    "floats": (np.zeros(3), "these are float64"),
    "too high": (np.array([0, 9, 10]), "label 2 is 10"),
    "negative": (np.array([-1, 0, 0]), "label 0 is -1"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels_are_explained(name: str) -> None:
    labels, message = BAD_LABELS[name]
    with pytest.raises(DataError, match=message):
        as_labels(labels, count=3, num_classes=10)
    with pytest.raises(DataError, match=message):
        Dataset.checked("mine", "test", np.zeros((3, 4, 4, 3), np.uint8), labels, tuple("0123456789"))


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 5), st.just(3))))
def test_pixels_survive_the_way_to_a_model_and_back(pixels: np.ndarray) -> None:
    inputs = model_inputs(pixels)
    assert inputs.dtype == np.float32
    assert inputs.flags.c_contiguous
    assert inputs.min() >= 0
    assert inputs.max() <= 1
    np.testing.assert_array_equal(as_pixels(inputs.transpose(0, 2, 3, 1)), pixels)
    assert inputs[0, 2, -1, 0] == np.float32(pixels[0, -1, 0, 2] / 255)
