"""Images of any size as a model takes them: scaled to cover its input, cut in the centre.

Scaling is a weighted mean with a triangle as the weight, as wide as one pixel of the coarser image to each
side: linear interpolation when enlarging, antialiased when shrinking. It is our own code so that a device
with another version of an imaging library, or with none, gives the same pixels.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError

Pixels = npt.NDArray[np.uint8]
Weights = npt.NDArray[np.float32]


def cover(image: Pixels, height: int, width: int) -> Pixels:
    """Return the image (h, w, c) scaled until it covers height x width, its centre cut out at that size.

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
