"""What `leantta run` reads: files, and the inputs that are in them, whatever a model takes."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

if TYPE_CHECKING:
    import numpy.typing as npt

    from leantta.errors import LeanTTAError
    from leantta.runtime.metadata import Info


class Given(NamedTuple):
    """One input of the model, and where in its file it begins; None if the file is that one input."""

    start_s: float | None
    values: "npt.NDArray[Any]"


Read = Callable[[], Iterator[Given]]
"""Gives the inputs in a file, each when asked for."""

Source = tuple[str, Read]
"""The name of a file, and what reads it."""


class Reader(Protocol):
    """What makes inputs of files, for one kind of model."""

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if files cannot be given to it."""

    def files(self, path: str) -> Iterator[Source]:
        """Give the files that a path means; a path that means none is given with its error."""

    def standard_input(self) -> Iterator[Source]:
        """Give the files that standard input names, or is."""


def named(
    lines: Iterable[bytes], files: Callable[[str], Iterator[Source]], otherwise: "LeanTTAError"
) -> Iterator[Source]:
    """Give the files whose paths are lines, each when its line is there; the error if there are none."""
    empty = True
    for line in lines:
        path = os.fsdecode(line.rstrip(b"\r\n"))
        if path:
            empty = False
            yield from files(path)
    if empty:
        yield failing("-", otherwise)


def failing(name: str, error: "LeanTTAError") -> Source:
    """Return a source that has nothing but an error to give."""

    def read() -> NoReturn:
        raise error

    return name, read
