"""Scaling against Pillow, and by the properties that it must have."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from leantta.data.resize import cover, luminance
from leantta.errors import DataError

Array = np.ndarray[Any, np.dtype[Any]]


def picture(height: int, width: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def by_pillow(image: Array, height: int, width: int) -> Array:
    """The same in Pillow: scale the whole image, then cut."""
    scale = max(height / image.shape[0], width / image.shape[1])
    size = max(width, round(image.shape[1] * scale)), max(height, round(image.shape[0] * scale))
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    scaled = Image.fromarray(image).resize(size, Image.Resampling.BILINEAR)
    return np.array(scaled.crop((left, top, left + width, top + height)))


@settings(max_examples=200, deadline=None)
@given(
    old=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    new=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    seed=st.integers(0, 1000),
)
def test_any_size_comes_out_as_from_pillow(old: tuple[int, int], new: tuple[int, int], seed: int) -> None:
    image = picture(*old, seed)
    found = cover(image, *new)
    assert found.shape == (*new, 3)
    assert found.dtype == np.uint8
    difference = np.abs(found.astype(int) - by_pillow(image, *new))
    assert difference.max() <= 1  # Pillow rounds between its two passes


def test_the_right_size_is_left_alone() -> None:
    image = picture(32, 32)
    np.testing.assert_array_equal(cover(image, 32, 32), image)


def test_a_little_too_much_is_cut_off_not_blurred() -> None:
    image = picture(32, 35)
    np.testing.assert_array_equal(cover(image, 32, 32), image[:, 1:33])
    np.testing.assert_array_equal(cover(image.transpose(1, 0, 2), 32, 32), image.transpose(1, 0, 2)[1:33])


def test_plain_colors_stay_plain() -> None:
    image = np.full((501, 333, 3), (255, 7, 0), np.uint8)
    np.testing.assert_array_equal(cover(image, 32, 32), np.broadcast_to(image[0, 0], (32, 32, 3)))


def test_fine_stripes_do_not_alias() -> None:
    image = np.zeros((320, 320, 3), np.uint8)
    image[:, ::2] = 255
    assert np.abs(cover(image, 32, 32).astype(int) - 127).max() < 16  # nearest pixels would be 0 or 255


@pytest.mark.parametrize("shape", [(1, 10_000), (10_000, 1), (1, 1)])
def test_extreme_shapes(shape: tuple[int, int]) -> None:
    assert cover(picture(*shape), 32, 48).shape == (32, 48, 3)


def test_a_screen_full_is_scaled_quickly() -> None:
    image = picture(1080, 1920)
    started = time.process_time()
    cover(image, 224, 224)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8), np.zeros((4, 4, 3), np.float32)]
)
def test_other_arrays_are_refused(image: Array) -> None:
    with pytest.raises(DataError, match="an image is uint8"):
        cover(image, 32, 32)


def test_luminance_is_pillows() -> None:
    image = picture(50, 60)
    np.testing.assert_array_equal(luminance(image)[..., 0], np.array(Image.fromarray(image).convert("L")))
