"""Read the pickles of CIFAR's "python version" without running what is in them.

A pickle is a program: it may import and call anything. This reader admits plain containers, numbers and text,
and the handful of names with which numpy writes an array; and even those it answers with its own stand-ins,
which collect the bytes. Every other name is refused, whatever it is.
"""

import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError

_TYPES = frozenset({"u1", "|u1", "i8", "<i8", "i4", "<i4"})  # of pixels, and of labels in repackaged copies


class _Sealed:
    """A stand-in that a pickle cannot give attributes to, neither to its instances nor to the class."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        raise pickle.UnpicklingError(f"unexpected state for {type(self).__name__}")


class _Type(_Sealed):
    """Stands in for numpy.dtype."""

    __slots__ = ("name",)

    def __init__(self, name: object, align: object = False, copy: object = False) -> None:  # noqa: ARG002 - as numpy pickles it
        self.name = name.decode("ascii") if isinstance(name, bytes) else str(name)
        if self.name not in _TYPES:
            raise pickle.UnpicklingError(f"unexpected array type {self.name!r}")

    def __setstate__(self, state: object) -> None:
        # (version, byte order, ...): the types above are little-endian, so a "big" mark is the one to refuse.
        if not isinstance(state, tuple) or len(state) < 2 or state[1] in (">", b">"):
            raise pickle.UnpicklingError(f"unexpected byte order {state!r:.60}")


class _Array(_Sealed):
    """Stands in for numpy.ndarray, and for the call that makes an empty one."""

    __slots__ = ("value",)
    value: npt.NDArray[Any] | None

    def __init__(self, *call: object) -> None:  # noqa: ARG002 - what numpy would be told is not needed
        """Take whatever numpy's own constructor would be given: the content follows as the state."""
        self.value = None

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise pickle.UnpicklingError("unexpected array state")
        _version, shape, kind, column_major, raw = state
        self.fill(raw, kind, shape, "F" if column_major else "C")

    def fill(self, raw: object, kind: object, shape: object, order: object) -> None:
        """Make the array of its bytes."""
        if not (isinstance(kind, _Type) and isinstance(shape, tuple) and isinstance(raw, bytes | bytearray)):
            raise pickle.UnpicklingError("unexpected array content")
        dtype = np.dtype(kind.name)
        if not all(isinstance(n, int) and n >= 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(
            raw
        ):
            raise pickle.UnpicklingError(f"{len(raw)} bytes do not fill an array of {shape}")
        self.value = np.frombuffer(bytes(raw), dtype).reshape(shape, order="F" if order == "F" else "C")


class _Buffer(_Array):
    """Stands in for the call with which numpy makes an array of a buffer (pickle protocol 5)."""

    __slots__ = ()

    def __init__(self, raw: object, kind: object, shape: object, order: object, *rest: object) -> None:  # noqa: ARG002 - numpy may add an argument
        self.fill(raw, kind, shape, order)


class _Bytes(bytes):
    """Stands in for _codecs.encode, with which Python 3 writes bytes in the older protocols."""

    def __new__(cls, text: str, encoding: str) -> "_Bytes":
        if encoding not in ("latin1", "latin-1"):
            raise pickle.UnpicklingError(f"unexpected encoding {encoding!r}")
        return super().__new__(cls, text.encode("latin1"))

    def __setstate__(self, state: object) -> NoReturn:
        raise pickle.UnpicklingError("unexpected state for bytes")


_NAMES: Mapping[tuple[str, str], type[Any]] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _Buffer,
    ("numpy._core.numeric", "_frombuffer"): _Buffer,
    ("_codecs", "encode"): _Bytes,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[Any]:
        if (module, name) not in _NAMES:
            raise pickle.UnpicklingError(f"it wants to use {module}.{name}, which no CIFAR file needs")
        return _NAMES[module, name]


def read_batch(path: Path, label_key: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the (n, 3072) pixel rows and the labels of one file of the python version.

    Raises:
        DataError: the file is damaged, or is a pickle of something else; nothing in it was run.
    """
    try:
        with path.open("rb") as f:
            content = _Reader(f, encoding="bytes").load()
    except (
        pickle.UnpicklingError,
        EOFError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        MemoryError,
    ) as e:
        raise DataError(
            f"{path} is not a CIFAR batch: {e}. Fetch it again from the dataset's own page."
        ) from e
    except (OSError, OverflowError) as e:
        raise DataError(f"cannot read {path}: {e}. Fetch it again from the dataset's own page.") from e
    if not isinstance(content, dict):
        raise DataError(
            f"{path} is not a CIFAR batch: it holds a {type(content).__name__}, not a dictionary."
        )
    fields = {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in content.items()}
    rows, labels = (_plain(fields.get(key)) for key in ("data", label_key))
    if rows is None or labels is None:
        raise DataError(
            f"{path} is not a CIFAR batch: it has no 'data' array with whole numbers as {label_key!r}."
        )
    return rows, labels


def _plain(value: object) -> npt.NDArray[Any] | None:
    """Return what a stand-in collected, or a list of whole numbers, as an array; None if it is neither."""
    if isinstance(value, list) and all(type(item) is int and abs(item) < 2**31 for item in value):
        return np.array(value, dtype=np.int64)
    return value.value if isinstance(value, _Array) else None
