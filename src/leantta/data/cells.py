"""Where corrupted images come from: one cell per corruption and severity.

Every source keeps one promise: what `cell` returns for an image depends on the corruption, the severity, the
image and the seed only, never on the other images asked for or on earlier calls. So streams may fetch them in
any order and any pieces. The severity 0 of the corruption "clean" is the image as it is.
"""

import hashlib
from functools import cached_property
from typing import Protocol

import numpy as np

from leantta.data.corruptions.names import NAMES
from leantta.data.datasets import Dataset, Labels, Pixels
from leantta.extras import missing_extra

CLEAN = "clean"


class Cells(Protocol):
    """A source of corrupted images, all made of the same labelled clean ones."""

    @property
    def name(self) -> str:
        """What the images are, for records: "generated, ..." or "CIFAR-10-C"."""

    @property
    def fingerprint(self) -> str:
        """A short hash that differs between sources of different images."""

    @property
    def labels(self) -> Labels:
        """The labels of the clean images, (n,): those of every cell."""

    @property
    def corruptions(self) -> tuple[str, ...]:
        """The corruptions there are, in the order of the benchmark."""

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Pixels:
        """Return the corrupted versions of the clean images number `indices`, (len(indices), h, w, 3)."""


class GeneratedCells:
    """Corrupts the images of a dataset when they are asked for."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    @property
    def name(self) -> str:
        """How the images come about: all that changes them, since records must tell them apart."""
        try:
            from leantta.data.corruptions.frost import made_by
        except ModuleNotFoundError:  # no corruption can be made here, only clean images shown
            return "generated"
        return f"generated, {made_by()}"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the clean images and their labels."""
        digest = hashlib.sha256(self.dataset.images.tobytes())
        digest.update(self.dataset.labels.tobytes())
        return digest.hexdigest()[:16]

    @property
    def labels(self) -> Labels:
        """The labels of the dataset."""
        return self.dataset.labels

    @property
    def corruptions(self) -> tuple[str, ...]:
        """All corruptions of the benchmark."""
        return NAMES

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Pixels:
        """Return corrupted versions: those that corrupting the whole dataset with this seed would give."""
        chosen = self.dataset.images[indices]
        if corruption == CLEAN:
            return chosen
        try:  # here, not above: clean images need no scipy, and a device may not have it
            from leantta.data.corruptions.apply import corrupt
        except ModuleNotFoundError as e:
            raise missing_extra(e) from e
        one_by_one = [
            corrupt(image[None], corruption, severity, seed=seed, first=int(index))
            for image, index in zip(chosen, indices, strict=True)
        ]
        return np.concatenate(one_by_one) if one_by_one else chosen


class CachedCells:
    """Keeps each image that another source made, so that several runs over one stream generate it once."""

    def __init__(self, source: Cells) -> None:
        self.source = source
        self.name = source.name
        self.fingerprint = source.fingerprint
        self.labels = source.labels
        self.corruptions = source.corruptions
        self._kept: dict[tuple[str, int, int, int], Pixels] = {}

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Pixels:
        """Return what the source returns, from memory where it was asked for before."""
        keys = [(corruption, severity, seed, int(index)) for index in indices]
        missing = [position for position, key in enumerate(keys) if key not in self._kept]
        if missing or not keys:
            made = self.source.cell(corruption, severity, indices[missing], seed)
            if not keys:
                return made
            self._kept.update(zip([keys[position] for position in missing], made.copy(), strict=True))
        return np.stack([self._kept[key] for key in keys])
