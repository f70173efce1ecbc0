"""Files appear whole or not at all."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from leantta.errors import LeanTTAError, MissingFileError, StorageError


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary path beside `target`; what is written there becomes `target` when the block succeeds.

    Raises:
        StorageError: the folder cannot be made, or the disk is full; `target` is then as it was before.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part", delete=False
        ) as f:
            part = Path(f.name)
    except OSError as e:
        raise StorageError(f"cannot write {target}: {e.strerror or e}. Choose another place.") from e
    try:
        yield part
        part.chmod(0o644)
        part.replace(target)
    except LeanTTAError:  # the block failed for a reason of its own, which it has explained
        raise
    except OSError as e:
        raise StorageError(f"cannot write {target}: {e.strerror or e}. Nothing was changed.") from e
    finally:
        part.unlink(missing_ok=True)


def remove_parts(target: Path) -> None:
    """Remove what processes left of `target` that were killed while they wrote it."""
    for part in target.parent.glob(f".{escape(target.name)}.*.part"):
        part.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Find out whether files can be written to a folder, which need not exist yet; nothing is left there.

    Raises:
        StorageError: they cannot.
    """
    try:
        nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        with TemporaryDirectory(dir=nearest, prefix=".leantta."):
            pass
    except OSError as e:
        raise StorageError(f"cannot write {folder}: {e.strerror or e}. Choose another place.") from e


def sha256_of(path: Path) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def existing(path: Path, what: str, hint: str = "Check the path.") -> Path:
    """Return `path` if something is there.

    Raises:
        MissingFileError: there is not; the message names `what` was wanted, and the hint says what to do.
    """
    if not path.exists():
        raise MissingFileError(f"no {what} at {path}. {hint}")
    return path
