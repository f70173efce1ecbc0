"""Records of benchmarks that grow row by row: the rows, and what machine and versions they were made with."""

import json
from pathlib import Path
from typing import Any

from leantta.files import replacing
from leantta.records.provenance import describe_machine, loaded_versions

Row = dict[str, Any]


def rows_of(record: Path) -> list[Row]:
    """Return the rows of a record, none if it is not there."""
    if not record.exists():
        return []
    found: list[Row] = json.loads(record.read_text(encoding="utf-8"))["rows"]
    return found


def keep_rows(record: Path, rows: list[Row]) -> None:
    """Write a record with these rows, whole or not at all."""
    whole = {"rows": rows, "machine": describe_machine(), "versions": loaded_versions()}
    with replacing(record) as part:
        part.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
