"""Corrupted copies on disk: of image files as PNG, of a labelled set in the layout of CIFAR-10-C.

Every file appears whole or not at all and remembers its recipe (source, corruption, severity, seed): a PNG in
a note of its own, the arrays in `made.json` beside them. A second run skips what it would make again, and
refuses, before it writes anything, to replace what was made otherwise unless told to.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from leantta.data.imagefiles import read_image, read_note, write_png
from leantta.data.npz import read_arrays
from leantta.disturbances.corruptions.apply import check_images, corrupt
from leantta.disturbances.corruptions.frost import made_by
from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.disturbances.corruptions.pixels import Images
from leantta.disturbances.corruptions.strengths import is_large
from leantta.errors import DataError
from leantta.files import existing, replacing
from leantta.progress import Progress, silent

RECIPES = "made.json"


@dataclass(frozen=True)
class Outcome:
    """How many files a run wrote, and how many were complete before."""

    written: int
    skipped: int


def write_images(
    paths: Sequence[Path],
    output: Path,
    *,
    names: Sequence[str],
    severities: Sequence[int],
    seed: int,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Write `output/<corruption>/<severity>/<name>.png` for each image; sizes may differ.

    An image's random numbers come from the seed and its name, so they do not depend on the other images.

    Raises:
        DataError: two images share a name, one cannot be used, or a file is there that was made otherwise.
        StorageError: a file cannot be written.
    """
    twice = [stem for stem, count in Counter(path.stem for path in paths).items() if count > 1]
    if twice:
        both = ", ".join(path.name for path in paths if path.stem == twice[0])
        raise DataError(f"{both} would all become {twice[0]}.png. Rename or corrupt them one at a time.")
    cells = [(name, severity) for name in names for severity in severities]
    missing = {path: _missing_cells(path, output, cells, seed, overwrite) for path in paths}
    total = len(paths) * len(cells)
    done = total - sum(len(left) for left in missing.values())
    skipped = done
    for path, left in missing.items():
        image = read_image(path)
        for (name, severity), recipe in left.items():
            damaged = corrupt(image[None], name, severity, seed=seed, first=crc32(path.stem.encode()))
            write_png(_png(output, path, name, severity), damaged[0], recipe)
            done += 1
            progress(done, total)
    return Outcome(written=done - skipped, skipped=skipped)


def _missing_cells(
    path: Path, output: Path, cells: Sequence[tuple[str, int]], seed: int, overwrite: bool
) -> dict[tuple[str, int], str]:
    """Return the recipes of the copies of one image that are still to be made."""
    image = read_image(path)
    try:
        check_images(image[None])
    except DataError as e:
        raise DataError(f"{path}: {e}") from e
    source = _digest(image) + _scale(*image.shape[:2])
    recipes = {(name, level): _recipe(source, name, f"severity {level}", seed) for name, level in cells}
    targets = {cell: _png(output, path, *cell) for cell in cells}
    return {
        cell: recipe
        for cell, recipe in recipes.items()
        if overwrite or not _complete(targets[cell], read_note(targets[cell]), recipe)
    }


def _png(output: Path, path: Path, name: str, severity: int) -> Path:
    return output / name / str(severity) / f"{path.stem}.png"


def write_dataset(
    images: Images,
    labels: NDArray[np.uint8],
    output: Path,
    *,
    names: Sequence[str],
    seed: int,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Write `output/<corruption>.npy`, the images at severity 1 to 5 one after another, and `labels.npy`.

    Raises:
        DataError: the images cannot be corrupted, or a file is there that was made otherwise.
        StorageError: a file cannot be written.
    """
    check_images(images)
    recipes = _read_recipes(output / RECIPES)
    source = _digest(images) + _scale(*images.shape[1:3])
    wanted = {name: _recipe(source, name, "all severities", seed) for name in names}
    wanted["labels"] = f"labels {_digest(labels)}"
    missing = [
        name
        for name, recipe in wanted.items()
        if overwrite or not _complete(output / f"{name}.npy", recipes.get(name), recipe)
    ]
    done, total = 0, len(SEVERITIES) * len([name for name in missing if name != "labels"])
    for name in missing:
        with replacing(output / f"{name}.npy") as part, part.open("wb") as file:
            if name == "labels":
                np.save(file, np.tile(labels, len(SEVERITIES)))
            else:
                _write_header(file, (len(SEVERITIES) * len(images), *images.shape[1:]))
                for severity in SEVERITIES:  # one after another: only one of them is held in memory
                    file.write(corrupt(images, name, severity, seed=seed).tobytes())
                    done += 1
                    progress(done, total)
        recipes = {**recipes, name: wanted[name]}
        with replacing(output / RECIPES) as part:
            part.write_text(json.dumps(recipes, indent=1), encoding="utf-8")
    return Outcome(written=len(missing), skipped=len(wanted) - len(missing))


def read_dataset(path: Path) -> tuple[Images, NDArray[np.uint8]]:
    """Return `x_test` and `y_test` of an .npz file.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: it is not such a file, or images and labels do not belong together.
    """
    existing(path, "data set")
    images, labels = read_arrays(path, ["x_test", "y_test"])
    check_images(images)
    labels = labels.reshape(-1) if labels.shape == (len(images), 1) else labels
    if labels.shape != (len(images),) or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(
            f"{path} has {len(images)} images and labels of shape {labels.shape}, {labels.dtype}; "
            f"give one whole number for each image."
        )
    if labels.min() < 0 or labels.max() > 255:
        raise DataError(
            f"{path} has labels from {labels.min()} to {labels.max()}; they must lie within 0 to 255."
        )
    return images, labels.astype(np.uint8)


def _write_header(file: BinaryIO, shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})


def _complete(target: Path, recipe: str | None, wanted: str) -> bool:
    """Return whether `target` is there and was made by the wanted recipe.

    Raises:
        DataError: it is there, but was made otherwise.
    """
    if not target.exists():
        return False
    if recipe != wanted:
        origin = f"from another recipe ({recipe})" if recipe else "by something else"
        raise DataError(
            f"{target} is there, made {origin}; wanted: {wanted}. Choose another folder, or pass --overwrite."
        )
    return True


def _recipe(source: str, name: str, severity: str, seed: int) -> str:
    return f"{name}, {severity}, seed {seed}, source {source}, {made_by()}"


def _scale(height: int, width: int) -> str:
    """Return what a recipe says of the strengths; of small images it never said anything."""
    return ", strengths of ImageNet-C" if is_large(height, width) else ""


def _digest(values: NDArray[np.uint8]) -> str:
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()[:16]


def _read_recipes(path: Path) -> Mapping[str, str]:
    if not path.exists():
        return {}
    try:
        recipes = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise DataError(f"cannot read {path}: {e}. Remove it and pass --overwrite.") from e
    if not isinstance(recipes, dict) or not all(isinstance(recipe, str) for recipe in recipes.values()):
        raise DataError(f"{path} does not hold recipes. Remove it and pass --overwrite.")
    return recipes
