"""Where the record of a run is: by its whole recipe, or by what is known of it."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from leantta.records.provenance import recipe_sha256

Recipe = Mapping[str, Any]


def record_path(folder: Path, recipe: Recipe) -> Path:
    """Return where the record of a recipe belongs: the name says what was run, the hash tells the rest."""
    stream = recipe["stream"]
    words = [
        *(recipe["model"], recipe["dataset"], stream["name"], recipe["method"]),
        *(f"seed{stream['seed']}", recipe_sha256(recipe)[:8]),
    ]
    return folder / ("-".join(re.sub(r"[^\w.]+", "_", word) for word in words) + ".jsonl")


def find_record(folder: Path, agrees: Callable[[Recipe], bool], names: str = "*.jsonl") -> Path | None:
    """Return the newest finished record in a folder whose recipe agrees; None if there is none.

    Only the first and the last line of a file are read, so that thousands of records are looked through in a
    moment; `names` is a glob that leaves out what cannot be meant.
    """
    matches: list[tuple[str, int, Path]] = []  # a clone has lost the times of its files: they come second
    for path in folder.glob(names):
        about = path.stat()
        header = _finished_header(path, about.st_size, about.st_mtime_ns)
        if header is not None and agrees(header["recipe"]):
            matches.append((header["started"], about.st_mtime_ns, path))
    return max(matches)[-1] if matches else None


@cache
def _finished_header(path: Path, size: int, changed: int) -> dict[str, Any] | None:
    """Return the first line of a record that is finished; None if it is not, or is no record."""
    del changed  # tells a file from what it was before
    with path.open("rb") as file:
        first = file.readline()
        file.seek(max(size - 200, 0))
        last = file.read().rpartition(b"\n")[0].rpartition(b"\n")[2]
    try:
        header: dict[str, Any] = json.loads(first)
        whole = "finished" in json.loads(last) and {"recipe", "started"} <= header.keys()
    except (ValueError, TypeError, AttributeError):
        return None
    return header if whole else None
