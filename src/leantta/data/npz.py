"""Arrays out of `.npz` and `.npy` files: what is asked for, or an error that says what is there instead."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError

_UNREADABLE = (
    *(OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError),
    *(LookupError, TypeError, AttributeError, MemoryError, SyntaxError, TokenError),
)
"""What zipfile, zlib and numpy raise for damaged files; the second row is for headers that lie."""


def read_array(path: Path) -> npt.NDArray[Any]:
    """Return the array in a `.npy` file; nothing in the file is run.

    Raises:
        DataError: it is damaged, or is no `.npy` file.
    """
    try:
        with path.open("rb") as file:
            array = np.load(file, allow_pickle=False)
    except _UNREADABLE as e:
        raise DataError(f"cannot read {path} as .npy: {str(e).rstrip('.')}. Make or fetch it again.") from e
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path} is not a .npy file: it holds several arrays.")
    return array


def read_arrays(path: Path, names: Sequence[str]) -> list[npt.NDArray[Any]]:
    """Return the arrays with these names; nothing in the file is run.

    Raises:
        DataError: it is damaged, is no `.npz` file, or lacks one of them.
    """
    wanted = " and ".join(names)
    try:
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise DataError(f"{path} is not a .npz file with {wanted}: it holds one array.")
            missing = [name for name in names if name not in arrays]
            if missing:
                there = ", ".join(arrays.files) or "nothing"
                raise DataError(f"{path} has no array {' and '.join(missing)}; it has {there}. Rename them.")
            return [np.asarray(arrays[name]) for name in names]
    except DataError:
        raise
    except _UNREADABLE as e:
        raise DataError(f"cannot read {path} as .npz: {str(e).rstrip('.')}. Make or fetch it again.") from e
