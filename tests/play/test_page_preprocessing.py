"""A preprocessing in a file makes the pixels that Pillow makes, by the rules of torchvision and timm."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from play.node import in_node, needs_node

pytestmark = needs_node
Pixels = np.ndarray[Any, np.dtype[np.uint8]]

SIZED = """
import { coloured, sized } from "./preprocess.js";
result = given.map(({ name, height, width, input }) => {
  const data = new Uint8ClampedArray(readFileSync(name));
  try {
    return Array.from(coloured(sized({ width, height, channels: 3, data }, input), input).data);
  } catch (error) {
    return error.message;
  }
});
"""


def image(height: int, width: int) -> Pixels:
    return np.random.default_rng(height).integers(0, 256, (height, width, 3), np.uint8)


def in_page(folder: Path, pixels: Pixels, cases: list[tuple[dict[str, object], tuple[int, int, int]]]) -> Any:
    (folder / "some.raw").write_bytes(pixels.tobytes())
    height, width, _ = pixels.shape
    asked = [
        {
            "name": "some.raw",
            "height": height,
            "width": width,
            "input": {"preprocessing": how, "shape": shape},
        }
        for how, shape in cases
    ]
    return in_node(folder, SIZED, asked)


def by_pillow(pixels: Pixels, height: int, width: int, how: str) -> Pixels:
    chosen = Image.Resampling[how.upper()]
    picture = Image.fromarray(pixels)
    if how != "nearest":
        picture = picture.resize((width, pixels.shape[0]), chosen)
    return np.asarray(picture.resize((width, height), chosen))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic", "lanczos"])
def test_scaling_is_that_of_pillow(interpolation: str, tmp_path: Path) -> None:
    pixels = image(61, 97)
    sizes = [(24, 24), (61, 24), (200, 97), (7, 130), (61, 97), (1, 1)]
    cases: list[tuple[dict[str, object], tuple[int, int, int]]] = [
        ({"resize": list(size), "interpolation": interpolation}, (3, *size)) for size in sizes
    ]
    for size, found in zip(sizes, in_page(tmp_path, pixels, cases), strict=True):
        np.testing.assert_array_equal(found, by_pillow(pixels, *size, interpolation).ravel())


def test_one_side_the_crop_the_pad_and_the_colours_follow_the_description(tmp_path: Path) -> None:
    pixels = image(61, 97)
    short = by_pillow(pixels, 32, 50, "bilinear")  # 32 * 97 / 61 is 50.9, cut off
    long = by_pillow(pixels, 20, 32, "bicubic")  # 32 * 61 / 97 is 20.1
    around = np.full((40, 40, 3), (1, 2, 3), np.uint8)
    around[10:30, 4:36] = long
    middle = short[2:30, 11:39]
    grey = (middle.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32) + 32768) >> 16
    cases: list[tuple[dict[str, object], tuple[int, int, int]]] = [
        ({"resize": 32, "crop": [28, 28]}, (3, 28, 28)),
        ({"resize": 32, "crop": [28, 28], "colours": "bgr"}, (3, 28, 28)),
        ({"resize": 32, "crop": [28, 28], "colours": "grey"}, (1, 28, 28)),
        (
            {"resize": 32, "side": "long", "interpolation": "bicubic", "pad": [40, 40], "fill": [1, 2, 3]},
            (3, 40, 40),
        ),
    ]
    wanted = [middle, middle[..., ::-1], grey, around]
    for found, right in zip(in_page(tmp_path, pixels, cases), wanted, strict=True):
        np.testing.assert_array_equal(found, right.ravel())


def test_a_picture_that_does_not_fit_is_told(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, object], tuple[int, int, int]]] = [
        ({}, (3, 8, 8)),
        ({"crop": [80, 8]}, (3, 80, 8)),
        ({"resize": [8, 8], "interpolation": "unheard of"}, (3, 8, 8)),
    ]
    assert all(isinstance(each, str) for each in in_page(tmp_path, image(61, 97), cases))
