"""Random views of training images: shifted, mirrored, partly blanked."""

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Pixels

SHIFT = 4
"""How many pixels an image may be moved in each direction."""
GREY = 120
"""Close to the mean of the CIFAR images, which is zero for the network."""


def augmented(images: Pixels, generator: np.random.Generator, cutout: int) -> Pixels:
    """Return (n, h, w, 3) images, each moved by up to four pixels, mirrored or not, and with a grey square.

    What moves in from outside is black; the square has the side `cutout` and may reach over the border.
    """
    n, height, width, _ = images.shape
    padded = np.pad(images, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)))
    top, left = generator.integers(0, 2 * SHIFT + 1, (2, n, 1))
    rows = top + np.arange(height)  # (n, h)
    columns = left + np.arange(width)  # (n, w)
    mirrored = generator.random((n, 1)) < 0.5
    columns = np.where(mirrored, columns[:, ::-1], columns)
    views: Pixels = padded[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
    if cutout:
        blank = (
            _inside(generator, n, height, cutout)[:, :, None] & _inside(generator, n, width, cutout)[:, None]
        )
        views[blank] = GREY
    return views


def _inside(generator: np.random.Generator, n: int, length: int, cutout: int) -> npt.NDArray[np.bool_]:
    """Tell for each image which of `length` positions lie in its square, (n, length)."""
    start = generator.integers(0, length, (n, 1)) - cutout // 2
    position = np.arange(length)
    return (position >= start) & (position < start + cutout)
