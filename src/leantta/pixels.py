"""Images kept as they were given, as bytes; a model's floats are made of them batch by batch.

Float images of 224 x 224 pixels take 0.6 MB each, four times their bytes, and fitting holds several copies.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Pixels:
    """Images that a model takes as pixel * scale + offset: a batch of it has the methods of a tensor."""

    images: Tensor  # uint8 (m, h, w, c)
    rows: Tensor  # (n,): which of them, in which order
    scale: Tensor  # (c,)
    offset: Tensor  # (c,)

    @classmethod
    def of(cls, images: Tensor, scale: Tensor, offset: Tensor) -> "Pixels":
        """Return all of some images.

        >>> two = Pixels.of(torch.zeros(2, 8, 8, 3, dtype=torch.uint8), torch.ones(3), torch.ones(3))
        >>> two.shape, len(two[:1]), float(two.floats().mean())
        ((2, 3, 8, 8), 1, 1.0)
        """
        return cls(images, torch.arange(len(images)), scale, offset)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the floats, (n, c, h, w)."""
        height, width, channels = self.images.shape[1:]
        return (len(self), channels, height, width)

    def __getitem__(self, which: "Tensor | slice | npt.NDArray[np.intp]") -> "Pixels":
        """Return some of the images; no byte is copied."""
        return Pixels(self.images, self.rows[which], self.scale, self.offset)

    def split(self, sizes: int | Sequence[int]) -> tuple["Pixels", ...]:
        """Return the images in parts of a size, or of several."""
        parts = self.rows.split(sizes if isinstance(sizes, int) else list(sizes))
        return tuple(Pixels(self.images, rows, self.scale, self.offset) for rows in parts)

    def chunk(self, count: int) -> tuple["Pixels", ...]:
        """Return the images in so many parts."""
        return self.split(-(-len(self) // count))

    def bytes(self) -> Tensor:
        """Return the pixels, uint8 (n, h, w, c)."""
        return self.images[self.rows]

    def floats(self) -> Tensor:
        """Return the images as the model takes them: float32 (n, c, h, w)."""
        return (self.bytes() * self.scale + self.offset).permute(0, 3, 1, 2).contiguous()


Inputs = Tensor | Pixels
"""A model's inputs: floats, or bytes that become floats."""


VALUES_AT_ONCE = 350_000
"""Values in a batch, at most: maps of large images are slow to allocate, and take much memory."""


def at_once(inputs: npt.NDArray[Any] | Inputs, most: int) -> int:
    """Return how many inputs to take in a batch, `most` if they are small.

    >>> at_once(torch.zeros(6, 3, 224, 224), 64), at_once(torch.zeros(6, 3, 32, 32), 64)
    (2, 64)
    """
    return max(1, min(most, VALUES_AT_ONCE // max(1, math.prod(inputs.shape[1:]))))


def floats(inputs: Inputs) -> Tensor:
    """Return inputs as the model takes them."""
    return inputs.floats() if isinstance(inputs, Pixels) else inputs


def joined_inputs(parts: Sequence[Inputs]) -> Inputs:
    """Return inputs one after the other, as bytes if all of them are."""
    first = parts[0]
    if not isinstance(first, Pixels) or not all(isinstance(part, Pixels) for part in parts):
        return torch.cat([floats(part) for part in parts])
    those = [part for part in parts if isinstance(part, Pixels)]
    if all(part.images is first.images for part in those):
        return Pixels(first.images, torch.cat([part.rows for part in those]), first.scale, first.offset)
    return Pixels.of(torch.cat([part.bytes() for part in those]), first.scale, first.offset)
