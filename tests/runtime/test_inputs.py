"""What a session is given: the right things in both forms, and the usual mistakes."""

from typing import Any

import numpy as np
import pytest

from leantta.errors import DataError
from leantta.runtime.input_info import InputInfo
from leantta.runtime.inputs import prepare, single

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
NORMAL = InputInfo(kind="tensor", shape=(3, 6, 8), mean=MEAN, std=STD)
INSIDE = InputInfo(kind="image", shape=(3, 6, 8), mean=MEAN, std=STD)
SIGNAL = InputInfo(kind="signal", shape=(2, 5), mean=(1.0, -2.0), std=(0.5, 4.0))
PLAIN = InputInfo(kind="tensor", shape=(2, 5))
GREY = InputInfo(kind="image", shape=(1, 6, 8))

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 6, 8, 3), dtype=np.uint8)
FLOATS = np.ascontiguousarray(PIXELS.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


def test_both_forms_of_an_image_become_the_same() -> None:
    for info in (NORMAL, INSIDE):
        one, two = prepare(PIXELS, info), prepare(FLOATS, info)
        np.testing.assert_array_equal(one, two)
        assert one.flags.c_contiguous
    np.testing.assert_array_equal(prepare(FLOATS.astype(np.float64), INSIDE), PIXELS)


def test_normalization_is_the_formula() -> None:
    wanted = (PIXELS / 255.0 - np.array(MEAN)) / np.array(STD)
    found = prepare(PIXELS, NORMAL)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted.transpose(0, 3, 1, 2), rtol=0, atol=2e-6)


def test_the_caller_keeps_what_was_given() -> None:
    given = FLOATS.copy()
    prepare(given, NORMAL)
    np.testing.assert_array_equal(given, FLOATS)


def test_plain_models_take_any_finite_range() -> None:
    values = np.array([[[1e6, -3, 0, 2, 1], [0, 0, 0, 0, 5]]])
    found = prepare(values, PLAIN)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, values)


def test_signals_are_normalized_in_their_own_unit() -> None:
    values = np.random.default_rng(1).normal(0, 50, (3, 2, 5)).astype(np.float32)
    kept = values.copy()
    wanted = (values - np.array([[1.0], [-2.0]])) / np.array([[0.5], [4.0]])
    for given in (values, values.astype(np.float64), values[:, :, ::-1][:, :, ::-1]):
        found = prepare(given, SIGNAL)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_array_equal(values, kept)


@pytest.mark.parametrize(
    ("signals", "says"),
    [
        (np.zeros((3, 5, 2), np.float32), r"Channels come before time.*windows\.transpose\(0, 2, 1\)"),
        (np.zeros((2, 5), np.float32), r"batch axis is missing"),
        (np.zeros((3, 2, 6), np.float32), r"takes float32 of shape \(n, 2, 5\)"),
        (np.full((3, 2, 5), np.nan), "input 0 of the batch has NaN"),
        (np.zeros((3, 2, 5), np.uint8), "takes float32; this is uint8"),
    ],
)
def test_wrong_signals_are_explained(signals: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        prepare(signals, SIGNAL)


NAN = FLOATS.copy()
NAN[2, 0, 0, 0] = np.nan
INFINITE = FLOATS.copy()
INFINITE[1] = np.inf


@pytest.mark.parametrize("info", [NORMAL, INSIDE])
@pytest.mark.parametrize(
    ("images", "says"),
    [
        (PIXELS.transpose(0, 3, 1, 2), r"wrong place.*images\.transpose\(0, 2, 3, 1\)"),
        (FLOATS.transpose(0, 2, 3, 1), r"wrong place.*images\.transpose\(0, 3, 1, 2\)"),
        (PIXELS[0], r"batch axis is missing: give images\[None\]"),
        (FLOATS[0], r"batch axis is missing: give images\[None\]"),
        (PIXELS[:, :5], "Scale the images to 8x6"),
        (FLOATS[..., :7], "Scale the images to 8x6"),
        (PIXELS[..., :1], "has 3 channels"),
        (FLOATS[:, :1], "has 3 channels"),
        (PIXELS[:0], "batch is empty"),
        (FLOATS[:0], "batch is empty"),
        (PIXELS[0, 0], "Reshape"),
        (np.uint8(3), "Reshape"),
        (PIXELS.astype(np.int64), "uint8, or float between 0 and 1; this is int64"),
        (PIXELS > 3, "this is bool"),
        (PIXELS.astype(object), "this is object"),
        (FLOATS.astype(np.complex64), "this is complex64"),
        (PIXELS.astype(np.float32).transpose(0, 3, 1, 2), "Divide them by 255"),
        (FLOATS * 4 - 2, "before normalization"),
        (FLOATS - 0.01, "before normalization"),
        (NAN, "input 2 of the batch has NaN"),
        (INFINITE, "input 1 of the batch has NaN or infinite"),
    ],
)
def test_mistakes_with_images_are_explained(images: Any, info: InputInfo, says: str) -> None:
    with pytest.raises(DataError, match=says):
        prepare(images, info)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.zeros((1, 2, 5), np.uint8), "takes float32; this is uint8"),
        (np.zeros((2, 5)), "batch axis is missing"),
        (np.zeros((1, 5, 2)), "Reshape"),
        (np.zeros((0, 2, 5)), "empty"),
        (np.full((1, 2, 5), np.nan), "input 0 of the batch"),
        (np.full((1, 2, 5), 1e300), "infinite"),
    ],
)
def test_mistakes_with_other_inputs_are_explained(values: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        prepare(values, PLAIN)


def test_grey_images() -> None:
    assert prepare(PIXELS[..., :1], GREY).shape == (4, 6, 8, 1)
    with pytest.raises(DataError, match="has 1 channels"):
        prepare(PIXELS, GREY)


def test_one_image_has_no_batch_axis() -> None:
    assert single(PIXELS[0], NORMAL).shape == (1, 6, 8, 3)
    with pytest.raises(DataError, match=r"there is predict\(\)"):
        single(PIXELS, NORMAL)
    with pytest.raises(DataError, match="Reshape"):
        single(PIXELS[0, 0], NORMAL)
