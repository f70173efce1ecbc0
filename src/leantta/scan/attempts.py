"""What is known of a chunk that was begun and not finished: its worker died, of an input or otherwise.

A chunk has a file while it is worked on, and keeps it if the worker is killed. Whoever takes the chunk next
then goes through it carefully, one input at a time, and writes down each before it is fetched from its
archive and before it is read. An input at which `DEATHS` careful workers died, and which none survived, is
left out: its row says so. All of it is on the disk that holds the output, so it does not matter which process
dies, nor whether anybody was there to see it.
"""

import os
from collections import Counter
from pathlib import Path
from types import TracebackType

from leantta.errors import StorageError

DEATHS = 3
"""One or two may be chance: somebody pulled the plug."""

_BEGUN, _CAREFUL = b"begun", b"careful"


class Attempt:
    """One worker's go at a chunk; as a context it ends unless the process dies."""

    def __init__(self, path: Path) -> None:
        """Look what became of earlier attempts at the chunk whose file this is.

        Raises:
            StorageError: the file cannot be written.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            earlier = path.read_bytes().split(b"\n") if path.exists() else []
            self.careful = bool(earlier)
            self._not_read = killers(earlier, DEATHS)
            self._not_fetched = killers(earlier, 2 * DEATHS)  # the rest of the archive goes with it
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as e:
            raise _full(path, e) from e
        self._write(_CAREFUL if self.careful else _BEGUN)

    def fetches(self, position: int) -> bool:
        """Return whether an input of the chunk can be taken from its archive; note that it is tried.

        Raises:
            StorageError: the disk is full.
        """
        return self._tried(b"%d?" % position, self._not_fetched)

    def reads(self, position: int) -> bool:
        """Return whether an input of the chunk can be decoded and run; note that it is tried.

        Raises:
            StorageError: the disk is full.
        """
        return self._tried(b"%d" % position, self._not_read)

    def _tried(self, step: bytes, deadly: frozenset[bytes]) -> bool:
        if step in deadly:
            return False
        if self.careful:
            self._write(step)
        return True

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


def killers(lines: list[bytes], deaths: int) -> frozenset[bytes]:
    """Return the steps at which so many careful attempts or more ended, and after which none went on.

    >>> sorted(killers(b"begun careful 0? 0 1? 1 careful 0? 0 1? 1".split(), 2))
    [b'1']
    >>> killers(b"begun careful 0? 0 careful 0? 0 careful 0? 0 1?".split(), 2)
    frozenset()
    """
    ends: Counter[bytes] = Counter()
    survived: set[bytes] = set()
    last = None
    for line in [*filter(None, lines), _CAREFUL]:
        begins = line in (_BEGUN, _CAREFUL)
        if last is not None:
            if begins:
                ends[last] += 1
            else:
                survived.add(last)
        last = None if begins else line
    return frozenset(step for step, times in ends.items() if times >= deaths and step not in survived)


def _full(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror or error}. Free some space, and start again.")
