"""Random numbers that depend on one seed and a purpose alone, never on what was drawn before.

Types of numpy.random are quoted here, so that it is loaded when something is drawn.
"""

import hashlib
from collections.abc import Callable
from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt


def derived(seed: int, *purpose: str | int) -> int:
    """Return a seed between 0 and 2**63 - 1 for one purpose, the same in every process and on every machine.

    >>> derived(0, "fog", 3) == derived(0, "fog", 3), derived(0, "fog", 3) == derived(0, "fog", 4)
    (True, False)
    """
    # repr keeps ("a", "b") apart from ("ab",); int() first, since numpy's integers have a repr of their own.
    parts = tuple(part if isinstance(part, str) else int(part) for part in (seed, *purpose))
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class Draws:
    """Random numbers for the samples `first` to `first + count - 1`; each method returns (count, *shape).

    Sample number i has its own generator, seeded with (seed, corruption, severity, i). So what happens to it
    does not depend on its batch: a dataset may be corrupted in pieces, with the same result.

    >>> pair, one = Draws(7, "fog", 3, first=0, count=2), Draws(7, "fog", 3, first=1, count=1)
    >>> bool(pair.uniform(0, 1, (4,))[1, 0] == one.uniform(0, 1, (4,))[0, 0])
    True
    """

    def __init__(self, seed: int, corruption: str, severity: int, *, first: int, count: int) -> None:
        self.key = (seed, crc32(corruption.encode()), severity)
        self.numbers = range(first, first + count)

    @cached_property
    def generators(self) -> "list[np.random.Generator]":
        """One generator for each sample; made on first use, since half of the corruptions draw nothing."""
        return [np.random.default_rng((*self.key, number)) for number in self.numbers]

    def uniform(self, low: float, high: float, shape: tuple[int, ...] = ()) -> npt.NDArray[np.float64]:
        """Return numbers spread evenly over [low, high)."""
        return self._stack(lambda generator: generator.uniform(low, high, shape))

    def normal(self, mean: float, deviation: float, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Return normally distributed numbers."""
        return self._stack(lambda generator: generator.normal(mean, deviation, shape))

    def poisson(self, mean: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return counts whose expectations are `mean`, (count, *shape)."""
        pairs = zip(self.generators, mean, strict=True)
        return np.stack([generator.poisson(part) for generator, part in pairs]).astype(np.float64)

    def _stack(
        self, draw: "Callable[[np.random.Generator], npt.NDArray[np.float64] | float]"
    ) -> npt.NDArray[np.float64]:
        return np.stack([np.asarray(draw(generator)) for generator in self.generators])
