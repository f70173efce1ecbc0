"""Open a model by what people call it.

| the model is | what it is |
|---|---|
| `NAME` | a network that an installed package brings, such as those of the laboratory |
| `FILE.py:FUNCTION`, `MODULE:FUNCTION` | the user's own function, which returns a module |
| `timm:NAME`, `torchvision:NAME` | a network of that library, if it is installed |
| `FILE.pt2` | a program that `torch.export.save` wrote |
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from torch import nn

from leantta.errors import SettingError
from leantta.files import sha256_of
from leantta.modalities.datasets import dataset_info
from leantta.models.libraries import open_timm, open_torchvision
from leantta.models.named import build, default_dataset, is_named, model_entry
from leantta.models.opened import OpenedModel
from leantta.models.programs import SUFFIX, open_program
from leantta.models.reference import resolve
from leantta.models.request import Asked
from leantta.models.weights import load_weights

LIBRARIES: Mapping[str, Callable[[Asked], OpenedModel]] = {"timm": open_timm, "torchvision": open_torchvision}


def open_model(
    spec: str,
    *,
    dataset: str | None = None,
    weights: Path | str | None = None,
    prefix: str | None = None,
    untrained: bool = False,
) -> OpenedModel:
    """Return a model in evaluation mode with its weights, and what is known of it.

    Its weights are those given, else those it comes with: the checkpoint of a named model for that dataset,
    what a library downloads, what a function returns. `prefix` stands before the names that are meant in the
    file of weights; without, it is found. With `untrained` no weights are looked for where none are given.

    Raises:
        SettingError, MissingFileError, MissingExtraError: there is no such model.
        CheckpointError, DownloadError: its weights cannot be had, or do not fit.
        UnsupportedModelError: what was found is no model that can be used.
    """
    if prefix is not None and weights is None:
        raise SettingError("a prefix says which names of a file of weights are meant; give --weights, too.")
    place, _, name = spec.partition(":")
    asked = Asked(spec, name, None if weights is None else Path(weights), prefix, untrained)
    if place in LIBRARIES and name:
        opened = LIBRARIES[place](asked)
    elif spec.lower().endswith(SUFFIX):
        opened = open_program(asked)
    elif ":" in spec or spec.endswith(".py"):
        opened = OpenedModel(spec=spec, module=_loaded(resolve(spec), asked))
    else:
        return _named(asked, dataset or default_dataset(spec))
    return opened if asked.weights is None else replace(opened, weights_sha256=sha256_of(asked.weights))


def pretrained(
    spec: str, dataset: str | None = None, weights: Path | str | None = None, prefix: str | None = None
) -> nn.Module:
    """Return a model in evaluation mode with its weights: those given, or those that it comes with.

    `spec` is a name, `file.py:function`, `module:function`, `timm:NAME`, `torchvision:NAME` or `FILE.pt2`.
    Without a dataset it is the one that a named model is meant for.

    Raises:
        LeanTTAError: there is no such model or no such weights, or they do not fit.
    """
    return open_model(spec, dataset=dataset, weights=weights, prefix=prefix).module


def _loaded(module: nn.Module, asked: Asked) -> nn.Module:
    if asked.weights is not None:
        load_weights(module, asked.weights, prefix=asked.prefix)
    return module


def _named(asked: Asked, dataset: str | None) -> OpenedModel:
    """Return a network that has a name, for a dataset; without one the name is wrong."""
    module = build(asked.spec, num_classes=None if dataset is None else dataset_info(dataset).outputs)
    if asked.weights is None and not asked.untrained and is_named(asked.spec):
        entry = model_entry(asked.spec)
        asked = replace(asked, weights=entry.weights(dataset or entry.trained_on))
    return OpenedModel(
        spec=asked.spec,
        module=_loaded(module, asked),
        input_shape=model_entry(asked.spec).input_shape,
        weights_sha256=None if asked.weights is None else sha256_of(asked.weights),
    )
