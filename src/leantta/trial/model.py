"""The model of a trial: opened, with how it takes images, and what it was trained with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leantta.data.preprocess import Preprocessing
from leantta.errors import SettingError
from leantta.modalities.datasets import dataset_info
from leantta.models.named import default_dataset, is_named, model_entry
from leantta.runtime.metadata import Info

if TYPE_CHECKING:
    from leantta.models.opened import OpenedModel

SHORT_SIDE, CROP = 256, (224, 224)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""How most networks for photographs were trained, for a model of which nobody says anything."""

SMALL = 64
"""Images with a shorter side below that are no photographs: they are taken as they are."""


class Taking(NamedTuple):
    """How a model takes images, and what was assumed of it for want of anything better."""

    how: Preprocessing
    assumed: str | None = None


def of_named(model: str) -> Preprocessing | None:
    """Return how a named network takes images: at its size, with the statistics of its dataset."""
    dataset = default_dataset(model)
    if dataset is None or not is_named(model):
        return None
    info, shape = dataset_info(dataset), model_entry(model).input_shape
    if len(shape) != 3:
        raise SettingError(f"{model} takes inputs of shape {shape}, not images.")
    resize = round(shape[1] * 256 / 224) if shape[1] >= SMALL else shape[1]
    return Preprocessing(resize=resize, crop=(shape[1], shape[2]), mean=info.mean, std=info.std)


def of_file(info: Info) -> Preprocessing:
    """Return how a model file takes images.

    Raises:
        SettingError: it takes something else.
    """
    channels, *size = info.input.shape
    if not info.input.is_image or len(size) != 2:
        raise SettingError(f"{info.model} takes inputs of shape {info.input.shape}, not images.")
    if info.input.preprocessing is not None:
        return replace(info.input.preprocessing, mean=info.input.mean, std=info.input.std)
    return Preprocessing(
        resize=max(size),
        crop=(size[0], size[1]),
        colours="grey" if channels == 1 else "rgb",
        mean=info.input.mean,
        std=info.input.std,
    )


def completed(known: Preprocessing | None, first: Callable[[], tuple[int, int]]) -> Taking:
    """Return what is known, and where nothing is, what is usual; `first` gives the size of an image."""
    known = known or Preprocessing()
    assumed = []
    if known.resize is None and known.size is None and min(first()) >= SMALL:
        known = replace(known, resize=SHORT_SIDE, crop=CROP)
        assumed.append("size")
    if known.mean is None:
        known = replace(known, mean=MEAN[: known.channels], std=STD[: known.channels])
        assumed.append("mean and std")
    return Taking(known, " nor ".join(assumed) or None)


def open_torch(model: str, weights: Path | None, prefix: str | None) -> "OpenedModel":
    """Return the torch model that a text names, with its weights, and what is known of it.

    Raises:
        LeanTTAError: there is none, or its weights do not fit.
    """
    from leantta.models.opening import open_model

    opened = open_model(model, weights=weights, prefix=prefix)
    dataset = default_dataset(model)
    return replace(
        opened,
        preprocessing=opened.preprocessing or of_named(model),
        classes=opened.classes or (None if dataset is None else dataset_info(dataset).classes),
    )
