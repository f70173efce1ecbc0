"""Opening images in whatever form people keep them: the one way in for calibration and evaluation."""

from collections.abc import Sequence
from pathlib import Path

from leantta.data.collection.collection import Collection, Layout
from leantta.data.collection.folders import open_folder
from leantta.data.collection.rows import SUFFIXES as LISTS
from leantta.data.collection.rows import open_list
from leantta.data.collection.search import has_image, search
from leantta.data.collection.tars import ENDING, open_tars
from leantta.data.imagefiles import existing_path
from leantta.errors import DataError, SettingError

LAYOUTS: tuple[Layout, ...] = ("classes", "domains", "imagenet-c", "unlabelled")
"""What may be said of a folder."""


def open_collection(
    path: Path, *, layout: Layout | None = None, classes: Sequence[str] | None = None
) -> Collection:
    """Return the images at `path`: a folder in one of several layouts, a list, or tar files.

    `layout` says what a folder means, where it cannot be told or was told wrong. `classes` are names in the
    order of the model's scores. No image is read.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: it is none of these, is empty, means several things, or its labels are no classes.
        SettingError: a layout is given for what is no folder.
    """
    existing_path(path, "images")
    suffix = path.suffix.lower()
    shards: tuple[Path, ...] = ()
    if path.is_dir():
        shards = () if has_image(path) else tuple(path / each.key for each in search(path, (ENDING,)))
        if not shards:
            return open_folder(path, layout, classes)
    elif suffix == ENDING:
        shards = (path,)
    elif suffix not in LISTS:
        raise DataError(
            f"{path} is no form of images that is known. Give a folder, a list ({', '.join(LISTS)}) with "
            f"path,label,domain, or {ENDING} files as of webdataset (not compressed)."
        )
    if layout not in (None, "unlabelled"):
        raise SettingError(f"--layout {layout} is for folders; {path} says itself what is in it.")
    if shards:
        return open_tars(path, shards, layout, classes)
    return open_list(path, layout, classes)


def is_collection(path: Path) -> bool:
    """Tell whether there are images at `path` that can be opened so: files, rather than arrays."""
    if path.is_dir():
        return has_image(path) or next(search(path, (ENDING,)), None) is not None
    return path.suffix.lower() in (ENDING, *LISTS)
