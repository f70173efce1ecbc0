"""One reproduction at a time in a folder of records: two would write the same files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leantta.errors import StorageError


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder, which is made if need be; it is free again when the process ends, however it ends.

    Where the system or the disk has no locks, nothing is held.

    Raises:
        StorageError: another process holds it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StorageError(f"cannot make {folder}: {e.strerror or e}. Choose another place.") from e
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise StorageError(
                f"another `leantta reproduce` is at work in {folder}. Wait for it, or give another --records."
            ) from e
        except OSError:  # a network disk without locks
            pass
        yield
    finally:
        os.close(handle)
