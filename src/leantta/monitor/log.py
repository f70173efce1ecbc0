"""The log of a watch: lines of JSON, one for each input and each event, written as they come.

    {"watch": 1, "at": ..., "model": ..., "artifact_sha256": ..., "windows": [25, ...], ...}
    {"at": ..., "path": ..., "label": ..., "probability": ..., "shift": ..., "distances": {...}}
    {"at": ..., "event": "alarm", "input": 312, "shifted": 7, "inputs": 50, "chance": ..., "moved": {...}}

A line that was cut off by a loss of power is left out when the log is read.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leantta.errors import DataError, StorageError
from leantta.files import existing
from leantta.monitor.monitor import Event
from leantta.records.provenance import time_now

SCHEMA = 1


class Log:
    """A log that is written; at `most_bytes` it becomes FILE.1, and a new one begins."""

    def __init__(self, path: Path, header: Mapping[str, Any], *, most_bytes: int = 100_000_000) -> None:
        """Open the log, and go on with what is there.

        Raises:
            StorageError: it cannot be written.
        """
        self.path, self.header, self.most_bytes = path, header, most_bytes
        self._open()

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line; when this returns, the operating system has it.

        Raises:
            StorageError: the disk is full.
        """
        content = json.dumps({"at": time_now(), **line}, separators=(",", ":")).encode() + b"\n"
        if self._size and self._size + len(content) > self.most_bytes:
            os.close(self._file)
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
            self._open()
        self._write(content)

    def event(self, event: Event) -> None:
        """Write what has begun or ended."""
        told = asdict(event)
        self.add(
            {"event": told.pop("kind"), **told, "moved": {k: round(v, 3) for k, v in event.moved.items()}}
        )

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            self._size = os.fstat(self._file).st_size
            cut_off = self._size > 0 and os.pread(self._file, 1, self._size - 1) != b"\n"
        except OSError as e:
            raise StorageError(f"cannot write {self.path}: {e.strerror or e}. Choose another place.") from e
        start = json.dumps({"watch": SCHEMA, "at": time_now(), **self.header}, separators=(",", ":"))
        self._write((b"\n" if cut_off else b"") + start.encode() + b"\n")

    def _write(self, content: bytes) -> None:
        try:
            self._size += len(content)
            while content:
                content = content[os.write(self._file, content) :]
        except OSError as e:
            raise StorageError(f"cannot write {self.path}: {e.strerror or e}. Free some space.") from e


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Give the lines of a log that are whole.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: it cannot be read.
    """
    try:
        with existing(path, "log").open("rb") as file:
            for line in file:
                try:
                    told = json.loads(line)
                except ValueError:
                    continue
                if isinstance(told, dict):
                    yield told
    except OSError as e:
        raise DataError(f"cannot read {path}: {e.strerror or e}.") from e


def is_log(path: Path) -> bool:
    """Tell whether a file is the log of a watch, by its first line."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(10).startswith(b'{"watch":')
