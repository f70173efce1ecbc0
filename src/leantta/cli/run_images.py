"""Image files for `leantta run`."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.cli.run_source import Given, Source, failing, named
from leantta.errors import DataError, LeanTTAError

if TYPE_CHECKING:
    from leantta.data.imagefiles import Pixels
    from leantta.runtime.metadata import Info

_MAX_STDIN_BYTES = 268_435_456


class ImageReader:
    """Reads images for a model that takes them, each at the model's size."""

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if it is not for images."""
        from leantta.runtime.fit import check_takes_images

        check_takes_images(info)
        self._info = info

    def files(self, path: str) -> Iterator[Source]:
        """Give the images that a path means."""
        from leantta.data.imagefiles import find_images, read_image

        try:
            found = find_images(Path(path))
        except LeanTTAError as e:
            yield failing(path, e)
            return
        for file in found:
            yield str(file), partial(self._one, partial(read_image, file))

    def standard_input(self) -> Iterator[Source]:
        """Give the image whose bytes come in, or the images whose paths do, each when its line is there."""
        from leantta.data.imagefiles import begins_like_image, decode_image

        stream = sys.stdin.buffer
        first = stream.readline(_MAX_STDIN_BYTES)
        if first.startswith((b"\x89", b"\xff\xd8", b"RIFF", b"BM")):
            data = first + stream.read(_MAX_STDIN_BYTES + 1 - len(first))
            if len(data) > _MAX_STDIN_BYTES:
                raise DataError(
                    f"standard input has more than {_MAX_STDIN_BYTES:,} bytes. Give a path instead."
                )
            if begins_like_image(data):
                yield "-", partial(self._one, partial(decode_image, data, "standard input"))
                return
            lines: Iterator[bytes] = iter(data.splitlines())
        else:
            lines = chain([first], stream)
        yield from named(lines, self.files, DataError("standard input has neither an image nor paths."))

    def _one(self, read: "Callable[[], Pixels]") -> Iterator[Given]:
        from leantta.runtime.fit import fit

        yield Given(None, fit(read(), self._info))
