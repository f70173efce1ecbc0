"""Writing a record while it is made: a run that is killed loses a few seconds, never a whole file."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

import numpy as np

from leantta.errors import RecordError, StorageError
from leantta.evaluate.packs import pack_of, read_pack
from leantta.evaluate.record import (
    SCHEMA,
    Chunk,
    Content,
    Header,
    Record,
    RunSettings,
    joined,
    parse,
    recipe_of,
    scan,
)
from leantta.files import replacing
from leantta.records.provenance import Provenance, provenance_now, time_now
from leantta.streams.stream import Stream


def header_of(settings: RunSettings, stream: Stream, batch_size: int) -> Header:
    """Return the header of a run that starts now, in this process."""
    return Header(
        recipe=recipe_of(settings, stream, batch_size),
        inputs=len(stream),
        domains=stream.domains,
        provenance=provenance_now(),
    )


class Journal:
    """A record in the making: in memory, and in a file if there is a path.

    A file of the same recipe is gone on with if `resume`, else begun anew; a finished one is left alone, also
    in a pack.
    """

    def __init__(self, header: Header, path: Path | None, *, resume: bool) -> None:
        self.header = header
        self.path = path
        self.chunks: list[Chunk] = []
        self.finished: str | None = None
        self._file: int | None = None
        if path is not None:
            self._open(path, resume=resume)

    def __enter__(self) -> "Journal":
        """Return itself; the file is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; what was written stays."""
        self._close()

    @property
    def done(self) -> int:
        """How many inputs are in the record."""
        return sum(len(chunk.labels) for chunk in self.chunks)

    def append(self, chunk: Chunk) -> None:
        """Add a chunk; when this returns, a kill of the process cannot lose it.

        Raises:
            StorageError: the disk is full, or went away.
        """
        self._write(chunk_line(chunk))
        self.chunks.append(chunk)

    def finish(self) -> None:
        """Mark the record as whole."""
        finished = time_now()
        self._write(finished_line(finished))
        self.finished = finished

    def record(self) -> Record:
        """Return what there is so far."""
        return joined(self.header, self.chunks, self.finished)

    def _open(self, path: Path, *, resume: bool) -> None:
        here = self.header.provenance  # of this process; the file may hold that of an earlier one
        end = self._take_over(path, resume=resume)
        if self.finished is not None:
            return
        try:
            if end == 0:
                with replacing(path) as part:
                    part.write_bytes(header_line(self.header))
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
            if end:
                os.ftruncate(self._file, end)
                self._write(resumed_line(here))
        except OSError as e:
            self._close()
            if isinstance(e, StorageError):
                raise
            raise StorageError(f"cannot write {path}: {e.strerror or e}. Choose another place.") from e

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _take_over(self, path: Path, *, resume: bool) -> int:
        """Take over what a file of this recipe holds; return where to go on in it, 0 for the beginning."""
        content = _packed(path) if not path.exists() else None
        if content is None:
            if not path.exists() or (path.is_file() and path.stat().st_size == 0):
                return 0
            content = scan(path)
        if content.header.recipe_sha256 != self.header.recipe_sha256:
            raise RecordError(
                f"{path} is the record of another run: {_difference(content.header, self.header)}. "
                f"Name another file, or remove this one."
            )
        if content.finished is None and not resume:
            return 0
        self.header, self.chunks, self.finished = content.header, content.chunks, content.finished
        return content.end

    def _write(self, line: bytes) -> None:
        if self._file is None:
            return
        try:
            while line:  # a nearly full disk may take a part of it
                line = line[os.write(self._file, line) :]
        except OSError as e:
            raise StorageError(
                f"cannot write {self.path}: {e.strerror or e}. Free some space and run again: "
                f"{self.done} of {self.header.inputs} inputs are kept."
            ) from e


def _packed(path: Path) -> Content | None:
    """Return the finished record that was moved from here into a pack; None if there is none."""
    pack = pack_of(path)
    content = None if pack is None else parse(read_pack(pack)[path.name], f"{path.name} in {pack}")
    return content if content is not None and content.finished is not None else None


def _difference(there: Header, here: Header) -> str:
    old, new = there.recipe, here.recipe
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return "; ".join(f"its {name} is {old.get(name)!r:.60}, not {new.get(name)!r:.60}" for name in names)


def header_line(header: Header) -> bytes:
    """Return the first line of a record file."""
    return _line(
        {
            "record": SCHEMA,
            "recipe": header.recipe,
            "recipe_sha256": header.recipe_sha256,
            "inputs": header.inputs,
            "domains": [list(domain) for domain in header.domains],
            **asdict(header.provenance),
        }
    )


def chunk_line(chunk: Chunk) -> bytes:
    """Return the line of a chunk."""
    arrays = {name: array for name, array in chunk._asdict().items() if isinstance(array, np.ndarray)}
    return _line({"start": chunk.start, **{name: array.tolist() for name, array in arrays.items()}})


def resumed_line(here: Provenance) -> bytes:
    """Return the line that tells where, and with what, a run that was broken off goes on."""
    return _line({"resumed": here.started, "machine": here.machine, "versions": here.versions})


def finished_line(when: str) -> bytes:
    """Return the last line of a record file."""
    return _line({"finished": when})


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"
