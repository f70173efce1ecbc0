"""Small memories of past inputs that stay even over the classes predicted for them.

Both hold at most `capacity` inputs and take one at a time. They differ in who leaves when a place is needed:
in `TimelyMemory` (RoTTA) the oldest and least sure, in `BalancedReservoir` (NOTE) one drawn by lot.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Kept(NamedTuple):
    """An input in a memory, when it came and how unsure its prediction was."""

    x: Tensor
    born: int
    doubt: float


class TimelyMemory:
    """Gives each class the same room; an input stays out if nothing that could leave scores worse than it.

    The score is 1 / (1 + exp(-age / capacity)) + doubt; the higher, the sooner an input leaves. An age is the
    number of inputs offered since.
    """

    def __init__(self, capacity: int, classes: int) -> None:
        self.capacity = capacity
        self.clock = 0
        self.shelves: list[list[Kept]] = [[] for _ in range(classes)]

    def add(self, x: Tensor, label: int, doubt: float) -> None:
        """Offer an input, its predicted class and its doubt: entropy as a share of the largest possible."""
        new = Kept(x.clone(), self.clock, doubt)
        if self._makes_room(label, self._score(new)):
            self.shelves[label].append(new)
        self.clock += 1

    def content(self) -> tuple[Tensor, Tensor]:
        """Return the inputs (m, ...) and their ages (m,) in multiples of the capacity."""
        kept = [item for shelf in self.shelves for item in shelf]
        ages = torch.tensor([(self.clock - item.born) / self.capacity for item in kept])
        return torch.stack([item.x for item in kept]), ages

    def _makes_room(self, label: int, score: float) -> bool:
        sizes = [len(shelf) for shelf in self.shelves]
        if sizes[label] >= self.capacity / len(sizes):
            return self._evict([label], score)
        if sum(sizes) < self.capacity:
            return True
        most = max(sizes)
        return self._evict([i for i, size in enumerate(sizes) if size == most], score)

    def _evict(self, labels: list[int], score: float) -> bool:
        places = [(label, i) for label in labels for i in range(len(self.shelves[label]))]
        label, i = max(places, key=lambda place: self._score(self.shelves[place[0]][place[1]]))
        if self._score(self.shelves[label][i]) <= score:
            return False
        del self.shelves[label][i]
        return True

    def _score(self, item: Kept) -> float:
        age = self.clock - item.born
        return 1 / (1 + math.exp(-age / self.capacity)) + item.doubt


class BalancedReservoir:
    """A reservoir sample of each predicted class; when full, the largest classes give way to the others."""

    def __init__(self, capacity: int, classes: int, generator: torch.Generator) -> None:
        self.capacity = capacity
        self.generator = generator
        self.seen = [0] * classes
        self.shelves: list[list[Tensor]] = [[] for _ in range(classes)]

    def add(self, x: Tensor, label: int) -> None:
        """Offer an input and its predicted class."""
        self.seen[label] += 1
        sizes = [len(shelf) for shelf in self.shelves]
        if sum(sizes) >= self.capacity:
            most = max(sizes)
            if sizes[label] < most:
                largest = [i for i, size in enumerate(sizes) if size == most]
                self._drop_one(largest[self._draw(len(largest))])
            elif self._draw(self.seen[label]) < most:
                self._drop_one(label)
            else:
                return
        self.shelves[label].append(x.clone())

    def content(self) -> Tensor:
        """Return the inputs, (m, ...)."""
        return torch.stack([x for shelf in self.shelves for x in shelf])

    def _drop_one(self, label: int) -> None:
        del self.shelves[label][self._draw(len(self.shelves[label]))]

    def _draw(self, below: int) -> int:
        return int(torch.randint(below, (), generator=self.generator))
