"""Image files in a folder and its folders: found by their endings, in a fixed order.

Hidden files and folders do not count. Links are followed, but not round in circles.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from leantta.data.imagefiles import SUFFIXES, existing_path
from leantta.errors import DataError, LeanTTAError

KNOWN = f"Known endings: {', '.join(SUFFIXES)}."


class Found(NamedTuple):
    """A file, by its path from the folder that was searched, and its bytes; a dead link has none."""

    key: str
    size: int


def find_images(path: Path) -> tuple[Path, ...]:
    """Return the image at `path`, or those of the folder at `path` and its folders, by name.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: the file is no image by its ending, or the folder has none.
    """
    if not existing_path(path, "image or folder of images").is_dir():
        if path.suffix.lower() not in SUFFIXES:
            raise DataError(f"{path} does not end like an image. {KNOWN}")
        return (path,)
    images = tuple(path / each.key for each in search(path))
    if not images:
        raise no_image(path)
    return images


def no_image(folder: Path) -> DataError:
    """Return the error of a folder without images, which says what it has instead."""
    entries = sum(1 for _ in folder.iterdir())
    return DataError(
        f"no image in {folder} or its folders; it has {entries} entries. {KNOWN} Check the folder."
    )


def has_image(folder: Path) -> bool:
    """Tell whether a folder, or one of its folders, has an image; the search ends at the first."""
    try:
        return folder.is_dir() and next(search(folder), None) is not None
    except LeanTTAError:
        return False


def search(folder: Path, suffixes: tuple[str, ...] = SUFFIXES) -> Iterator[Found]:
    """Give the files with these endings in a folder and its folders, by name.

    Raises:
        DataError: one of the folders cannot be looked into.
    """
    yield from _search(str(folder), "", suffixes, frozenset())


def _search(root: str, inner: str, suffixes: tuple[str, ...], above: frozenset[str]) -> Iterator[Found]:
    place = os.path.join(root, inner)  # noqa: PTH118 - a Path per file would take most of the time
    try:
        here = os.path.realpath(place)
        if here in above:
            return
        with os.scandir(place) as entries:
            ordered = sorted((e for e in entries if e.name[0] != "."), key=lambda entry: entry.name)
        for entry in ordered:
            if entry.is_dir():
                yield from _search(root, f"{inner}{entry.name}/", suffixes, above | {here})
            elif entry.name.lower().endswith(suffixes) and (entry.is_file() or entry.is_symlink()):
                yield Found(inner + entry.name, entry.stat().st_size if entry.is_file() else 0)
    except OSError as e:
        if isinstance(e, LeanTTAError):
            raise
        raise DataError(f"cannot look into {place}: {e.strerror or e}. Check its permissions.") from e
