"""Pieces of frosted windows to lay over images.

The benchmark's windows are photographs. They come with the package `imagecorruptions` (the extra `frost`),
of which only the files are read: importing it would load OpenCV and numba. Without it, windows made by
formula stand in: other pixels, same strength. `window_source` tells which are in use, to be recorded.
"""

from enum import Enum
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.ice import WINDOWS, Grain, freeze
from leantta.disturbances.corruptions.names import EDITION
from leantta.disturbances.corruptions.pixels import Images, mirrored
from leantta.errors import MissingExtraError

PHOTOGRAPHS = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")
"""The five the benchmark draws from; its sixth is never reached."""


class WindowSource(Enum):
    """Where the frosted windows come from."""

    PHOTOGRAPHS = "photographs"
    FORMULA = "formula"


def window_source() -> WindowSource:
    """Return which windows are used on this machine: the photographs if they are installed.

    >>> window_source() in WindowSource
    True
    """
    return WindowSource.FORMULA if _photographs() is None else WindowSource.PHOTOGRAPHS


def made_by() -> str:
    """Return what else than the seed decides how images come out here, for whatever must not mix them up.

    >>> made_by().startswith("edition ")
    True
    """
    return f"edition {EDITION}, frost by {window_source().value}"


def pieces(draws: Draws, height: int, width: int, grain: Grain, source: WindowSource) -> Images:
    """Return one random piece (height, width, 3) of a random window for each image: (n, height, width, 3)."""
    choice, top, left = draws.uniform(0.0, 1.0, (3,)).T  # each (n,)
    stack = windows(grain, source)
    return np.stack(
        [
            _cut(stack[int(c * len(stack))], height, width, t, s)
            for c, t, s in zip(choice, top, left, strict=True)
        ]
    )


@cache
def windows(grain: Grain, source: WindowSource) -> tuple[Images, ...]:
    """Return the five windows, bytes (rows, columns, 3).

    Raises:
        MissingExtraError: the photographs were asked for, but are not installed.
    """
    if source is WindowSource.FORMULA:
        stack = WINDOWS[grain]
        return tuple(freeze(ice, stack.index(ice), grain) for ice in stack)
    folder = _photographs()
    if folder is None:
        raise MissingExtraError(
            "the photographs of frost are not installed. Run: pip install 'leantta[frost]'"
        )
    opened = [Image.open(folder / name, formats=["JPEG", "PNG"]) for name in PHOTOGRAPHS]
    photographs = [np.asarray(image.convert("RGB")) for image in opened]
    step = 5 if grain is Grain.COARSE else 1
    return tuple(photograph[step // 2 :: step, step // 2 :: step] for photograph in photographs)


def _photographs() -> Path | None:
    """Return the folder of the photographs, if all of them are there."""
    package = find_spec("imagecorruptions")  # finds the package without running it
    for place in (package and package.submodule_search_locations) or ():
        folder = Path(place, "frost")
        if all((folder / name).is_file() for name in PHOTOGRAPHS):
            return folder
    return None


def _cut(window: Images, height: int, width: int, top: float, left: float) -> Images:
    """Return the piece at a place given by two numbers in [0, 1); mirrored where the window is too small."""
    rows, columns = window.shape[:2]
    first_row = int(top * (rows - height if rows > height else rows))
    first_column = int(left * (columns - width if columns > width else columns))
    row = mirrored(first_row + np.arange(height), rows)
    column = mirrored(first_column + np.arange(width), columns)
    return window[row[:, None], column]
