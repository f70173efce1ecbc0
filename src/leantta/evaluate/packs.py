"""Packs: finished records together in one compressed file, `NAME.records.tar.xz`.

The records of one table share labels, domains and headers, so that together they take a fortieth of the room.
`tar xf` gives the files back as they were. The same records make the same bytes, in whatever order they came.
"""

import io
import lzma
import tarfile
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from leantta.errors import RecordError, StorageError
from leantta.files import existing, replacing

SUFFIX = ".records.tar.xz"

KEPT = 4
"""So many packs stay unpacked in memory: a page reads its own again and again."""


def is_pack(path: Path) -> bool:
    """Tell whether a file is called as packs are."""
    return path.name.endswith(SUFFIX)


def read_pack(path: Path) -> Mapping[str, bytes]:
    """Return the record files in a pack, by their names.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is no pack, or it is damaged.
    """
    about = existing(path, "pack of records").stat()
    return _unpacked(path, about.st_size, about.st_mtime_ns)


@lru_cache(KEPT)
def _unpacked(path: Path, size: int, changed: int) -> Mapping[str, bytes]:
    del size, changed  # tell a file from what it was before
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(path, "r:xz") as pack:
            for member in pack:
                content = pack.extractfile(member)
                if content is None:  # a folder, a link: not ours
                    raise RecordError(
                        f"{path} holds {member.name!r}, which is no file. Is it a pack of records?"
                    )
                files[member.name] = content.read()
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as e:
        raise RecordError(
            f"{path} cannot be unpacked: {e}. Take it from a copy, or remove it and run again."
        ) from e
    return files


def names_in(path: Path) -> frozenset[str]:
    """Return the names of the record files in a pack; they stay in memory when the files do not.

    Raises:
        MissingFileError, RecordError: as `read_pack`.
    """
    about = existing(path, "pack of records").stat()
    return _names(path, about.st_size, about.st_mtime_ns)


@cache
def _names(path: Path, size: int, changed: int) -> frozenset[str]:
    return frozenset(_unpacked(path, size, changed))


def pack_of(file: Path) -> Path | None:
    """Return the pack, in the folder of a record file, that has a file of its name; None if none has.

    Raises:
        RecordError: a pack is damaged.
    """
    packs = sorted(file.parent.glob(f"*{SUFFIX}"))
    return next((pack for pack in packs if file.name in names_in(pack)), None)


def add_to_pack(path: Path, files: Iterable[Path]) -> int:
    """Move record files into a pack, beside those that are in it; return how many were moved.

    A file takes the place of one with its name. It is removed only when the pack was written and read again,
    so a kill at any moment loses nothing. Two processes must not do this at once.

    Raises:
        RecordError: the pack that is there is damaged; nothing is changed.
        StorageError: it cannot be written; nothing is changed.
    """
    moved = {file: file.read_bytes() for file in files}
    if not moved:
        return 0
    content = {
        **(read_pack(path) if path.exists() else {}),
        **{file.name: raw for file, raw in moved.items()},
    }
    with replacing(path) as part:
        part.write_bytes(packed(content))
        if _unpacked.__wrapped__(part, 0, 0) != content:
            raise StorageError(
                f"{path} did not read as it was written. Is the disk sound? Nothing was changed."
            )
    for file in moved:
        file.unlink()
    return len(moved)


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a pack: sorted, without times or owners, so that they depend on the files alone."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as pack:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            pack.addfile(member, io.BytesIO(files[name]))
    return lzma.compress(plain.getvalue())
