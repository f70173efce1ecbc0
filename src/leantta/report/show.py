"""Records as a person, or a program, wants to see them: text, Markdown or JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from leantta.disturbances.corruptions.names import FAMILIES
from leantta.errors import RecordError
from leantta.evaluate.record import Record, read_record
from leantta.files import existing
from leantta.report.families import families
from leantta.report.groups import is_corrupted
from leantta.report.summary import summarize, summary


def show(records: Sequence[Record], *, by_family: bool, markdown: bool = False, as_json: bool = False) -> str:
    """Return the summary of the records, and the accuracy per corruption if asked for.

    Raises:
        RecordError: there are no records, one is not finished, or one is there twice.
    """
    if as_json:
        rows = [asdict(row) for row in summarize(records)]
        return json.dumps(rows, indent=1, default=lambda value: value._asdict())
    tables = [summary(records)]
    if by_family and any(is_corrupted(domain) for record in records for domain in record.header.domains):
        tables.append(families(records, FAMILIES))
    return "\n\n".join(table.markdown() if markdown else table.text() for table in tables)


def load_records(paths: Sequence[Path]) -> list[Record]:
    """Return the records that the paths mean; a folder means all of its `.jsonl` files.

    Those of a folder come in the order of their start, no adaptation first: the others are compared to it.

    Raises:
        MissingFileError: there is nothing at a path.
        RecordError: a folder has no records, or a file is none.
    """
    loaded: list[Record] = []
    for path in paths:
        if not existing(path, "record").is_dir():
            loaded.append(read_record(path))
            continue
        inside = [read_record(file) for file in sorted(path.glob("*.jsonl"))]
        if not inside:
            raise RecordError(f"the folder {path} has no records (*.jsonl). `leantta eval` writes them.")
        loaded += sorted(inside, key=_order)
    return loaded


def _order(record: Record) -> tuple[bool, str]:
    return record.method != "none", record.header.provenance.started
