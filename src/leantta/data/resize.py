"""Images made larger, smaller, or cut: by the rules of torchvision, with Pillow, as training code does it.

`cover` is the exception. Files that carry no description of their preprocessing mean it, so it stays as it
was, to the bit: scaling is a weighted mean with a triangle as the weight, as wide as one pixel of the coarser
image to each side.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.words import Interpolation, Side, Size
from leantta.errors import DataError

Pixels = npt.NDArray[np.uint8]
Weights = npt.NDArray[np.float32]

MAX_PIXELS = 89_478_485
"""An image with more pixels is taken for an attack, as Pillow takes it."""

MAX_SCALED = 2**28
"""More pixels than that are not made on the way: a very long and thin image is refused instead."""


def scaled_size(old: Size, resize: int | Size | None, side: Side = "short") -> Size:
    """Return the height and width that an image gets: those given, or one side and the other in proportion.

    For the short side the rule is torchvision's, which cuts off; for the long side timm's, which rounds.

    >>> scaled_size((300, 500), 256), scaled_size((300, 500), 256, "long"), scaled_size((300, 500), (8, 9))
    ((256, 426), (154, 256), (8, 9))
    """
    if resize is None or isinstance(resize, tuple):
        return resize or old
    short, long = min(old), max(old)
    if side == "short":
        given, other = short, int(resize * long / short)
    else:
        given, other = long, max(1, round(short * resize / long))
    return (resize, other) if old[0] == given else (other, resize)


def scaled(image: Pixels, size: Size, interpolation: Interpolation) -> Pixels:
    """Return an image (h, w, 3) at another size; all but `nearest` are antialiased when shrinking.

    Pillow 13 takes an image that becomes much lower than it was first down, then across, which changes pixels
    by up to three levels. Here it is always first across, so every version gives the same pixels.

    Raises:
        DataError: so many pixels would come out that it must be a mistake.
    """
    if size == image.shape[:2]:
        return image
    if max(size[0], image.shape[0]) * size[1] > MAX_SCALED:
        old = f"{image.shape[0]} x {image.shape[1]}"
        raise DataError(f"an image of {old} pixels would become {size[0]} x {size[1]}. Cut it before.")
    from PIL import Image  # here, not above: predictions on arrays do without it

    filter_ = Image.Resampling[interpolation.upper()]
    picture = Image.fromarray(image)
    if interpolation != "nearest":
        picture = picture.resize((size[1], image.shape[0]), filter_)  # first across, as Pillow did up to 12
    return np.asarray(picture.resize(size[::-1], filter_))


def padded(image: Pixels, size: Size, fill: int | tuple[int, ...]) -> Pixels:
    """Return an image (h, w, 3) in the middle of a plain one, if it is smaller than `size`."""
    height, width = image.shape[:2]
    if height >= size[0] and width >= size[1]:
        return image
    whole = np.empty((max(height, size[0]), max(width, size[1]), 3), np.uint8)
    whole[:] = fill
    top, left = (whole.shape[0] - height) // 2, (whole.shape[1] - width) // 2
    whole[top : top + height, left : left + width] = image
    return whole


def centre(image: Pixels, size: Size) -> Pixels:
    """Return the middle of an image (h, w, 3), by the rule of torchvision where it is not exact.

    Raises:
        DataError: the image is smaller.
    """
    height, width = image.shape[:2]
    if height < size[0] or width < size[1]:
        raise DataError(
            f"{size[0]} x {size[1]} is to be cut out of an image of {height} x {width} pixels. Give a larger "
            "resize, or a pad."
        )
    top, left = round((height - size[0]) / 2), round((width - size[1]) / 2)
    return image[top : top + size[0], left : left + size[1]]


def cover(image: Pixels, height: int, width: int) -> Pixels:
    """Return the image (h, w, c) scaled until it covers height x width, its centre cut out at that size.

    It is our own code, so that a file without a description of its preprocessing sees the same pixels with
    every version of an imaging library.

    >>> cover(np.zeros((90, 40, 3), dtype=np.uint8), 32, 32).shape
    (32, 32, 3)

    Raises:
        DataError: it is not an image, or has no pixels.
    """
    if image.ndim != 3 or not image.size or image.dtype != np.uint8:
        raise DataError(f"an image is uint8 (h, w, c); this is {image.dtype} of shape {image.shape}.")
    old = image.shape[:2]
    if old == (height, width):
        return image
    scale = max(height / old[0], width / old[1])
    first_row, rows = _taps(old[0], max(height, round(old[0] * scale)), height)
    first_column, columns = _taps(old[1], max(width, round(old[1] * scale)), width)
    left, right = int(first_column.min()), int(first_column.max()) + columns.shape[1]
    lines = _blended(image[:, left:right], first_row, rows)  # (height, right - left, c)
    result = _blended(lines.transpose(1, 0, 2), first_column - left, columns)  # (width, height, c)
    return np.ascontiguousarray(np.rint(result).clip(0, 255).transpose(1, 0, 2), dtype=np.uint8)


def luminance(image: Pixels) -> Pixels:
    """Return how bright each pixel of an RGB image (h, w, 3) is, (h, w, 1), by ITU-R BT.601.

    >>> luminance(np.array([[[255, 255, 255], [255, 0, 0]]], dtype=np.uint8)).ravel()
    array([255,  76], dtype=uint8)
    """
    weights = np.array([19595, 38470, 7471], np.uint32)  # .299, .587, .114 of 65536
    bright = (image.astype(np.uint32) @ weights + 32768) >> 16
    return bright.astype(np.uint8)[..., None]


def _taps(old: int, new: int, kept: int) -> tuple[npt.NDArray[np.int64], Weights]:
    """Return which old pixels make each kept one, when `old` pixels become `new` and the middle `kept` stay.

    The first is the number of the first old pixel, (kept,); the second the weights from there, (kept, taps).
    """
    ratio = old / new
    reach = max(ratio, 1.0)
    taps = min(old, int(np.ceil(2 * reach)) + 1)
    centres = (np.arange(kept) + (new - kept) // 2 + 0.5) * ratio  # in old pixels, from the edge
    first = np.clip(np.floor(centres - reach + 0.5), 0, old - taps).astype(np.int64)
    places = first[:, None] + np.arange(taps) + 0.5
    weights = np.maximum(0, 1 - np.abs(places - centres[:, None]) / reach)
    return first, (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _blended(values: npt.NDArray[Any], first: npt.NDArray[np.int64], weights: Weights) -> Weights:
    """Return weighted sums along the first axis; tap by tap, so that no library's order of adding matters."""
    total = np.zeros((len(first), *values.shape[1:]), np.float32)
    for tap in range(weights.shape[1]):
        total += weights[:, tap, None, None] * values[first + tap]
    return total
