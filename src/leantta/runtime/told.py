"""What is told and kept of one prediction: its class, shares of its pixels, or shapes of arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.files import replacing
from leantta.runtime.metadata import Info
from leantta.runtime.prediction import Prediction, probabilities

SHOWN = 3
"""Classes of a map that are told, at least; the commonest first."""

Classes = npt.NDArray[np.uint8]


def facts(info: Info, prediction: Prediction, *, top: int = 1, explain: bool = False) -> dict[str, Any]:
    """Return what is shown of a prediction, rounded to what is meant."""
    told: dict[str, Any] = {}
    if prediction.label is not None and prediction.probability is not None:
        told |= {"label": prediction.label, "probability": round(prediction.probability, 6)}
    elif info.deciding is not None:
        counts = np.bincount(class_map(info, prediction).reshape(-1), minlength=max(info.outputs, 2))
        order = (-counts).argsort(kind="stable")[: max(top, SHOWN)].tolist()
        told["pixels"] = [
            {"label": info.label(i), "share": round(float(counts[i] / counts.sum()), 6)}
            for i in order
            if counts[i]
        ]
    else:
        told["outputs"] = {name: list(array.shape) for name, array in prediction.outputs.items()}
    told["shift"] = None if prediction.shift is None else round(prediction.shift, 6)
    told["latency_ms"] = round(prediction.latency_ms, 3)
    if top > 1 and prediction.logits is not None:
        chances = probabilities(prediction.logits)
        best = (-chances).argsort(kind="stable")[:top].tolist()
        told["top"] = [{"label": info.label(i), "probability": round(float(chances[i]), 6)} for i in best]
    if explain and prediction.distances is not None:
        told["distances"] = {layer: round(value, 6) for layer, value in prediction.distances.items()}
    return told


def class_map(info: Info, prediction: Prediction) -> npt.NDArray[np.int64]:
    """Return the class of each pixel, (h, w), of a model whose deciding output is a map."""
    head = info.deciding
    assert head is not None  # it decides
    scores = prediction.outputs[head.name]
    classes = scores.argmax(0) if len(scores) > 1 else scores[0] > 0
    return np.asarray(classes, np.int64)


class Folder:
    """A folder that keeps what a model put out, a file for each input, named after it."""

    def __init__(self, folder: Path, info: Info) -> None:
        """Take a folder, which need not exist yet."""
        self.folder, self.info = folder, info
        self.taken: set[str] = set()

    def save(self, name: str, start_s: float | None, prediction: Prediction) -> Path:
        """Keep all outputs of an input as .npz, and a map of classes also as a .png; return the .npz.

        Raises:
            StorageError: it cannot be written.
        """
        stem = self._free(Path(name).name.strip("-") or "stdin", start_s)
        more = {} if prediction.shift is None else {"shift": np.float32(prediction.shift)}
        target = self.folder / f"{stem}.npz"
        with replacing(target) as part, part.open("wb") as file:
            np.savez_compressed(file, **prediction.outputs, **more)  # type: ignore[arg-type] # numpy's stub
        head = self.info.deciding
        if head is not None and head.role == "map" and head.scores <= 256:
            classes = np.asarray(class_map(self.info, prediction), np.uint8)
            with replacing(self.folder / f"{stem}.png") as part, part.open("wb") as file:
                _picture(classes).save(file, "png")
        return target

    def _free(self, name: str, start_s: float | None) -> str:
        stem = name if start_s is None else f"{name}_{start_s:g}s"
        free, count = stem, 1
        while free in self.taken:
            count += 1
            free = f"{stem}_{count}"
        self.taken.add(free)
        return free


def _picture(classes: Classes) -> Any:
    """Return a map of classes as a picture: pixel values are classes, colours are for people."""
    from PIL import Image

    picture = Image.fromarray(classes)
    number = np.arange(256)
    colours = np.stack(
        [number * step % 256 for step in (67, 151, 211)], 1
    )  # neighbours far apart; 0 is black
    picture.putpalette(colours.astype(np.uint8).tobytes())
    return picture
