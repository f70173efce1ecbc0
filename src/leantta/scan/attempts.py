"""What is known of a chunk that was begun and not finished: its worker died, of an input or otherwise.

A chunk has a file while it is worked on, and keeps it if the worker is killed. Whoever takes the chunk next
then goes through it carefully, one input at a time, and writes down each before it is read. An input at which
`DEATHS` careful workers died is left out: its row says so. All of it is on the disk that holds the output, so
it does not matter which process dies, nor whether anybody was there to see it.
"""

import os
from collections import Counter
from pathlib import Path
from types import TracebackType

from leantta.errors import StorageError

DEATHS = 2
"""One may be chance: somebody pulled the plug."""

_BEGUN, _CAREFUL = b"begun", b"careful"


class Attempt:
    """One worker's go at a chunk; as a context it ends unless the process dies."""

    def __init__(self, path: Path) -> None:
        """Look what became of earlier attempts at the chunk whose file this is.

        Raises:
            StorageError: the file cannot be written.
        """
        self.path = path
        self._at = -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            earlier = path.read_bytes().split(b"\n") if path.exists() else []
            self.careful = bool(earlier)
            self.lost = killers(earlier, DEATHS)  # not to be read
            self.hopeless = killers(earlier, 2 * DEATHS)  # they kill before they are read, as damaged tables
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as e:
            raise _full(path, e) from e
        self._write(_CAREFUL if self.careful else _BEGUN)

    def at(self, position: int) -> None:
        """Say which input of the chunk is read next.

        Raises:
            StorageError: the disk is full.
        """
        if self.careful and position != self._at:
            self._at = position
            self._write(str(position).encode())

    def __enter__(self) -> "Attempt":
        """Return the attempt itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Forget the attempt: the chunk is done, or failed for a reason that was told."""
        os.close(self._file)
        self.path.unlink(missing_ok=True)

    def _write(self, line: bytes) -> None:
        try:
            os.write(self._file, line + b"\n")
        except OSError as e:
            raise _full(self.path, e) from e


def killers(lines: list[bytes], deaths: int) -> frozenset[int]:
    """Return the inputs at which so many careful attempts or more ended.

    >>> killers(b"begun careful 0 1 2 careful 0 1 2".split(), 2)
    frozenset({2})
    >>> killers(b"begun careful 0 1 2 careful 0 careful 0 1".split(), 2)
    frozenset()
    """
    ends: Counter[int] = Counter()
    last = None
    for line in [*lines, _CAREFUL]:
        if line.isdigit():
            last = int(line)
        elif line in (_BEGUN, _CAREFUL):
            if last is not None:
                ends[last] += 1
            last = None
    return frozenset(position for position, times in ends.items() if times >= deaths)


def _full(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror or error}. Free some space, and start again.")
