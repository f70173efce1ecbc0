"""Where corrupted images come from: one cell per corruption and severity.

Every source keeps one promise: what `cell` returns for an image depends on the corruption, the severity, the
image and the seed only, never on the other images asked for or on earlier calls. So streams may fetch them in
any order and any pieces. The severity 0 of the corruption "clean" is the image as it is.
"""

import hashlib
import math
from functools import cached_property
from typing import Protocol

import numpy as np

from leantta.data.datasets import Dataset, Inputs, Labels, Samples
from leantta.modalities.image import IMAGES
from leantta.modalities.modality import Modality

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

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Samples:
        """Return the corrupted versions of the clean images number `indices`, (len(indices), h, w, 3)."""

    def inputs(self, samples: Samples) -> Inputs:
        """Return what `cell` returned as models take it."""


class GeneratedCells:
    """Corrupts the images of a dataset when they are asked for."""

    def __init__(self, dataset: Dataset, modality: Modality = IMAGES) -> None:
        self.dataset = dataset
        self.modality = modality
        self._corrupt = modality.corruptor(dataset)

    @property
    def name(self) -> str:
        """How the images come about: all that changes them, since records must tell them apart."""
        return self.modality.made_by()

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the clean images and their labels."""
        digest = hashlib.sha256(self.dataset.samples.tobytes())
        digest.update(self.dataset.labels.tobytes())
        return digest.hexdigest()[:16]

    @property
    def labels(self) -> Labels:
        """The labels of the dataset."""
        return self.dataset.labels

    @property
    def corruptions(self) -> tuple[str, ...]:
        """All corruptions of the benchmark."""
        return self.modality.corruptions

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Samples:
        """Return corrupted versions: those that corrupting the whole dataset with this seed would give."""
        chosen = self.dataset.samples[indices]
        if corruption == CLEAN:
            return chosen
        one_by_one = [
            self._corrupt(image[None], corruption, severity, seed=seed, first=int(index))
            for image, index in zip(chosen, indices, strict=True)
        ]
        return np.concatenate(one_by_one) if one_by_one else chosen

    def inputs(self, samples: Samples) -> Inputs:
        """Return samples as the modality's models take them."""
        return self.modality.inputs(samples)


class CachedCells:
    """Keeps images that another source made, so that several runs over one stream generate them once.

    With `most_bytes` it keeps the first that fit, and others are made anew: memory stays bounded.
    """

    def __init__(self, source: Cells, most_bytes: int | None = None) -> None:
        self.source = source
        self.name = source.name
        self.fingerprint = source.fingerprint
        self.labels = source.labels
        self.corruptions = source.corruptions
        self.inputs = source.inputs
        self._kept: dict[tuple[str, int, int, int], Samples] = {}
        self._room = math.inf if most_bytes is None else most_bytes

    def cell(self, corruption: str, severity: int, indices: Labels, seed: int) -> Samples:
        """Return what the source returns, from memory where it was asked for before."""
        keys = [(corruption, severity, seed, int(index)) for index in indices]
        missing = [position for position, key in enumerate(keys) if key not in self._kept]
        if not missing and keys:
            return np.stack([self._kept[key] for key in keys])
        made = self.source.cell(corruption, severity, indices[missing], seed)
        new = dict(zip([keys[position] for position in missing], made, strict=True))
        for key, sample in new.items():
            if sample.nbytes <= self._room:
                self._kept[key] = sample.copy()
                self._room -= sample.nbytes
        return np.stack([new[key] if key in new else self._kept[key] for key in keys]) if keys else made
