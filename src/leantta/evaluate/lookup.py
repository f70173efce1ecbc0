"""Where the record of a run is: by its whole recipe, or by what is known of it.

A record is a file of its own while it is made, and may be moved into a pack when it is finished (`packs`).
"""

import json
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from leantta.errors import MissingFileError
from leantta.evaluate.packs import SUFFIX, names_in, pack_of, read_pack
from leantta.evaluate.record import Record, parse_record, read_record
from leantta.records.provenance import recipe_sha256

Recipe = Mapping[str, Any]

END = 200
"""Bytes at the end of a record file that hold its last line."""


class Place(NamedTuple):
    """Where a record is: in a file of its own, or in a pack under a name."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.member or self.path.name

    def record(self) -> Record:
        """Return the record.

        Raises:
            MissingFileError: it is not there any more.
            RecordError: it is no record, or it is damaged.
        """
        path, member = self
        if member is None:
            try:
                return read_record(path)
            except MissingFileError:
                if (pack := pack_of(path)) is None:  # else it was moved there after it was found
                    raise
                path, member = pack, path.name
        return parse_record(read_pack(path)[member], f"{member} in {path}")


def record_path(folder: Path, recipe: Recipe) -> Path:
    """Return where the record of a recipe belongs: the name says what was run, the hash tells the rest."""
    stream = recipe["stream"]
    words = [
        *(recipe["model"], recipe["dataset"], stream["name"], recipe["method"]),
        *(f"seed{stream['seed']}", recipe_sha256(recipe)[:8]),
    ]
    return folder / ("-".join(re.sub(r"[^\w.]+", "_", word) for word in words) + ".jsonl")


def places(folder: Path, names: str = "*.jsonl") -> list[Place]:
    """Return where the records of a folder are whose names fit; each name once, a file before a pack.

    Raises:
        RecordError: a pack is damaged.
    """
    seen = {path.name: Place(path) for path in folder.glob(names)}
    for pack in sorted(folder.glob(f"*{SUFFIX}")):  # after the files: none is missed that is moved meanwhile
        for name in names_in(pack):
            if name not in seen and fnmatchcase(name, names):
                seen[name] = Place(pack, name)
    return [seen[name] for name in sorted(seen)]


def find_record(folder: Path, agrees: Callable[[Recipe], bool], names: str = "*.jsonl") -> Place | None:
    """Return the newest finished record in a folder whose recipe agrees; None if there is none.

    Only the first and the last line of a file are read, and packs once, so that thousands of records are
    looked through in a moment; `names` is a glob that leaves out what cannot be meant.

    Raises:
        RecordError: a pack is damaged.
    """
    matches: list[tuple[str, int, Place]] = []  # a clone has lost the times of its files: they come second
    for place in places(folder, names):
        try:
            header, changed = finished_header(place), place.path.stat().st_mtime_ns
        except FileNotFoundError:  # it was moved into a pack meanwhile
            return find_record(folder, agrees, names)
        if header is not None and agrees(header["recipe"]):
            matches.append((header["started"], changed, place))
    return max(matches)[-1] if matches else None


def finished_header(place: Place) -> dict[str, Any] | None:
    """Return the first line of a record that is finished; None if it is not, or is no record.

    Raises:
        FileNotFoundError: it is not there any more.
    """
    about = place.path.stat()
    if place.member is None:
        return _header_of_file(place.path, about.st_size, about.st_mtime_ns)
    return _headers_in_pack(place.path, about.st_size, about.st_mtime_ns).get(place.member)


@cache
def _header_of_file(path: Path, size: int, changed: int) -> dict[str, Any] | None:
    del changed  # tells a file from what it was before
    with path.open("rb") as file:
        first = file.readline()
        file.seek(max(size - END, 0))
        return _header(first, file.read())


@cache
def _headers_in_pack(path: Path, size: int, changed: int) -> dict[str, dict[str, Any] | None]:
    del size, changed
    return {name: _header(raw.partition(b"\n")[0], raw[-END:]) for name, raw in read_pack(path).items()}


def _header(first: bytes, end: bytes) -> dict[str, Any] | None:
    """Return the first line as a header if the last one, in these bytes, says that the record is finished."""
    last = end.rpartition(b"\n")[0].rpartition(b"\n")[2]
    try:
        header: dict[str, Any] = json.loads(first)
        whole = "finished" in json.loads(last) and {"recipe", "started"} <= header.keys()
    except (ValueError, TypeError, AttributeError):
        return None
    return header if whole else None
