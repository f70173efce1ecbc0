"""Windows of motion sensors: nine channels of 128 samples, and files that hold them.

The channels are body acceleration, angular velocity and total acceleration along x, y and z, in g and rad/s.

Some files have the shape (n, 9, 128) but hold the nine values of a moment side by side, as (n, 128, 9) does.
Then a step along the last axis goes from one channel to another, not from a moment to the next: read right,
such windows are several times smoother, which others are not. Where there are enough windows to tell, they
are put in order, and a warning is logged.
"""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Inputs
from leantta.data.npz import read_array, read_arrays
from leantta.errors import DataError
from leantta.files import existing

logger = logging.getLogger(__name__)

CHANNELS, SAMPLES = 9, 128
BODY, GYRO, TOTAL = slice(0, 3), slice(3, 6), slice(6, 9)

SUFFIXES = (".csv", ".npy", ".npz")
"""Endings of the files that may hold windows, in lower case."""

ROUGHER = 2.0
"""So many times as large as in another order, and the steps in time say that the order is wrong."""

ENOUGH = 16
"""Of one window alone it cannot be told: a motion of 5.6 Hz repeats itself every nine samples."""


def as_windows(values: npt.NDArray[Any], name: str) -> Inputs:
    """Return windows as float32 (n, 9, 128); one window (9, 128) and time before channels are taken too.

    >>> as_windows(np.zeros((128, 9)), "zeros").shape
    (1, 9, 128)

    Raises:
        DataError: another shape or type, none at all, or NaN or infinity among the values.
    """
    shape = values.shape
    if values.ndim == 2:
        values = values[None]
    if values.ndim == 3 and values.shape[1:] == (SAMPLES, CHANNELS):
        values = values.transpose(0, 2, 1)
    if values.ndim != 3 or values.shape[1:] != (CHANNELS, SAMPLES) or not len(values):
        raise DataError(
            f"{name} must hold windows (n, {CHANNELS}, {SAMPLES}), n > 0: {CHANNELS} channels of {SAMPLES} "
            f"samples; it holds the shape {shape}. Cut the recording, or resample it to 50 Hz."
        )
    if not np.issubdtype(values.dtype, np.number) or np.issubdtype(values.dtype, np.complexfloating):
        raise DataError(f"{name} must hold numbers in g and rad/s; it holds {values.dtype}. Convert them.")
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is reported
        windows = np.ascontiguousarray(values, dtype=np.float32)
    finite = np.isfinite(windows).all(axis=(1, 2))
    if not finite.all():
        bad = int(np.flatnonzero(~finite)[0])
        raise DataError(f"window {bad} of {name} has NaN or infinite values. Repair or remove it.")
    return windows


def in_order(windows: Inputs, name: str) -> Inputs:
    """Return windows (n, 9, 128) of a file, put in order if the file is one of those whose shape is wrong."""
    other = windows.reshape(-1, SAMPLES, CHANNELS).transpose(0, 2, 1)
    if len(windows) < ENOUGH or _roughness(windows) <= ROUGHER * _roughness(other):
        return windows
    logger.warning("%s says (n, 9, 128) but holds (n, 128, 9): each moment's values side by side", name)
    return np.ascontiguousarray(other)


def _roughness(windows: Inputs) -> float:
    return float(np.abs(np.diff(windows, axis=2)).mean())


def find_window_files(path: Path) -> tuple[Path, ...]:
    """Return the file at `path`, or those of the folder at `path` that may hold windows, by name.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: the folder has none.
    """
    if not existing(path, "file or folder of motion windows").is_dir():
        return (path,)
    files = tuple(
        file
        for file in sorted(path.iterdir())
        if file.suffix.lower() in SUFFIXES and file.name[0] != "." and file.is_file()
    )
    if not files:
        raise DataError(f"no windows in {path}. Known endings: {', '.join(SUFFIXES)}. Check the folder.")
    return files


def read_windows(path: Path) -> Inputs:
    """Return the windows in a file, (n, 9, 128): `.npy`, `.npz` with an array `x`, or `.csv` with a window.

    A `.csv` has a row per sample and a column per channel, with or without a line of names before them.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: it cannot be read, or holds something else.
    """
    suffix = existing(path, "file of motion windows").suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path} does not end like a file of windows. Known endings: {', '.join(SUFFIXES)}.")
    if suffix == ".npz":
        return in_order(as_windows(read_arrays(path, ["x"])[0], str(path)), str(path))
    return as_windows(read_array(path) if suffix == ".npy" else _read_csv(path), str(path))


def _read_csv(path: Path) -> npt.NDArray[np.float64]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as e:
        raise DataError(f"cannot read {path} as a table of numbers: {e}. Save it as text with commas.") from e
    named = any(letter.isalpha() for letter in lines[0].lower().replace("nan", "").replace("e", ""))
    rows = [line for line in lines[int(named) :] if line.strip()]
    if not rows:
        raise DataError(f"{path} has no rows of numbers. It needs {SAMPLES} of {CHANNELS}.")
    try:
        return np.loadtxt(rows, delimiter=",", ndmin=2)
    except ValueError as e:
        raise DataError(f"cannot read {path} as a table of numbers: {e}. Save it as text with commas.") from e
