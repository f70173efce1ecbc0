"""Measurements that are no runs over a stream: values by name in one JSON file, and what was measured.

A file is written anew after each value, so a kill loses one value at most. Its recipe names the hashes of
the checkpoint and of the images: a file of another recipe counts as not there, and is written over.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

from leantta.errors import RecordError
from leantta.evaluate.machine import command_line, describe_machine, loaded_versions
from leantta.evaluate.settings import canonical
from leantta.measure.record import write_json
from leantta.reproduce.at_hand import checkpoint_sha256, lack
from leantta.reproduce.target import Setting

KIND, FORMAT = "leantta measurement", 1

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One file of values: of which model on which images, with which settings, and which values."""

    name: str  # of the file, without its ending
    model: str
    dataset: str
    settings: Mapping[str, Any]  # plain JSON values that decide the others
    keys: tuple[str, ...]  # the values that make it whole

    def path(self, setting: Setting) -> Path:
        """Return where the file is."""
        return setting.folder / f"{self.name}.json"

    def lack(self, setting: Setting) -> str | None:
        """Return what is missing to measure it; None if nothing is."""
        missing = lack(setting, self.model, self.dataset)
        return None if missing is None else missing[1]

    def why(self, setting: Setting) -> str:
        """Return why a page has not all of its values."""
        return self.lack(setting) or "not measured yet"

    def is_done(self, setting: Setting) -> bool:
        """Tell whether the file is there, is of this recipe, and is whole."""
        return self.lack(setting) is None and set(self.keys) <= set(_values(self, setting))

    def begin(self, setting: Setting) -> "Notebook":
        """Return the file, open for values; those of the same recipe are in it already."""
        return Notebook(self.path(setting), self.recipe(setting), _values(self, setting))

    def recipe(self, setting: Setting) -> dict[str, Any]:
        """Return all that decides the values, as plain JSON values."""
        found = {
            "model": self.model,
            "dataset": self.dataset,
            "weights_sha256": checkpoint_sha256(self.model, self.dataset),
            "images_sha256": sha256_of(setting.images[self.dataset]),
            "corruptions": _corruptions(),
            "settings": self.settings,
        }
        plain: dict[str, Any] = json.loads(canonical(found))
        return plain

    def shown(self, setting: Setting) -> Values:
        """Return the values that are there, for a page; what is not at hand is not compared."""
        content = _read(self.path(setting))
        if content is None or content["recipe"]["settings"] != json.loads(canonical(self.settings)):
            return {}
        known: dict[str, str | None] = {}
        if self.dataset in setting.images:
            known["images_sha256"] = sha256_of(setting.images[self.dataset])
            with suppress(ModuleNotFoundError):  # without torch, checkpoints are not looked for
                known["weights_sha256"] = checkpoint_sha256(self.model, self.dataset)
        if any(value is not None and content["recipe"][name] != value for name, value in known.items()):
            return {}
        values: Values = content["values"]
        return values


class Notebook:
    """A file of values in the making."""

    def __init__(self, path: Path, recipe: Mapping[str, Any], values: Values) -> None:
        self.path, self.recipe, self.values = path, recipe, values
        self.started = datetime.now(timezone.utc).isoformat(timespec="seconds")

    def add(self, key: str, value: object) -> None:
        """Write a value down; when this returns, a kill of the process cannot lose it.

        Raises:
            StorageError: it cannot be written.
        """
        self.values[key] = value
        content = {
            "kind": KIND,
            "format": FORMAT,
            "recipe": self.recipe,
            "machine": describe_machine(),
            "versions": loaded_versions(),
            "command": command_line(),
            "started": self.started,
            "values": self.values,
        }
        write_json(content, self.path)


def _corruptions() -> str:
    """Return what decides how images are corrupted here."""
    from leantta.data.corruptions.frost import made_by  # here, as it needs scipy

    return made_by()


def _values(sheet: Sheet, setting: Setting) -> Values:
    """Return the values in the file if it is of the same recipe, else none."""
    content = _read(sheet.path(setting))
    if content is None or content["recipe"] != sheet.recipe(setting):
        return {}
    return dict(content["values"])


def _read(path: Path) -> dict[str, Any] | None:
    """Return what a file holds; None if there is none.

    Raises:
        RecordError: it is something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] != KIND or content["format"] != FORMAT:
            raise ValueError(f"it is {content['kind']!r}, format {content['format']!r}")
        _ = [content["recipe"][name] for name in ("settings", "images_sha256", "weights_sha256")]
        _ = content["values"].items()
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise RecordError(f"{path} is no measurement of `leantta reproduce`: {e}. Remove it.") from e
    found: dict[str, Any] = content
    return found


def sha256_of(path: Path) -> str:
    """Return the hash of a file; of a folder, that of its files' names and hashes."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        parts = [f"{file.relative_to(path).as_posix()} {sha256_of(file)}" for file in files]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    about = path.stat()
    return _file_sha256(path, about.st_size, about.st_mtime_ns)


@lru_cache
def _file_sha256(file: Path, size: int, changed: int) -> str:
    """Return the hash of a file; it is read again when its size or time of change is another."""
    del size, changed
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
