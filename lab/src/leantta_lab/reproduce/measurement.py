"""Measurements that are no runs over a stream: values by name in one JSON file, and what was measured.

A file is written anew after each value, so a kill loses one value at most. Its recipe names the hashes of
the checkpoint and of the images: a file of another recipe counts as not there, and is written over.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leantta.errors import MissingFileError, RecordError
from leantta.progress import Progress
from leantta.records.json_file import read_json, write_json
from leantta.records.provenance import canonical, provenance_now, recipe_sha256
from leantta_lab.reproduce.at_hand import checkpoint_sha256, file_sha256, lack
from leantta_lab.reproduce.run_record import agrees
from leantta_lab.reproduce.target import Job, Setting

if TYPE_CHECKING:
    from leantta_lab.reproduce.torch_probe import Probe

KIND, FORMAT = "leantta measurement", 1

Values = dict[str, Any]


class Measure(Protocol):
    """How the values of a sheet are measured; a module's own function, since jobs are pickled."""

    def __call__(self, probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], Any]:
        """Get ready, and return what measures the value of a key."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One file of values: of which model on which images, with which settings, and which values."""

    name: str  # of the file, without its ending
    job: str  # what the job that fills it is called
    model: str
    dataset: str
    settings: Mapping[str, Any]  # plain JSON values that decide the others
    keys: tuple[str, ...]  # the values that make it whole
    measure: Measure
    seconds: float  # guess on one core

    def path(self, setting: Setting) -> Path:
        """Return where the file is."""
        return setting.folder / f"{self.name}.json"

    def lack(self, setting: Setting) -> str | None:
        """Return what is missing to measure it; None if nothing is."""
        missing = lack(setting, self.model, self.dataset)
        return None if missing is None else missing.line

    def why(self, setting: Setting) -> str:
        """Return why a page has not all of its values."""
        return self.lack(setting) or "not measured yet"

    def is_done(self, setting: Setting) -> bool:
        """Tell whether the file is there, is of this recipe, and is whole."""
        return self.lack(setting) is None and set(self.keys) <= set(_values(self, setting))

    def run(self, setting: Setting, progress: Progress) -> None:
        """Measure the values that are not there yet."""
        from leantta_lab.reproduce.torch_probe import Probe

        notebook = self.begin(setting)
        value_of = self.measure(Probe(self.model, self.dataset, setting.images[self.dataset]), self.settings)
        for number, key in enumerate(self.keys):
            progress(number, len(self.keys))
            if key not in notebook.values:
                notebook.add(key, value_of(key))
        progress(len(self.keys), len(self.keys))

    def begin(self, setting: Setting) -> "Notebook":
        """Return the file, open for values; those of the same recipe are in it already."""
        return Notebook(self.path(setting), self.recipe(setting), _values(self, setting))

    def recipe(self, setting: Setting) -> dict[str, Any]:
        """Return all that decides the values, as plain JSON values."""
        from leantta.disturbances.corruptions.frost import made_by  # here, as it needs scipy

        recipe = {
            "model": self.model,
            "dataset": self.dataset,
            "weights_sha256": checkpoint_sha256(self.model, self.dataset),
            "images_sha256": sha256_of(setting.images[self.dataset]),
            "corruptions": made_by(),
            "settings": self.settings,
        }
        plain: dict[str, Any] = json.loads(canonical(recipe))
        return plain

    def shown(self, setting: Setting) -> Values:
        """Return the values that are there, for a page; what is not at hand is not compared."""
        content = _read(self.path(setting))
        known: dict[str, Any] = {"settings": json.loads(canonical(self.settings))}
        if self.dataset in setting.images:
            known["images_sha256"] = sha256_of(setting.images[self.dataset])
            with suppress(ModuleNotFoundError):  # without torch, checkpoints are not looked for
                known["weights_sha256"] = checkpoint_sha256(self.model, self.dataset)
        known = {name: value for name, value in known.items() if value is not None}
        return content["values"] if content is not None and agrees(content["recipe"], known) else {}


def sheet_jobs(sheets: Iterable[Sheet], setting: Setting) -> list[Job]:
    """Return a job for each sheet that can be measured here."""
    return [
        Job(name=sheet.job, run=sheet.run, done=sheet.is_done, seconds=sheet.seconds)
        for sheet in sheets
        if sheet.lack(setting) is None
    ]


class Notebook:
    """A file of values that is being filled."""

    def __init__(self, path: Path, recipe: Mapping[str, Any], values: Values) -> None:
        self.path, self.recipe, self.values = path, recipe, values
        self.started = provenance_now().started

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
            **asdict(provenance_now()),  # by now, all that computes is loaded and has a version
            "started": self.started,
            "values": self.values,
        }
        write_json(content, self.path)


def _values(sheet: Sheet, setting: Setting) -> Values:
    """Return the values in the file if it is of the same recipe, else none."""
    content = _read(sheet.path(setting))
    if content is None or recipe_sha256(content["recipe"]) != recipe_sha256(sheet.recipe(setting)):
        return {}
    return dict(content["values"])


def _read(path: Path) -> dict[str, Any] | None:
    """Return what a file holds; None if there is none.

    Raises:
        RecordError: it is something else.
    """
    try:
        content = read_json(path, KIND, FORMAT)
        _ = [content["recipe"][name] for name in ("settings", "images_sha256", "weights_sha256")]
        _ = content["values"].items()
    except MissingFileError:
        return None
    except (RecordError, KeyError, TypeError, AttributeError) as e:
        raise RecordError(f"{path} is no measurement of `leantta reproduce`: {e}. Remove it.") from e
    return content


def sha256_of(path: Path) -> str:
    """Return the hash of a file; of a folder, that of its files' names and hashes."""
    if path.is_dir():
        parts = [
            f"{file.relative_to(path).as_posix()} {sha256_of(file)}"
            for file in sorted(path.rglob("*"))
            if file.is_file()
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return file_sha256(path)
