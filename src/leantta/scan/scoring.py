"""One worker of a scan: a model file, and chunk after chunk into a part file each.

A part appears whole or not at all, by its name, so that a chunk that is done twice, here or elsewhere,
leaves one part. An input that cannot be read, or that the model refuses, becomes a row with its error.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leantta.errors import LeanTTAError, MissingExtraError, StorageError
from leantta.files import replacing
from leantta.modalities.kinds import modality_for
from leantta.runtime.container import DIGEST_KEY, read_container
from leantta.runtime.session import load
from leantta.scan.attempts import Attempt
from leantta.scan.items import Item, items_in
from leantta.scan.listing import PER_SHARD, Entry, Listing
from leantta.scan.places import shown
from leantta.scan.rows import Rows, Where

LISTING, PARTS, ATTEMPTS = "listing", "parts", "attempts"
"""What lies where in the output folder."""

ROWS = 1024
"""Rows that are in memory before they are written."""

Waiting = list[tuple[Where, Any]]
"""Inputs that wait for their batch to be full."""

_DIED = "each worker that read it died"


class Work(NamedTuple):
    """What every worker must know."""

    folder: Path
    engine: str
    column: str | None
    batch: int
    threads: int | None


class Done(NamedTuple):
    """What became of a chunk."""

    chunk: int
    inputs: int
    errors: int


class Scorer:
    """A loaded model that does chunks."""

    def __init__(self, model: Path, work: Work) -> None:
        """Load the model file; raises LeanTTAError as `load` does."""
        self.work = work
        self.listing = Listing(work.folder / LISTING)
        self.session = load(model, engine=work.engine, threads=work.threads)
        info = self.session.info
        self.reader = modality_for(info.input.kind).reader(info)
        self.rows = Rows(info, read_container(model).metadata[DIGEST_KEY])

    def close(self) -> None:
        """Give back the model."""
        self.session.close()

    def do(self, chunk: int) -> Done:
        """Write the part of a chunk.

        Raises:
            StorageError: the disk is full.
            MissingExtraError: what reads such files is not installed.
        """
        entries = self.listing.chunk(chunk)
        inputs = errors = 0
        waiting: list[Any] = []
        target = part_of(self.work.folder, chunk)
        attempt_file = self.work.folder / ATTEMPTS / f"{chunk:09d}"
        with (
            Attempt(attempt_file) as attempt,
            replacing(target) as part,
            pq.ParquetWriter(part, self.rows.schema, compression="zstd") as writer,
        ):
            for table in self._tables(entries, attempt):
                inputs += len(table)
                errors += len(table) - table["error"].null_count
                waiting.append(table)
                if sum(map(len, waiting)) >= ROWS:
                    writer.write_table(pa.concat_tables(waiting).combine_chunks())
                    waiting.clear()
            if waiting:
                writer.write_table(pa.concat_tables(waiting).combine_chunks())
        return Done(chunk, inputs, errors)

    def _tables(self, entries: Sequence[Entry], attempt: Attempt) -> Iterator[Any]:
        """Give the rows of all inputs; a careful attempt is done with one before it looks at the next."""
        most = 1 if attempt.careful else self.work.batch
        waiting: Waiting = []
        position = 0
        for entry in entries:
            items = items_in(entry, self.reader, self.work.column)
            while True:
                if not attempt.fetches(position):
                    whole = Item(shown(entry.store, entry.path), None, entry.modified, lambda: iter(()))
                    why = f"{_DIED}, so the rest of it was left out"
                    yield self.rows.failed(Where(whole, 0, None), why)
                    position += 1
                    break
                item = next(items, None)
                if item is None:
                    break
                if attempt.reads(position):
                    yield from self._read(item, waiting, most)
                else:
                    yield self.rows.failed(Where(item, 0, None), _DIED)
                position += 1
        yield from self._answers(waiting)

    def _read(self, item: Item, waiting: Waiting, most: int) -> Iterator[Any]:
        """Give the rows of the batches that an item fills; what is left waits."""
        window = 0
        try:
            for start_s, values in item.read():
                waiting.append((Where(item, window, start_s), values))
                window += 1
                if len(waiting) >= most:
                    yield from self._answers(waiting)
                    waiting.clear()
        except (StorageError, MissingExtraError):
            raise
        except Exception as e:  # noqa: BLE001 - one input must not end a run of a billion: its row tells
            yield from self._answers(waiting)
            waiting.clear()
            yield self.rows.failed(Where(item, window, None), _line(e))

    def _answers(self, waiting: Waiting) -> Iterator[Any]:
        if not waiting:
            return
        try:
            outputs = self.session.run(np.stack([values for _, values in waiting]))
        except LeanTTAError as e:
            if len(waiting) == 1:
                yield self.rows.failed(waiting[0][0], _line(e))
                return
            for each in waiting:  # it may be one of them alone
                yield from self._answers([each])
            return
        yield self.rows.answered([where for where, _ in waiting], outputs)


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, LeanTTAError) else f"{type(error).__name__}: {text}"


def part_of(folder: Path, chunk: int) -> Path:
    """Return the part file of a chunk."""
    return folder / PARTS / f"{chunk // PER_SHARD:06d}" / f"{chunk:09d}.parquet"
