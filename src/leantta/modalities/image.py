"""Images as a modality: what models take, the corruptions of the benchmark, and image files."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.data.collection.search import find_images
from leantta.data.datasets import Pixels, Samples, model_inputs
from leantta.data.imagefiles import SUFFIXES, begins_like_image, decode_image, read_batch, read_image
from leantta.disturbances.corruptions.names import NAMES
from leantta.errors import DataError
from leantta.extras import missing_extra
from leantta.modalities.modality import FileReader, Given, Modality, Source
from leantta.runtime.inputs import check_takes_images, fit_image

if TYPE_CHECKING:
    from leantta.runtime.metadata import Info

_MAX_STDIN_BYTES = 268_435_456


class ImageReader(FileReader):
    """Reads images for a model that takes them, each at the model's size."""

    nothing = "standard input has neither an image nor paths."
    endings = SUFFIXES

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if it is not for images."""
        check_takes_images(info)
        super().__init__(info)

    def find(self, path: Path) -> tuple[Path, ...]:
        """Return the image at a path, or those of a folder."""
        return find_images(path)

    def sources(self, file: Path) -> Iterator[Source]:
        """Give the one image in a file."""
        yield str(file), partial(self._one, partial(read_image, file))

    def content(self, data: bytes, name: str) -> Iterator[Source]:
        """Give the image in the bytes of a file; it is decoded where it is."""
        yield name, partial(self._one, partial(decode_image, data, name))

    def standard_input(self) -> Iterator[Source]:
        """Give the image whose bytes come in, or the images whose paths do, each when its line is there."""
        stream = sys.stdin.buffer
        first = stream.readline(_MAX_STDIN_BYTES)
        if not first.startswith((b"\x89", b"\xff\xd8", b"RIFF", b"BM")):
            yield from self.named(chain([first], stream))
            return
        data = first + stream.read(_MAX_STDIN_BYTES + 1 - len(first))
        if len(data) > _MAX_STDIN_BYTES:
            raise DataError(f"standard input has more than {_MAX_STDIN_BYTES:,} bytes. Give a path instead.")
        if begins_like_image(data):
            yield "-", partial(self._one, partial(decode_image, data, "standard input"))
        else:
            yield from self.named(data.splitlines())

    def _one(self, read: Callable[[], Pixels]) -> Iterator[Given]:
        yield Given(None, fit_image(read(), self.info))


def corrupt_images(samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
    """Return images damaged as those of the benchmark; a `Corrupt`.

    Raises:
        MissingExtraError: what makes the damage is not installed.
    """
    try:  # here, not above: clean images need no scipy, and a device may not have it
        from leantta.disturbances.corruptions.apply import corrupt
    except ModuleNotFoundError as e:
        raise missing_extra(e) from e
    return corrupt(samples, name, severity, seed=seed, first=first)


def _made_by() -> str:
    try:
        from leantta.disturbances.corruptions.frost import made_by
    except ModuleNotFoundError:  # no corruption can be made here, only clean images shown
        return "generated"
    return f"generated, {made_by()}"


IMAGES = Modality(
    name="image",
    noun="images",
    inputs=model_inputs,
    scaled="image / 255",
    as_bytes=True,
    corruptions=NAMES,
    corruptor=lambda _: corrupt_images,
    made_by=_made_by,
    file_inputs=("tensor", "image"),
    reader=ImageReader,
    read_folder=lambda folder, most: read_batch(find_images(folder)[:most]),
)
