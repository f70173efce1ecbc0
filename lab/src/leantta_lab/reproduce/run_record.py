"""Runs of a method over a stream, and their records found again by their recipe.

A record counts if what it says of itself is what a run would say today: model, checkpoint, images, stream,
method and its settings, batch size. What cannot be known here, such as the hash of images that are not at
hand, is not compared, so that records can be shown without them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from leantta.evaluate import lookup
from leantta.evaluate.lookup import Place
from leantta.evaluate.record import Record
from leantta.modalities.cells import GeneratedCells
from leantta.modalities.datasets import dataset_info, generated_cells, learnt_from, load_data
from leantta.records.provenance import canonical
from leantta.streams.by_name import StreamOptions, build_stream
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.target import Setting

FILE = "int8:"
"""What a method begins with that is a file: `int8:half:paper` is the file of the kind `half:paper`."""

THREADS = 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """One method on one model over one stream: one record."""

    model: str
    dataset: str
    method: str  # of the table of methods, or int8:KIND
    stream: str
    options: StreamOptions
    inputs: int  # of the stream
    batch_size: int

    @property
    def file(self) -> str | None:
        """The kind of the file that is run; None if it is no file."""
        return self.method.removeprefix(FILE) if self.method.startswith(FILE) else None

    @property
    def label(self) -> str:
        """What records call the method."""
        return self.method if self.file is None else file_name(self.model, self.dataset, self.file)


def file_name(model: str, dataset: str, kind: str) -> str:
    """Return the name of an int8 file, by which records know it.

    A dataset that tests the models of another has the other's files.

    >>> file_name("resnet18", "cifar10", "half:paper")
    'resnet18_cifar10_half_paper.onnx'
    """
    return f"{model}_{learnt_from(dataset)}_{kind.replace(':', '_')}.onnx"


def agrees(recipe: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Tell whether a recipe says all that is known; what is not known here is not compared.

    >>> agrees({"model": "resnet18", "seed": 0}, {"seed": 0}), agrees({"seed": 0}, {"seed": 1})
    (True, False)
    """
    return all(recipe.get(name) == value for name, value in known.items())


def record_of(run: Run, setting: Setting) -> Record | None:
    """Return the finished record of a run; None if there is none.

    Raises:
        RecordError: it is damaged.
    """
    place = find_record(run, setting)
    return None if place is None else place.record()


def find_record(run: Run, setting: Setting) -> Place | None:
    """Return where the finished record of a run is, the newest of several; None if there is none.

    Raises:
        RecordError: a pack is damaged.
    """
    return lookup.find_record(setting.folder, _told_by(run, setting), _names(run))


def is_of_run(path: Path, run: Run, setting: Setting) -> bool:
    """Tell whether a file is the finished record of a run."""
    if not fnmatchcase(path.name, _names(run)):
        return False
    header = lookup.finished_header(Place(path))
    return header is not None and _told_by(run, setting)(header["recipe"])


def _names(run: Run) -> str:
    """Return the pattern that the names of a run's records fit."""
    return f"{run.model}-{run.dataset}-{run.stream}-*-seed{run.options.seed}-*.jsonl"


def _told_by(run: Run, setting: Setting) -> Callable[[lookup.Recipe], bool]:
    """Return what tells whether a recipe is that of a run."""
    known = _known(run)
    return lambda recipe: agrees(recipe, known) and _same_stream(run, setting, recipe["stream"])


def _known(run: Run) -> dict[str, Any]:
    """Return what the recipe of a record must say, but for the stream."""
    known: dict[str, Any] = {
        "model": run.model,
        "dataset": run.dataset,
        "method": run.label,
        "batch_size": run.batch_size,
        "threads": THREADS,
    }
    try:
        sha256 = checkpoint_sha256(run.model, run.dataset)
        settings = None if run.file else _method_settings(run.method, dataset_info(run.dataset).outputs)
    except ModuleNotFoundError:  # without torch nothing can be run, only shown
        return known
    more = {"weights_sha256": sha256, "method_settings": settings}
    return {**known, **{name: value for name, value in more.items() if value is not None}}


@lru_cache
def _method_settings(method: str, classes: int) -> dict[str, Any]:
    from leantta.methods.parse import parse_method
    from leantta.surgery.adaptation import Adaptation

    settings: dict[str, Any] = json.loads(canonical(parse_method(method, Adaptation()).settings(classes)))
    return settings


def _same_stream(run: Run, setting: Setting, described: Mapping[str, Any]) -> bool:
    images = setting.images.get(run.dataset)
    if images is not None:
        return described == _described(images, run.dataset, run.stream, run.options)
    told = described["settings"]
    wanted = (run.stream, run.options.seed, run.inputs, run.options.corruption, run.options.severity)
    return wanted == (
        *(described[key] for key in ("name", "seed", "inputs")),
        *(told.get(key) for key in ("corruption", "severity")),
    )


@cache
def _described(images: Path, dataset: str, stream: str, options: StreamOptions) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(
        canonical(build_stream(stream, corrupted_images(images, dataset), options).describe())
    )
    return described


@lru_cache(maxsize=2)
def corrupted_images(images: Path, dataset: str) -> GeneratedCells:
    """Return the test samples of a dataset, corrupted as they are asked for."""
    return generated_cells(load_data(images, dataset, "test"))
