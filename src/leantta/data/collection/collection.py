"""What a set of images on disk is to the rest of the code: keys, labels and domains; pixels when asked for.

A collection of a million images is a few columns; no pixel of it is held.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np

from leantta.data.datasets import Labels
from leantta.data.imagefiles import Pixels
from leantta.errors import DataError, LeanTTAError
from leantta.progress import Progress, silent

Layout = Literal["classes", "domains", "imagenet-c", "unlabelled", "list", "tars"]

NO_LABEL = -1
SHOWN = 4
"""So many names are said in a message."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Collection:
    """Images that can be read one by one, in a fixed order."""

    path: Path
    layout: Layout
    keys: tuple[str, ...]  # where each is, from `path`
    sizes: Labels  # (n,) bytes on disk
    labels: Labels  # (n,) class numbers; NO_LABEL for all if nobody said
    classes: tuple[str, ...] = ()  # by number; empty if unlabelled
    numbered: bool = False  # labels were given as numbers: there may be more classes than `classes`
    domain: Labels | None = None  # (n,) places in `domains`
    domains: tuple[str, ...] = ()  # such as "night", or "fog/3"
    read: Callable[[int], Pixels]  # RGB bytes (h, w, 3) of image number i

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.keys)

    @property
    def labelled(self) -> bool:
        """Whether the classes of the images are known."""
        return bool(self.classes)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of paths, sizes, labels and domains: equal for what is very likely the same images."""
        digest = hashlib.sha256(b"\0".join(os.fsencode(key) for key in self.keys))
        for column in (self.sizes, self.labels, self.domain):
            if column is not None:
                digest.update(np.ascontiguousarray(column, "<i8").tobytes())
        digest.update("\0".join((*self.classes, "", *self.domains)).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]

    def subset(self, places: Labels) -> "Collection":
        """Return the images at these places, in that order."""
        return replace(
            self,
            keys=tuple(self.keys[place] for place in places),
            sizes=self.sizes[places],
            labels=self.labels[places],
            domain=None if self.domain is None else self.domain[places],
            read=partial(_read_at, self.read, places),
        )

    def spread(self, count: int) -> "Collection":
        """Return at most `count` of the images, at even steps, so that each class and domain has its part."""
        if len(self) <= count:
            return self
        return self.subset(np.linspace(0, len(self) - 1, count).round().astype(np.int64))

    def readable(self, progress: Progress = silent) -> tuple["Collection", tuple[str, ...]]:
        """Return the images that can be read, and the keys of the others; each is read once to find out.

        Raises:
            DataError: none can be read.
        """
        good, bad, why = [], [], None
        for place, key in enumerate(self.keys):
            try:
                self.read(place)
                good.append(place)
            except LeanTTAError as e:
                bad.append(shown(key))
                why = why or e
            progress(place + 1, len(self))
        if why is not None and not good:
            raise DataError(f"none of the {len(self)} images of {self.path} can be read. The first: {why}")
        return (self.subset(np.array(good)) if bad else self), tuple(bad)

    def describe(self) -> str:
        """Return one line that says what was found.

        >>> Collection(path=Path("photos"), layout="unlabelled", keys=("a.jpg",), sizes=np.ones(1, np.int64),
        ...     labels=np.full(1, NO_LABEL), read=lambda _: np.zeros((1, 1, 3), np.uint8)).describe()
        'photos: 1 image without labels'
        """
        images = f"{len(self)} image{'s' if len(self) != 1 else ''}"
        if not self.labelled:
            kinds = "without labels"
        elif self.numbered:
            kinds = f"of {len(np.unique(self.labels))} classes, by number"
        else:
            kinds = f"of {len(np.unique(self.labels))} classes ({listed(self._used())})"
        origin = {"list": ", named in the file", "tars": ", in tar files", "classes": ", by folder"}
        domains = f", in {len(self.domains)} domains ({listed(self.domains)})" if self.domains else ""
        return f"{shown(str(self.path))}: {images} {kinds}{origin.get(self.layout, '')}{domains}"

    def _used(self) -> tuple[str, ...]:
        return tuple(self.classes[label] for label in np.unique(self.labels))


def _read_at(read: Callable[[int], Pixels], places: Labels, place: int) -> Pixels:
    return read(int(places[place]))


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Return the first few names.

    >>> listed(["cat", "dog", "emu", "fox", "gnu"])
    'cat, dog, emu, fox, ...'
    """
    return ", ".join(map(shown, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")


def shown(name: str) -> str:
    """Return a name as it can be printed in a line, whatever bytes the file system or a list has for it."""
    name = "".join(
        letter if letter.isprintable() or "\udc80" <= letter <= "\udcff" else "?" for letter in name
    )
    return os.fsencode(name).decode("utf-8", "replace")
