"""Random numbers for a batch, drawn image by image.

Image number i gets its own generator, seeded with (seed, corruption, severity, i). So what happens to an
image does not depend on its batch: a data set may be corrupted in pieces, with the same result.
"""

from collections.abc import Callable
from functools import cached_property
from zlib import crc32

import numpy as np

from leantta.data.corruptions.pixels import Floats


class Draws:
    """The generators of images `first` to `first + count - 1`; each method returns (count, *shape).

    >>> pair, one = Draws(7, "fog", 3, first=0, count=2), Draws(7, "fog", 3, first=1, count=1)
    >>> bool(pair.uniform(0, 1, (4,))[1, 0] == one.uniform(0, 1, (4,))[0, 0])
    True
    """

    def __init__(self, seed: int, corruption: str, severity: int, *, first: int, count: int) -> None:
        self.key = (seed, crc32(corruption.encode()), severity)
        self.numbers = range(first, first + count)

    @cached_property
    def generators(self) -> list[np.random.Generator]:
        """One generator for each image; made on first use, since half of the corruptions draw nothing."""
        return [np.random.default_rng((*self.key, number)) for number in self.numbers]

    def uniform(self, low: float, high: float, shape: tuple[int, ...] = ()) -> Floats:
        """Return numbers spread evenly over [low, high)."""
        return self._stack(lambda generator: generator.uniform(low, high, shape))

    def normal(self, mean: float, deviation: float, shape: tuple[int, ...]) -> Floats:
        """Return normally distributed numbers."""
        return self._stack(lambda generator: generator.normal(mean, deviation, shape))

    def poisson(self, mean: Floats) -> Floats:
        """Return counts whose expectations are `mean`, (count, *shape)."""
        pairs = zip(self.generators, mean, strict=True)
        return np.stack([generator.poisson(part) for generator, part in pairs]).astype(np.float64)

    def _stack(self, draw: Callable[[np.random.Generator], Floats | float]) -> Floats:
        return np.stack([np.asarray(draw(generator)) for generator in self.generators])
