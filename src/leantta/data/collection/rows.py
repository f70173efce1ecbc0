"""Lists of images: a CSV file or JSON lines with path, label and domain; paths are from the list's folder."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leantta.data.collection.collection import NO_LABEL, Collection, Layout, shown
from leantta.data.collection.labels import as_numbers
from leantta.data.datasets import Labels
from leantta.data.imagefiles import Pixels, read_image
from leantta.errors import DataError

SUFFIXES = (".csv", ".jsonl")
COLUMNS = ("path", "label", "domain")


class Row(NamedTuple):
    """One image of a list, or of a tar: where it was said, and what was said."""

    where: str
    key: str
    size: int
    label: str | None
    domain: str | None


def open_list(path: Path, layout: Layout | None, classes: Sequence[str] | None) -> Collection:
    """Return the images that a list names.

    Raises:
        DataError: it is no such list, names what is not there, or its labels do not fit.
    """
    rows, missing = [], []
    for number, values in _csv(path) if path.suffix.lower() == ".csv" else _json_lines(path):
        name = values.get("path")
        if not isinstance(name, str) or not name:
            raise DataError(
                f"{path}, line {number}: no path. Each line needs one; label and domain may follow."
            )
        file = path.parent / name
        try:
            size = file.stat().st_size
        except (OSError, ValueError):
            size = 0
            missing.append(f"line {number}: {shown(name)}")
        rows.append(
            Row(f"line {number}", name, size, _word(values.get("label")), _word(values.get("domain")))
        )
    if missing:
        raise DataError(
            f"{len(missing)} of the {len(rows)} images in {path} are not there, first {missing[0]}. "
            f"Paths are from the folder of the list, or absolute."
        )
    return collected(path, layout or "list", rows, classes)


def collected(
    path: Path,
    layout: Layout,
    rows: Sequence[Row],
    classes: Sequence[str] | None,
    read: Callable[[int], Pixels] | None = None,
) -> Collection:
    """Return what rows add up to; labels, and domains, are given for all of them or for none.

    Without `read`, keys are paths from the folder that `path` is, or is in.

    Raises:
        DataError: there are no rows, only some have a label or a domain, or a label is no class.
    """
    if not rows:
        raise DataError(f"{path} names no images.")
    unlabelled = layout == "unlabelled"
    names = None if unlabelled else _column(path, rows, "label")
    domain_names = None if unlabelled else _column(path, rows, "domain")
    keys = tuple(row.key for row in rows)
    labels: Labels = np.full(len(rows), NO_LABEL, np.int64)
    known: tuple[str, ...] = ()
    numbered = False
    if names is not None:
        labels, known, numbered = as_numbers(names, classes, str(path))
    domains = tuple(sorted(set(domain_names or ())))
    place = {name: number for number, name in enumerate(domains)}
    return Collection(
        path=path,
        layout=layout,
        keys=keys,
        sizes=np.array([row.size for row in rows], np.int64),
        labels=labels,
        classes=known,
        numbered=numbered,
        domain=None if domain_names is None else np.array([place[name] for name in domain_names], np.int64),
        domains=domains,
        read=read or partial(_read, path if path.is_dir() else path.parent, keys),
    )


def _column(path: Path, rows: Sequence[Row], name: str) -> list[str] | None:
    values: list[str | None] = [getattr(row, name) for row in rows]
    given = [value for value in values if value is not None]
    if not given:
        return None
    if len(given) < len(values):
        lacking = rows[values.index(None)].where
        raise DataError(
            f"{path}: {lacking} has no {name}, but {len(given)} of {len(rows)} images have one. "
            f"Give it for all, or for none."
        )
    return given


def _csv(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            names = rows.fieldnames or ()
            if "path" not in names:
                raise DataError(
                    f"{path} does not begin with the names of its columns, path,label,domain; its first line "
                    f"is {','.join(names)[:60]!r}. Only path is needed."
                )
            for values in rows:
                if None in values:
                    raise DataError(f"{path}, line {rows.line_num}: more values than columns. Quote commas.")
                yield rows.line_num, values
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise _unreadable(path, "CSV", e) from e


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise DataError(f'{path}, line {number}: not an object such as {{"path": "a.jpg"}}.')
                yield number, value
    except json.JSONDecodeError as e:
        raise DataError(f"{path}, line {number}: {e}. Each line is one JSON object.") from e
    except (OSError, UnicodeDecodeError) as e:
        raise _unreadable(path, "JSON lines", e) from e


def _unreadable(path: Path, what: str, error: Exception) -> DataError:
    return DataError(f"{path} cannot be read as {what}: {error}. Save it as UTF-8.")


def _word(value: object) -> str | None:
    """Return a label or a domain as text; None if nothing was given."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return str(value).strip()


def _read(folder: Path, keys: Sequence[str], place: int) -> Pixels:
    return read_image(folder / keys[place])
