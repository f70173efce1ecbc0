"""Records that are one JSON file: written whole, readable by a person, of a kind that is checked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leantta.errors import RecordError
from leantta.files import existing, replacing


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write JSON, lists of numbers on one line each; the file appears whole or not at all."""
    with replacing(path) as part:
        part.write_text(_dumped(content, 0) + "\n", encoding="utf-8")


def read_json(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Return a record of that kind as it lies.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is another kind of record, it is damaged, or a newer version wrote it.
    """
    content = _parsed(path)
    if content.get("kind") != kind:
        raise RecordError(f"{path} is no record of `{kind}`. Give a file that it wrote.")
    if content.get("format") != version:
        raise RecordError(
            f"{path} has format {content.get('format')!r}; this version reads {version}. Upgrade leantta."
        )
    return content


def kind_of(path: Path) -> object:
    """Return what kind of record a file says that it holds.

    Raises:
        MissingFileError, RecordError: as `read_json`.
    """
    return _parsed(path).get("kind")


def _parsed(path: Path) -> dict[str, Any]:
    existing(path, "record")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as e:
        raise RecordError(f"{path} cannot be read as JSON: {e}. Is it a record?") from e
    return content if isinstance(content, dict) else {}


def _dumped(value: Any, depth: int) -> str:
    """Return JSON that a person can look through: raw values side by side, all else a line each."""
    pad = " " * (depth + 1)
    if isinstance(value, Mapping) and value:
        inner = [f"{pad}{json.dumps(name)}: {_dumped(each, depth + 1)}" for name, each in value.items()]
        return "{\n" + ",\n".join(inner) + "\n" + pad[1:] + "}"
    if isinstance(value, list | tuple) and any(isinstance(each, list | tuple | dict) for each in value):
        inner = [f"{pad}{_dumped(each, depth + 1)}" for each in value]
        return "[\n" + ",\n".join(inner) + "\n" + pad[1:] + "]"
    return json.dumps(value, allow_nan=False)
