"""Records as a person, or a program, wants to see them: text, Markdown or JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from leantta.disturbances.corruptions.names import FAMILIES
from leantta.errors import RecordError
from leantta.evaluate.lookup import Place, places
from leantta.evaluate.packs import SUFFIX, is_pack, names_in
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


def load_records(paths: Sequence[Path], names: str = "*.jsonl") -> list[Record]:
    """Return the records that the paths mean: a file, a pack of them, or all of both in a folder.

    Those of a pack and of a folder are the ones whose names fit. They come in the order of their start, no
    adaptation first: the others are compared to it.

    Raises:
        MissingFileError: there is nothing at a path.
        RecordError: a folder or pack has no such records, or a file is none.
    """
    loaded: list[Record] = []
    for path in paths:
        if existing(path, "record").is_dir():
            inside = places(path, names)
            if not inside:
                raise RecordError(
                    f"the folder {path} has no records ({names}, *{SUFFIX}). `leantta eval` writes them."
                )
        elif is_pack(path):
            inside = [Place(path, name) for name in sorted(names_in(path)) if fnmatchcase(name, names)]
            if not inside:
                raise RecordError(f"the pack {path} has no records {names}.")
        else:
            loaded.append(read_record(path))
            continue
        loaded += sorted((place.record() for place in inside), key=_order)
    return loaded


def _order(record: Record) -> tuple[bool, str]:
    return record.method != "none", record.header.provenance.started
