"""The images of a trial: which are fitted on, which are reported on, and how the model takes them."""

import hashlib
import os
from typing import NamedTuple

import numpy as np

from leantta.data.collection.collection import Collection
from leantta.data.datasets import Labels
from leantta.errors import DataError
from leantta.modalities.cells import CLEAN
from leantta.streams.stream import Domain

MOST_FITTED = 400
"""Images that are fitted on, at most: more need more memory, and bring little."""


class Parted(NamedTuple):
    """Images to fit on, and others to report on; no image is in both."""

    fit: Collection
    report: Collection


def parted(photos: Collection) -> Parted:
    """Return half of the images to fit on, at most `MOST_FITTED`, and all others to report on.

    The halves go by a hash of the name, so an image is on the same side in every run. The same name in
    several domains is the same photograph, and falls on one side. Only clean ones are fitted on if there are.

    Raises:
        DataError: there are too few, or none that are clean.
    """
    from leantta.filtering.images import FEWEST  # here, as it needs torch, and files alone need none

    if photos.layout == "imagenet-c" and CLEAN not in photos.domains:
        raise DataError(
            f"{photos.path} has corrupted images only, and the shift filter is fitted on clean ones: give "
            f"some with --calibration, or a domain called {CLEAN}."
        )
    names = np.array([_name(photos, place) for place in range(len(photos))])
    distinct = sorted(set(names.tolist()))
    chosen = np.isin(names, distinct[: min(MOST_FITTED, len(distinct) // 2)])
    fit = np.flatnonzero(chosen & is_clean(photos))
    if len(fit) < FEWEST:
        raise DataError(
            f"{photos.path} has {len(photos)} images. To fit the shift filter takes {FEWEST} that are not "
            f"reported on: give more, or source images of the model with --calibration."
        )
    return Parted(photos.subset(fit).spread(MOST_FITTED), photos.subset(np.flatnonzero(~chosen)))


def is_clean(photos: Collection) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which images are of the domain `clean`; if none is called so, all are."""
    if photos.domain is None or CLEAN not in photos.domains:
        return np.ones(len(photos), np.bool_)
    return np.asarray(photos.domain == photos.domains.index(CLEAN), np.bool_)


def _name(photos: Collection, place: int) -> str:
    """Return the hash of an image's name, without the domain that it lies in."""
    key = photos.keys[place]
    if photos.domain is not None:
        key = key.removeprefix(f"{photos.domains[photos.domain[place]]}/")
    return hashlib.sha256(os.fsencode(key)).hexdigest()


def domains_of(photos: Collection) -> tuple[Domain, ...]:
    """Return the domains as streams have them: those of ImageNet-C have a severity."""
    if photos.layout != "imagenet-c":
        return tuple(Domain(name, 0) for name in photos.domains)
    parts = (name.rsplit("/", 1) for name in photos.domains)
    return tuple(Domain(corruption, int(severity)) for corruption, severity in parts)


def some(photos: Collection, most: int, seed: int) -> Collection:
    """Return at most so many of the images, at random and in the order of the collection."""
    if len(photos) <= most:
        return photos
    drawn: Labels = np.random.default_rng(seed).choice(len(photos), most, replace=False)
    return photos.subset(np.sort(drawn))


def check_classes(photos: Collection, outputs: int, listed: bool) -> None:
    """Look whether the labels can be those of a model with so many scores.

    Raises:
        DataError: they cannot; or all are of one class, which tells nothing.
    """
    classes, used = max(outputs, 2), len(np.unique(photos.labels))
    if used == 1:
        only = photos.classes[photos.labels[0]]
        raise DataError(
            f"all {len(photos)} images of {photos.path} are of one class, {only!r}: "
            "that tells nothing. Give images of several, or say --layout unlabelled."
        )
    if int(photos.labels.max()) >= classes or not (
        listed or photos.numbered or len(photos.classes) == classes
    ):
        what = f"{len(photos.classes)} classes" if not photos.numbered else f"class {photos.labels.max()}"
        raise DataError(
            f"{photos.path} has {what}, and the model {classes} scores. Give --classes FILE: the names of "
            "the folders or labels, one to a line, in the order of the model's scores."
        )
