"""What `leantta run` reads for each kind of model: a table of kinds, and the files that paths mean."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError, LeanTTAError

if TYPE_CHECKING:
    from leantta.runtime.metadata import Info

Array = npt.NDArray[Any]

Source = tuple[str, Callable[[], Array]]
"""The name of an input, and what reads it."""

_MAX_STDIN_BYTES = 268_435_456


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What one kind of model is given."""

    takes: Callable[["Info"], bool]  # whether a model is of this kind
    files: Callable[[Path], Iterator[Source]]  # the inputs at a path; a LeanTTAError if there are none
    stream: Callable[[bytes], Source | None]  # the input that all of standard input is; None: it has paths
    starts: tuple[bytes, ...]  # how standard input may begin that is an input itself
    fitted: Callable[[Array, "Info"], Array]  # an input as the session takes one
    blank: Callable[["Info"], Array]  # a batch to begin with, as the first run is slow


def kind_of(info: "Info") -> Kind:
    """Return what a model is given.

    Raises:
        SettingError: nothing that files hold.
    """
    from leantta.runtime.fit import check_takes_images

    for kind in KINDS.values():
        if kind.takes(info):
            return kind
    check_takes_images(info)  # it does not, and says so
    return KINDS["image"]


def sources(paths: tuple[str, ...], kind: Kind) -> Iterator[Source]:
    """Give the inputs that the paths mean; a path that means none is given with its error."""
    for path in paths:
        yield from _standard_input(kind) if path == "-" else _at(path, kind)


def _at(path: str, kind: Kind) -> Iterator[Source]:
    try:
        found = list(kind.files(Path(path)))
    except LeanTTAError as e:
        yield path, partial(_raise, e)
        return
    yield from found


def _standard_input(kind: Kind) -> Iterator[Source]:
    """Give the input whose bytes come in, or those whose paths do, each as soon as its line is there."""
    stream = sys.stdin.buffer
    first = stream.readline(_MAX_STDIN_BYTES)
    if kind.starts and first.startswith(kind.starts):
        data = first + stream.read(_MAX_STDIN_BYTES + 1 - len(first))
        if len(data) > _MAX_STDIN_BYTES:
            raise DataError(f"standard input has more than {_MAX_STDIN_BYTES:,} bytes. Give a path instead.")
        whole = kind.stream(data)
        if whole is not None:
            yield whole
            return
        lines: Iterator[bytes] = iter(data.splitlines())
    else:
        lines = chain([first], stream)
    empty = True
    for line in lines:
        path = os.fsdecode(line.rstrip(b"\r\n"))
        if path:
            empty = False
            yield from _at(path, kind)
    if empty:
        yield "-", partial(_raise, DataError("standard input has neither an image nor paths."))


def _raise(error: LeanTTAError) -> NoReturn:
    raise error


def _takes_images(info: "Info") -> bool:
    return info.input.is_image and info.input.shape[0] in (1, 3)


def _image_files(path: Path) -> Iterator[Source]:
    from leantta.data.imagefiles import find_images, read_image

    for file in find_images(path):
        yield str(file), partial(read_image, file)


def _image_stream(data: bytes) -> Source | None:
    from leantta.data.imagefiles import begins_like_image, decode_image

    return ("-", partial(decode_image, data, "standard input")) if begins_like_image(data) else None


def _fitted_image(image: Array, info: "Info") -> Array:
    from leantta.runtime.fit import fit

    return fit(image, info)


def _blank_image(info: "Info") -> Array:
    channels, *sizes = info.input.shape
    return np.zeros((1, *sizes, channels), np.uint8)


def _takes_windows(info: "Info") -> bool:
    from leantta.data.windows import CHANNELS, SAMPLES

    return info.input.kind == "signal" and info.input.shape == (CHANNELS, SAMPLES)


def _window_files(path: Path) -> Iterator[Source]:
    """Give the windows of a file, or of a folder's files; those of a file with several have numbers."""
    from leantta.data.windows import find_window_files, read_windows

    for file in find_window_files(path):
        try:
            windows = read_windows(file)
        except LeanTTAError as e:
            yield str(file), partial(_raise, e)
            continue
        for number, window in enumerate(windows):
            name = str(file) if len(windows) == 1 else f"{file}[{number}]"
            yield name, partial(np.asarray, window)


KINDS: dict[str, Kind] = {
    "image": Kind(
        takes=_takes_images,
        files=_image_files,
        stream=_image_stream,
        starts=(b"\x89", b"\xff\xd8", b"RIFF", b"BM"),
        fitted=_fitted_image,
        blank=_blank_image,
    ),
    "motion": Kind(
        takes=_takes_windows,
        files=_window_files,
        stream=lambda _: None,
        starts=(),
        fitted=lambda window, _: window,
        blank=lambda info: np.zeros((1, *info.input.shape), np.float32),
    ),
}
