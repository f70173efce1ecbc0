"""What a reproduction finds here: images and checkpoints, and what to do about those that are missing."""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from leantta.data.archives import ARCHIVES
from leantta.data.modalities import modality_of
from leantta.errors import MissingFileError
from leantta.files import existing, sha256_of
from leantta.reproduce.target import Setting

FOLDER_VARIABLE = "LEANTTA_DATA"

OFFICIAL: Mapping[str, tuple[str, ...]] = {
    "cifar10": ("cifar10.npz", "cifar-10-batches-bin", "cifar-10-batches-py"),
    "cifar100": ("cifar100.npz", "cifar-100-binary", "cifar-100-python"),
    "har": ("har.npz", "UCI HAR Dataset", "har"),
    "esc50": ("birds",),
    "capuchin": ("birds",),
}
"""The names that each dataset is published under, or kept under by us."""


def find_images(given: Mapping[str, Path]) -> dict[str, Path]:
    """Return where each dataset is: as given, else in the current folder, ./data or $LEANTTA_DATA.

    Raises:
        MissingFileError: there is nothing at a path that was given.
    """
    found = {name: existing(path, f"{name} images") for name, path in given.items()}
    for dataset, names in OFFICIAL.items():
        places = (folder / name for folder in _folders() for name in names)
        if dataset not in found and (place := next((p for p in places if p.exists()), None)):
            found[dataset] = place
    return found


def _folders() -> Iterator[Path]:
    yield Path()
    yield Path("data")
    if named := os.environ.get(FOLDER_VARIABLE):
        yield Path(named)


def checkpoint(model: str, dataset: str) -> Path | None:
    """Return the checkpoint of a model for a dataset; None if there is none."""
    from leantta.models.weights import find_weights  # here, as it loads torch

    try:
        return find_weights(model, dataset)
    except MissingFileError:
        return None


def checkpoint_sha256(model: str, dataset: str) -> str | None:
    """Return the hash of the checkpoint; None if there is none."""
    path = checkpoint(model, dataset)
    if path is None:
        return None
    about = path.stat()
    return _sha256(path, about.st_size, about.st_mtime_ns)


@lru_cache
def _sha256(path: Path, size: int, changed: int) -> str:
    """Return the hash of a file; it is read again when its size or time of change is another."""
    del size, changed
    return sha256_of(path)


def lack(setting: Setting, model: str, dataset: str) -> tuple[str, str] | None:
    """Return what is missing to run a model, as a cell shows it and as a line says it; None if nothing is.

    Without torch nothing can be run, and records are shown whatever is at hand: then nothing is said to be
    missing either.
    """
    if dataset not in setting.images:
        fetches = f"`leantta download {dataset}` fetches them, or " if dataset in ARCHIVES else ""
        return "no data", (f"no {dataset} {modality_of(dataset).noun}: {fetches}give --images {dataset}=PATH")
    try:
        path = checkpoint(model, dataset)
    except ModuleNotFoundError:
        return None
    if path is None:
        images = setting.images[dataset]
        return "no weights", (
            f"no weights of {model} for {dataset}: leantta train {model} --dataset {dataset} "
            f"--images {images}; or set $LEANTTA_WEIGHTS to the folder of {model}_{dataset}.safetensors"
        )
    return None
