"""Image files: found, read as RGB bytes (height, width, 3), and written as PNG.

PNG, JPEG, BMP and WebP are read; a photograph is turned upright as its camera noted, transparency is dropped,
and of an animation the first picture is taken.
"""

import struct
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, PngImagePlugin

from leantta.errors import DataError
from leantta.files import existing, replacing

Pixels = NDArray[np.uint8]

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".webp")
"""Endings of the files that count as images, in lower case."""

_NOTE = "leantta"  # the keyword of the PNG text that holds a note

_UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)
"""What Pillow raises for damaged files; SyntaxError is its word for a broken PNG chunk."""


def find_images(path: Path) -> tuple[Path, ...]:
    """Return the image at `path`, or those of the folder at `path` by name; hidden files do not count.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: the file is no image by its ending, or the folder has none.
    """
    existing(path, "image or folder of images")
    known = ", ".join(SUFFIXES)
    if not path.is_dir():
        if path.suffix.lower() not in SUFFIXES:
            raise DataError(f"{path} does not end like an image. Known endings: {known}.")
        return (path,)
    try:
        entries = sorted(path.iterdir())
    except OSError as e:
        raise DataError(f"cannot look into {path}: {e.strerror or e}. Check its permissions.") from e
    found = tuple(
        entry
        for entry in entries
        if entry.suffix.lower() in SUFFIXES and entry.name[0] != "." and entry.is_file()
    )
    if not found:
        inner = sum(entry.is_dir() for entry in entries)
        hint = f"Its {inner} folders are not searched: name one of them." if inner else "Check the folder."
        raise DataError(
            f"no image in {path}, which has {len(entries)} entries. Known endings: {known}. {hint}"
        )
    return found


def read_image(path: Path) -> Pixels:
    """Return the image at `path` as RGB bytes (height, width, 3).

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: it is not an image, is damaged or cut off, or has more than 8 bits per value.
    """
    existing(path, "image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", Image.DecompressionBombWarning
            )  # a giant: refuse before it is decoded
            with Image.open(path) as image:
                if image.mode.startswith(("I", "F")):
                    raise DataError(f"{path} has more than 8 bits per value. Save it with 8.")
                upright = ImageOps.exif_transpose(image)
                return np.array(upright.convert("RGB"))
    except DataError:
        raise
    except _UNREADABLE as e:
        reason = (e.strerror if isinstance(e, OSError) else None) or str(e) or type(e).__name__
        raise DataError(f"cannot read {path} as an image: {reason}. Repair or remove it.") from e


def read_batch(paths: Sequence[Path]) -> Pixels:
    """Return images of one size as a batch (n, height, width, 3).

    Raises:
        DataError: no path, a file that cannot be read, or images of different sizes.
    """
    if not paths:
        raise DataError("no image to read. Give at least one path.")
    images = [read_image(path) for path in paths]
    for path, image in zip(paths, images, strict=True):
        if image.shape != images[0].shape:
            raise DataError(
                f"{paths[0]} is {_size(images[0])} and {path} is {_size(image)}; "
                f"a batch needs one size. Resize them or read them one by one."
            )
    return np.stack(images)


def write_png(path: Path, image: Pixels, note: str = "") -> None:
    """Write RGB bytes (height, width, 3) to `path`, whole or not at all; `read_note` gives back the note.

    Raises:
        StorageError: the file cannot be written.
    """
    text = PngImagePlugin.PngInfo()
    if note:
        text.add_text(_NOTE, note)
    with replacing(path) as part:
        Image.fromarray(image).save(part, "PNG", pnginfo=text)


def read_note(path: Path) -> str | None:
    """Return the note that `write_png` left in the file; None if it has none or is not a whole PNG."""
    try:
        with Image.open(path) as image:
            note = image.info.get(_NOTE) if image.format == "PNG" else None
    except _UNREADABLE:
        return None
    return note if isinstance(note, str) else None


def _size(image: Pixels) -> str:
    return f"{image.shape[1]}x{image.shape[0]}"
