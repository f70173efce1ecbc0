"""The parts of the corruptions against independent formulas: slow loops, the standard library, scipy."""

import colorsys
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from scipy import ndimage

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.apply import corrupt
from leantta.disturbances.corruptions.blur import lens
from leantta.disturbances.corruptions.pixels import (
    Images,
    Index,
    enlarge,
    mirrored,
    reflected,
    smear,
    to_bytes,
    trail,
    warp,
)
from leantta.disturbances.corruptions.spatter import equalized, outlines
from leantta.disturbances.corruptions.weather import plasma

Fold = Callable[[Index, int], Index]
Colour = tuple[float, float, float]


def noise(*shape: int) -> Images:
    return np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("size", [(32, 32), (24, 40), (17, 33)])
@pytest.mark.parametrize("factor", [1.0, 1.01, 1.07, 1.25, 1.75, 2.25])
def test_enlarge_is_the_middle_of_a_zoom(size: tuple[int, int], factor: float) -> None:
    layer = noise(*size) / 255.0
    expected = layer
    for axis, length in enumerate(size):
        part = int(np.ceil(length / factor))
        start = (length - part) // 2
        middle = np.take(expected, range(start, start + part), axis)
        zoomed = ndimage.zoom(middle, [factor if a == axis else 1 for a in (0, 1)], order=1)
        trim = (zoomed.shape[axis] - length) // 2
        expected = np.take(zoomed, range(trim, trim + length), axis)
    np.testing.assert_allclose(enlarge(layer[None], factor)[0], expected, atol=1e-12)


@pytest.mark.parametrize(("fold", "mode"), [(mirrored, "mirror"), (reflected, "reflect")])
def test_warp_is_linear_interpolation(fold: Fold, mode: Literal["mirror", "reflect"]) -> None:
    images = noise(2, 20, 28, 3) / 255.0
    rows, columns = np.random.default_rng(0).uniform(-15, 40, (2, 2, 20, 28))
    warped = warp(images, rows, columns, fold)
    for n in range(2):
        for c in range(3):
            at = np.stack([rows[n], columns[n]])
            expected = ndimage.map_coordinates(images[n, :, :, c], at, order=1, mode=mode)
            np.testing.assert_allclose(warped[n, :, :, c], expected, atol=1e-9)


@pytest.mark.parametrize("degrees", [-135.0, -90.0, -45.0, -20.0, 0.0, 33.0, 45.0])
def test_smear_sums_the_pixels_ahead(degrees: float) -> None:
    image = noise(16, 18, 3)
    weights = trail(4, 2.0)
    assert len(weights) == 9
    expected = np.zeros((16, 18, 3))
    for y in range(16):
        for x in range(18):
            for distance, weight in enumerate(weights):
                dy = int(np.ceil(distance * np.sin(np.deg2rad(degrees)) - 0.5))
                dx = int(np.ceil(distance * np.cos(np.deg2rad(degrees)) - 0.5))
                expected[y, x] += weight * image[min(max(y + dy, 0), 15), min(max(x + dx, 0), 17)]
    smeared = smear(image[None], radius=4, sigma=2.0, degrees=np.array([degrees]))
    np.testing.assert_array_equal(smeared[0], np.rint(expected))


@pytest.mark.parametrize(("name", "severity"), [("brightness", 2), ("brightness", 5)])
def test_brightness_raises_the_value(name: str, severity: int) -> None:
    amount = {2: 0.1, 5: 0.3}[severity]
    check_hsv(name, severity, lambda h, s, v: (h, s, min(v + amount, 1.0)))


@pytest.mark.parametrize(("severity", "factor", "offset"), [(1, 0.3, 0.0), (4, 2.0, 0.1), (5, 2.5, 0.2)])
def test_saturate_changes_the_saturation(severity: int, factor: float, offset: float) -> None:
    check_hsv("saturate", severity, lambda h, s, v: (h, min(s * factor + offset, 1.0), v))


def check_hsv(name: str, severity: int, change: Callable[[float, float, float], Colour]) -> None:
    """Compare with colorsys on random colours, greys and black; cutting off may differ by one."""
    image = noise(16, 16, 3)
    image[:4] = image[:4, :, :1]  # greys
    image[0] = 0
    damaged = corrupt(image[None], name, severity, seed=0)[0]
    for before, after in zip(image.reshape(-1, 3) / 255, damaged.reshape(-1, 3), strict=True):
        expected = np.array(colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*before))))
        assert np.abs(to_bytes(expected).astype(int) - after).max() <= 1


@pytest.mark.parametrize(("radius", "softness"), [(0.3, 0.4), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)])
def test_lens_keeps_the_light(radius: float, softness: float) -> None:
    kernel = lens(radius, softness)
    assert kernel.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(kernel, kernel.T[::-1, ::-1])


def test_plasma_spans_the_unit_and_falls_with_decay() -> None:
    soft, rough = (plasma(Draws(0, "fog", 1, first=0, count=8), 32, 32, decay=d) for d in (3.0, 1.75))
    for clouds in (soft, rough):
        np.testing.assert_allclose(clouds.min(axis=(1, 2)), 0.0, atol=1e-12)
        np.testing.assert_allclose(clouds.max(axis=(1, 2)), 1.0)
    # Wraps around: the step over the border is no larger than the steps inside.
    assert np.abs(soft[:, 0] - soft[:, -1]).mean() < 2 * np.abs(np.diff(soft, axis=1)).mean()
    assert np.abs(np.diff(rough, axis=1)).mean() > 1.5 * np.abs(np.diff(soft, axis=1)).mean()


def test_equalized_spreads_ranks() -> None:
    levels = np.array([[[3, 3, 5, 9], [9, 9, 9, 20]], [[7, 7, 7, 7], [7, 7, 7, 7]]])
    spread = equalized(levels)
    # Of the six pixels above the lowest level, 1 is at most 5, 5 at most 9, 6 at most 20.
    assert spread[0].tolist() == [
        [0, 0, np.rint(255 / 6), np.rint(255 * 5 / 6)],
        [*[np.rint(255 * 5 / 6)] * 3, 255],
    ]
    assert (spread[1] == 7).all()


def test_outlines_are_thin_and_stay_in_their_image() -> None:
    drops = np.zeros((2, 20, 20), dtype=np.uint8)
    drops[0, 6:14, 6:14] = 200
    edges = outlines(drops)
    assert not edges[1].any()
    inside = ndimage.binary_fill_holes(edges[0])
    assert abs(int(inside.sum()) - 64) <= 36  # the square, give or take one pixel on each side
    assert not edges[0, 9:11, 9:11].any()
    assert edges[0].sum() <= 40


def test_weak_edges_need_a_strong_one() -> None:
    faint = np.zeros((1, 20, 20), dtype=np.uint8)
    faint[0, :, 10:] = 30  # slope 4 * 30: above low, below high
    assert not outlines(faint).any()
    assert outlines(faint * 2).any()
