"""How pixels enter and leave a corruption: bytes in, floats in [0, 1] inside, bytes out."""

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
"""Bytes, (n, height, width, 3)."""

Floats = NDArray[np.float64]
"""Whatever a corruption computes with; its shape is said where it is used."""


def to_unit(images: Images) -> Floats:
    """Return the bytes as floats in [0, 1]."""
    return images / 255.0


def to_bytes(unit: Floats) -> Images:
    """Return floats as bytes, clipped to [0, 1] and cut off, not rounded: the benchmark cuts off too.

    >>> to_bytes(np.array([-0.5, 0.5, 0.9999, 2.0]))
    array([  0, 127, 254, 255], dtype=uint8)
    """
    return (np.clip(unit, 0.0, 1.0) * 255).astype(np.uint8)
