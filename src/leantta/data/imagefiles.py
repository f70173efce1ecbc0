"""Image files: read as RGB bytes (height, width, 3), and written as PNG.

PNG, JPEG, BMP and WebP are read, whatever a file is called; a photograph is turned upright as its camera
noted, transparency is dropped, and of an animation the first picture is taken. Pillow decodes them, and is
told to try these formats alone: others, such as EPS, would start programs of their own. It is loaded when the
first image is read, so that predictions on arrays do without it.
"""

import struct
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from leantta.data.resize import MAX_PIXELS
from leantta.errors import DataError, LeanTTAError
from leantta.files import existing, replacing

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = NDArray[np.uint8]

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".webp")
"""Endings of the files that count as images, in lower case."""

FORMATS = ("BMP", "JPEG", "PNG", "WEBP")
"""What Pillow calls the formats that are read."""

MAX_EDGE = 65_535

_PNG = b"\x89PNG\r\n\x1a\n"
_NOTE = "leantta"  # the keyword of the PNG text that holds a note

_UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, struct.error)
"""What Pillow raises for damaged files; SyntaxError is its word for a broken PNG chunk."""


def read_image(path: Path) -> Pixels:
    """Return the image at `path` as RGB bytes (height, width, 3).

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: it is not an image, is damaged, cut off or too large, or has more than 8 bits per value.
    """
    try:
        with existing_path(path, "image").open("rb") as file:
            return _decode(file, str(path))
    except OSError as e:
        if isinstance(e, LeanTTAError):
            raise
        raise _unreadable(str(path), e) from e


def decode_image(data: bytes, name: str) -> Pixels:
    """Return the image in the bytes of a file, as `read_image` does; `name` is for messages."""
    return _decode(BytesIO(data), name)


def check_pixels(data: bytes, name: str, most: int) -> None:
    """Look at the size of the image in the bytes of a file without decoding it.

    Raises:
        DataError: it has more pixels than `most`, or does not say how many it has.
    """
    with _opened(BytesIO(data), name, most):
        pass


def begins_like_image(data: bytes) -> bool:
    """Tell whether bytes begin like one of the formats that are read.

    >>> begins_like_image(b"BMW.png"), begins_like_image(b"\\xff\\xd8\\xff\\xe0")
    (False, True)
    """
    return (
        data.startswith((_PNG, b"\xff\xd8\xff"))
        or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")
        or (data[:2] == b"BM" and data[6:10] == bytes(4))
    )


def _decode(file: BinaryIO, name: str) -> Pixels:
    from PIL import ImageOps

    if not file.read(1):
        raise DataError(f"cannot read {name} as an image: the file is empty. Repair or remove it.")
    file.seek(0)
    with _opened(file, name, MAX_PIXELS) as image:
        if image.mode.startswith(("I", "F")):
            raise DataError(f"{name} has more than 8 bits per value. Save it with 8.")
        return np.array(ImageOps.exif_transpose(image).convert("RGB"))


@contextmanager
def _opened(file: BinaryIO, name: str, most: int) -> "Iterator[Image]":
    """Open an image of at most so many pixels, not yet decoded; what Pillow raises becomes a DataError."""
    from PIL import Image, UnidentifiedImageError

    bombs = (Image.DecompressionBombError, Image.DecompressionBombWarning)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)  # refuse before it is decoded
            with Image.open(file, formats=FORMATS) as image:
                _check_size(*image.size, name, most)
                yield image
    except DataError:
        raise
    except bombs as e:
        raise DataError(f"{name} is too large: {e} Scale it down first.") from e
    except UnidentifiedImageError as e:
        raise _unreadable(name, ValueError("it is none that we know")) from e
    except _UNREADABLE as e:
        raise _unreadable(name, e) from e


def _check_size(width: int, height: int, name: str, most: int) -> None:
    """Look at the size of an image before it is decoded; what is larger than any meant well is an error."""
    if width * height > most or max(width, height) > MAX_EDGE:
        raise DataError(
            f"{name} is {width}x{height} pixels, which is too large: at most {most:,} pixels and "
            f"{MAX_EDGE:,} to a side. Scale it down first."
        )


def _unreadable(name: str, error: Exception) -> DataError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return DataError(f"cannot read {name} as an image: {reason}. Repair or remove it.")


def existing_path(path: Path, what: str) -> Path:
    """Return `path` if something is there; a path that no file system takes is an error of its own.

    Raises:
        MissingFileError: nothing is there.
        DataError: nothing can be there.
    """
    try:
        return existing(path, what)
    except OSError as e:
        if isinstance(e, LeanTTAError):
            raise
        raise DataError(f"no {what} at {path}: {e.strerror or e}. Check the path.") from e


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
    from PIL import Image, PngImagePlugin

    text = PngImagePlugin.PngInfo()
    if note:
        text.add_text(_NOTE, note)
    with replacing(path) as part:
        Image.fromarray(image).save(part, "PNG", pnginfo=text)


def read_note(path: Path) -> str | None:
    """Return the note that `write_png` left in the file; None if it has none or is not a whole PNG."""
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as image:
            note = image.info.get(_NOTE)
    except (*_UNREADABLE, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return None
    return note if isinstance(note, str) else None


def _size(image: Pixels) -> str:
    return f"{image.shape[1]}x{image.shape[0]}"
