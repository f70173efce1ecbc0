"""Labels as people give them, names or numbers, as class numbers.

A list of class names is in the order of the model's scores. Without one, names are numbered in their order,
as torchvision's ImageFolder does, and names that are all whole numbers are taken as numbers.
"""

import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leantta.data.collection.collection import shown
from leantta.data.datasets import Labels
from leantta.errors import DataError
from leantta.files import existing

MOST = 1_000_000
"""A class number above that is taken for a mistake."""


class Numbers(NamedTuple):
    """Class numbers, and the names that go with them."""

    labels: Labels
    classes: tuple[str, ...]
    numbered: bool


def read_classes(path: Path) -> tuple[str, ...]:
    """Return the class names in a text file, one to a line, in the order of the model's scores.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: it is not text, is empty, or has a name twice.
    """
    try:
        text = existing(path, "file of class names").read_text(encoding="utf-8-sig")
    except (UnicodeDecodeError, IsADirectoryError, PermissionError) as e:
        raise DataError(f"{path} cannot be read as text: {e}. Give a class name to a line, in UTF-8.") from e
    names = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not names:
        raise DataError(f"{path} has no class names. Give one to a line, in the order of the model's scores.")
    return names


def as_numbers(given: Sequence[str], classes: Sequence[str] | None, where: str) -> Numbers:
    """Return class numbers of names or of written numbers; `where` is for messages.

    >>> as_numbers(["dog", "cat", "dog"], None, "photos").labels.tolist()
    [1, 0, 1]
    >>> as_numbers(["dog", "cat", "dog"], ["dog", "fox", "cat"], "photos").labels.tolist()
    [0, 2, 0]
    >>> as_numbers(["007", "12"], None, "photos").labels.tolist()
    [7, 12]

    Raises:
        DataError: a label is none of the classes.
    """
    names = [unicodedata.normalize("NFC", name) for name in given]
    distinct = sorted(set(names))
    known = None if classes is None else [unicodedata.normalize("NFC", name) for name in classes]
    if all(name.isascii() and name.isdigit() for name in distinct) and not set(distinct) <= set(known or ()):
        return _numbered(np.array([int(name[:20]) for name in names], np.int64), classes, where)
    if known is None:
        known = distinct
    if len(set(known)) < len(known):
        raise DataError("the class names have one twice, so a label by name would mean two classes.")
    place = {name: number for number, name in enumerate(known)}
    foreign = [name for name in distinct if name not in place]
    if foreign:
        near = get_close_matches(foreign[0], known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(
            f"{len(foreign)} of {len(distinct)} labels of {where} are none of the {len(known)} classes, e.g. "
            f"{shown(foreign[0])!r}.{hint} Give a list of classes that has them (--classes), or rename them."
        )
    return Numbers(np.array([place[name] for name in names], np.int64), tuple(known), numbered=False)


def _numbered(labels: Labels, classes: Sequence[str] | None, where: str) -> Numbers:
    most = MOST if classes is None else len(classes)
    if int(labels.max()) >= most:
        raise DataError(
            f"{where} has the class number {labels.max()}; there are {most} classes, from 0 to {most - 1}. "
            f"Numbers begin at 0."
        )
    names = tuple(map(str, range(int(labels.max()) + 1))) if classes is None else tuple(classes)
    return Numbers(labels, names, numbered=classes is None)
