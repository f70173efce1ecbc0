"""The inputs in an entry of the listing: a file, the members of a tar, the rows of a Parquet file.

What cannot be read is an item, too: reading it raises the error that its row will tell. Tars are read from
their start to their end, as they come, so a compressed one and one in an object store are read once.
"""

import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as pq

from leantta.errors import DataError
from leantta.modalities.modality import FileReader, Given, Read, Source
from leantta.scan.listing import WHOLE, Entry
from leantta.scan.places import place_of, shown

ROWS = 64
"""Rows of a Parquet file that are in memory at once."""

_BLOCK = 1_048_576
_NO_TAR = (tarfile.TarError, OSError, EOFError, ValueError)


class Item(NamedTuple):
    """One file, or one of the files in an archive."""

    path: str
    member: str | None
    modified: float | None
    read: Read  # its inputs: one image, or windows


def items_in(entry: Entry, reader: FileReader, column: str | None) -> Iterator[Item]:
    """Give the items of an entry, the bytes of each only until the next one is asked for."""
    name = shown(entry.store, entry.path)
    if entry.kind == "tar":
        yield from _members(entry, name, reader)
    elif entry.kind == "parquet":
        yield from _rows(entry, name, reader, column)
    elif entry.kind == "foreign":
        kinds = ", ".join(reader.endings)
        error = DataError(f"{name} is nothing that this model takes: its files end in {kinds}.")
        yield Item(name, None, entry.modified, partial(_refuse, error))
    else:
        yield Item(name, None, entry.modified, partial(_file, entry, name, reader))


def _refuse(error: DataError) -> NoReturn:
    raise error


def _file(entry: Entry, name: str, reader: FileReader) -> Iterator[Given]:
    if entry.store is None:
        yield from _all(reader.sources(Path(entry.path)))
        return
    try:
        with place_of(entry.store).open(entry.path) as file:
            data = file.read()
    except (OSError, pa.ArrowException) as e:
        raise _unreadable(name, e) from e
    yield from _all(reader.content(data, name))


def _all(sources: Iterator[Source]) -> Iterator[Given]:
    for _, read in sources:
        yield from read()


def _unreadable(name: str, error: Exception, hint: str = "Check the file.") -> DataError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return DataError(f"cannot read {name}: {' '.join(reason.split()).rstrip('.')}. {hint}")


def _members(entry: Entry, name: str, reader: FileReader) -> Iterator[Item]:
    """Give the members of a tar that the model reads; then, if it is damaged, the tar itself."""
    others = count = 0
    member = None
    try:
        with place_of(entry.store).open(entry.path) as file, _tar(file) as tar:
            while (info := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined] # else it keeps the headers of all
                own = info.name.rpartition("/")[2]
                if not info.isfile() or own.startswith("."):
                    continue
                if not own.lower().endswith(reader.endings):
                    others += 1
                    continue
                member, count = info.name, count + 1
                content = tar.extractfile(info)
                assert content is not None  # it is a file
                data = content.read()
                read = partial(_content, data, f"{name}: {member}", reader)
                yield Item(name, _text(member), info.mtime or entry.modified, read)
                member = None
            if tar.fileobj is not None and tar.fileobj.tell() == tar.offset:  # a cut between two members
                raise tarfile.ReadError("unexpected end of data")
    except _NO_TAR as e:
        hint = f"It is not whole: {count - (member is not None)} inputs came before. Copy it again."
        error = _unreadable(name if member is None else f"{name}: {member}", e, hint)
        yield Item(name, member and _text(member), entry.modified, partial(_refuse, error))
        return
    if not count:
        what = f"{others} other members" if others else "nothing"
        kinds = ", ".join(reader.endings)
        error = DataError(f"no input in {name}: it has {what}. The model reads {kinds}. Check the tar.")
        yield Item(name, None, entry.modified, partial(_refuse, error))


def _tar(file: BinaryIO) -> tarfile.TarFile:
    return tarfile.open(fileobj=file, mode="r|*", bufsize=_BLOCK)


def _text(member: str) -> str:
    return member.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _content(data: bytes, name: str, reader: FileReader) -> Iterator[Given]:
    yield from _all(reader.content(data, name))


def _rows(entry: Entry, name: str, reader: FileReader, column: str | None) -> Iterator[Item]:
    """Give the rows of a Parquet file; their numbers count from its start."""
    number = -1
    try:
        with place_of(entry.store).open(entry.path) as file:
            table = pq.ParquetFile(file)
            chosen = _column(table.schema_arrow, name, column)
            if not table.metadata.num_rows:
                raise DataError(f"{name} has no rows. Check the file.")
            groups = None if entry.group == WHOLE else [entry.group]
            number += sum(table.metadata.row_group(each).num_rows for each in range(max(entry.group, 0)))
            for batch in table.iter_batches(ROWS, row_groups=groups, columns=[chosen]):
                values = batch.column(0)
                if pa.types.is_struct(values.type):
                    values = compute.struct_field(values, "bytes")
                for value in values:
                    number += 1
                    read = partial(_value, value, f"{name}: row {number}", reader)
                    yield Item(name, str(number), entry.modified, read)
    except DataError as e:
        yield Item(name, None, entry.modified, partial(_refuse, e))
    except (OSError, pa.ArrowException, ValueError) as e:
        error = _unreadable(name, e, "It is not whole, or no Parquet file. Copy it again.")
        yield Item(name, None, entry.modified, partial(_refuse, error))


def _value(value: Any, name: str, reader: FileReader) -> Iterator[Given]:
    if not value.is_valid:
        raise DataError(f"{name} is empty.")
    yield from _content(value.as_py(), name, reader)


def _column(schema: Any, name: str, column: str | None) -> str:
    """Return the name of the column with the bytes of files.

    Raises:
        DataError: it is not there, or nobody said which of several it is.
    """
    held = [field.name for field in schema if _is_bytes(field.type)]
    there = ", ".join(f"{field.name} ({field.type})" for field in schema)
    if column is None and len(held) == 1:
        return str(held[0])
    if column is None and not held:
        raise DataError(f"{name} has no column of bytes; it has {there}. The files must be in the table.")
    if column is None:
        raise DataError(f"{name} has {len(held)} columns of bytes; it has {there}. Name one with --column.")
    if column not in held:
        raise DataError(f"{name} has no column of bytes called {column!r}; it has {there}.")
    return column


def _is_bytes(kind: Any) -> bool:
    """Tell whether a column holds bytes, or as Hugging Face has it a struct of bytes and path."""
    if pa.types.is_struct(kind):
        place = kind.get_field_index("bytes")
        return place >= 0 and _is_bytes(kind.field(place).type)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
