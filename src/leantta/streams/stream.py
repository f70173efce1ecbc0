"""Streams: images in the order in which a deployed model would meet them, each with its label and its domain.

A stream is fixed by the images, its builder's settings and one seed. Images are made batch by batch, when
asked for, so a long stream needs no more memory than a short one.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leantta.data.datasets import Inputs, Labels
from leantta.errors import SettingError

Setting = str | int | float


class Domain(NamedTuple):
    """What happened to an image; unchanged ones are ("clean", 0), another corpus is (its name, 0)."""

    corruption: str
    severity: int

    def __str__(self) -> str:
        """Return e.g. "fog/3", or "clean" for a domain without severities."""
        return f"{self.corruption}/{self.severity}" if self.severity else self.corruption


class Batch(NamedTuple):
    """A piece of a stream; `domain` holds the position of each input's domain in `Stream.domains`."""

    inputs: Inputs
    labels: Labels
    domain: Labels


@dataclass(frozen=True, eq=False, kw_only=True)
class Stream:
    """Inputs in a fixed order; `load` returns those at given positions, the same ones at each call."""

    name: str
    seed: int
    settings: Mapping[str, Setting]  # what the builder was told: with the seed, enough to build it again
    domains: tuple[Domain, ...]
    domain: Labels  # (n,) position in `domains`
    labels: Labels  # (n,)
    index: Labels  # (n,) which clean image, or which clip, it is
    load: Callable[[Labels], Inputs]

    def __len__(self) -> int:
        """Return the number of inputs."""
        return len(self.labels)

    def batches(self, batch_size: int, start: int = 0) -> Iterator[Batch]:
        """Yield the stream from position `start` on; the last batch may be smaller.

        Raises:
            SettingError: the batch size is below 1.
        """
        if batch_size < 1:
            raise SettingError(f"the batch size must be at least 1; it is {batch_size}.")
        for first in range(start, len(self), batch_size):
            part = slice(first, first + batch_size)
            yield Batch(self.load(np.arange(len(self))[part]), self.labels[part], self.domain[part])

    def describe(self) -> dict[str, object]:
        """Return what a record keeps of the stream: equal for equal streams, different for others."""
        order = hashlib.sha256(repr([tuple(domain) for domain in self.domains]).encode())
        for array in (self.domain, self.labels, self.index):
            order.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return {
            "name": self.name,
            "seed": self.seed,
            "settings": dict(self.settings),
            "inputs": len(self),
            "order_sha256": order.hexdigest(),
        }
