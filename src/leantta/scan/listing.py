"""The listing of a scan: what there is to do, in chunks, written before the first input is read.

A chunk is what one worker does at a time and what one part file holds: about `Settings.chunk` inputs. It is a
row group of `listing/NNNNNN.parquet`, of which each has a thousand. Files and tars are not opened for it. Of
a Parquet file each row group is an entry; of a small one in a store the whole file, so as not to open it.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from leantta.data.audio import SUFFIXES as SOUNDS
from leantta.data.imagefiles import SUFFIXES as IMAGES
from leantta.errors import DataError
from leantta.files import replacing
from leantta.scan.places import Asked, Place

Kind = Literal["file", "tar", "parquet", "foreign"]

PER_SHARD = 1000
"""Chunks in a file of the listing, and part files in a folder."""

TARS, TABLES = (".tar", ".tar.gz", ".tgz"), (".parquet", ".pq")

SPLIT = 67_108_864
"""A Parquet file of more bytes is opened also in a store."""

FILE_BYTES, MEMBER_BYTES = 4_194_304, 16_384
"""A file of more bytes counts as several inputs; so many bytes of a tar or table are taken for one."""

WHOLE = -1
"""In place of the number of a row group: all of them."""

_SCHEMA = pa.schema(
    [
        *(("store", pa.string()), ("path", pa.binary()), ("kind", pa.string()), ("group", pa.int32())),
        *(("size", pa.int64()), ("modified", pa.float64())),
    ]
)


class Entry(NamedTuple):
    """A file with inputs, or a part of it."""

    store: str | None
    path: str
    kind: Kind
    group: int  # row group of a Parquet file, or WHOLE
    size: int
    modified: float | None


class Listed(NamedTuple):
    """What a listing holds."""

    chunks: int
    entries: int
    size: int  # bytes


def write_listing(
    folder: Path,
    asked: Sequence[Asked],
    endings: Sequence[str],
    *,
    chunk: int,
    without: Path,
    told: Callable[[int], None],
) -> Listed:
    """Write the listing of what was asked for, but for what lies in the folder `without`.

    Raises:
        DataError: there is nothing, or a folder cannot be looked into.
        StorageError: the disk is full.
    """
    writer = _Writer(folder, chunk)
    for number, each in enumerate(asked):
        for entry, cost in _entries(each, endings, without):
            if any(before.has(each.place, entry.path) for before in asked[:number]):
                continue
            writer.add(entry, cost)
            told(writer.entries)
    listed = writer.close()
    if not listed.chunks:
        names = ", ".join(each.text for each in asked[:3])
        raise DataError(
            f"nothing to scan in {names}. The model reads files that end in {', '.join(endings)}, also in "
            f"{', '.join(TARS)} and {', '.join(TABLES)}. Check the paths."
        )
    return listed


def _entries(asked: Asked, endings: Sequence[str], without: Path) -> Iterator[tuple[Entry, int]]:
    own = f"{without.absolute()}{os.sep}"
    place = asked.place
    for found in asked.files():
        if place.store is None and found.path.startswith(own):
            continue
        kind = _kind(found.path, endings)
        if kind is None:
            if found is not asked.start:
                continue
            kind = "file"  # it was named by itself, so it is an input, whatever it is called
        entry = Entry(place.store, found.path, kind, WHOLE, found.size, found.modified)
        if kind == "parquet" and (place.store is None or found.size > SPLIT):
            yield from _groups(place, entry)
        else:
            yield entry, _cost(entry)


def _kind(path: str, endings: Sequence[str]) -> Kind | None:
    name = path.lower()
    if name.endswith(tuple(endings)):
        return "file"
    if name.endswith(TARS):
        return "tar"
    if name.endswith(TABLES):
        return "parquet"
    return "foreign" if name.endswith((*IMAGES, *SOUNDS)) else None


def _groups(place: Place, entry: Entry) -> Iterator[tuple[Entry, int]]:
    try:
        with place.open(entry.path) as file:
            facts = pq.read_metadata(file)
    except (OSError, pa.ArrowException):  # the worker will say so in a row
        yield entry, 1
        return
    if not facts.num_rows:
        yield entry, 1
    for group in range(facts.num_row_groups):
        part = facts.row_group(group)
        if part.num_rows:
            yield entry._replace(group=group, size=part.total_byte_size), part.num_rows


class _Writer:
    """Cuts entries into chunks and writes them."""

    def __init__(self, folder: Path, chunk: int) -> None:
        self.folder, self.chunk = folder, chunk
        self.entries = self.size = self.chunks = 0
        self.waiting: list[Entry] = []
        self.cost = 0
        self.done: list[tuple[pa.Table, int]] = []

    def add(self, entry: Entry, cost: int) -> None:
        self.entries += 1
        self.size += entry.size
        if self.waiting and self.cost + cost > self.chunk:
            self._end_chunk()
        self.waiting.append(entry)
        self.cost += cost

    def close(self) -> Listed:
        if self.waiting:
            self._end_chunk()
        if self.done:
            self._end_shard()
        return Listed(self.chunks, self.entries, self.size)

    def _end_chunk(self) -> None:
        columns = list(zip(*self.waiting, strict=True))
        columns[1] = tuple(os.fsencode(path) for path in columns[1])
        arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
        self.done.append((pa.table(arrays, schema=_SCHEMA), self.cost))
        self.chunks += 1
        self.waiting, self.cost = [], 0
        if len(self.done) == PER_SHARD:
            self._end_shard()

    def _end_shard(self) -> None:
        costs = json.dumps([cost for _, cost in self.done]).encode()
        with replacing(shard(self.folder, self.chunks - 1)) as part:
            schema = _SCHEMA.with_metadata({b"costs": costs})
            with pq.ParquetWriter(part, schema, compression="zstd") as writer:
                for table, _ in self.done:
                    writer.write_table(table, row_group_size=len(table))
        self.done = []


def _cost(entry: Entry) -> int:
    """Return about how many inputs an entry is worth."""
    return max(1, entry.size // (FILE_BYTES if entry.kind in ("file", "foreign") else MEMBER_BYTES))


def shard(folder: Path, chunk: int) -> Path:
    """Return the file of the listing that has a chunk."""
    return folder / f"{chunk // PER_SHARD:06d}.parquet"


def read_costs(folder: Path, chunks: int) -> Iterator[int]:
    """Give about how many inputs each chunk has."""
    for first in range(0, chunks, PER_SHARD):
        yield from json.loads(pq.read_schema(shard(folder, first)).metadata[b"costs"])


class Listing:
    """A listing that is read, a chunk at a time; the file of the last one stays open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path: Path | None = None
        self._file: Any = None

    def chunk(self, number: int) -> list[Entry]:
        """Return the entries of a chunk."""
        path = shard(self.folder, number)
        if path != self._path:
            self._path, self._file = path, pq.ParquetFile(path)
        table = self._file.read_row_group(number % PER_SHARD)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        return [Entry(store, os.fsdecode(path), *rest) for store, path, *rest in rows]
