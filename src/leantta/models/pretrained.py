"""A model by name, or the user's own, with trained weights."""

from pathlib import Path

from torch import nn

from leantta.files import sha256_of
from leantta.modalities.datasets import dataset_info
from leantta.models.named import default_dataset, is_named, model_entry
from leantta.models.reference import resolve
from leantta.models.weights import load_weights


def pretrained(spec: str, dataset: str | None = None, weights: Path | str | None = None) -> nn.Module:
    """Return a model in eval mode with its weights: those given, or its checkpoint for that dataset.

    `spec` is a name, `file.py:function` or `package.module:function`; a function's model keeps the weights it
    comes with unless some are given. Without a dataset it is the one that the named model is meant for.

    Raises:
        SettingError, MissingFileError, CheckpointError: no such model or checkpoint, or no fit.
    """
    dataset = dataset or default_dataset(spec)
    model = resolve(spec, num_classes=None if dataset is None else dataset_info(dataset).outputs)
    checkpoint = checkpoint_of(spec, dataset, weights)
    if checkpoint is not None:
        own = weights is None and is_named(spec)
        load_weights(model, checkpoint, allow_pickle=own and model_entry(spec).published != "")
    return model


def checkpoint_of(spec: str, dataset: str | None, weights: Path | str | None) -> Path | None:
    """Return the checkpoint that `pretrained` loads; None if the model brings its own weights.

    Raises:
        MissingFileError: there is no checkpoint for that model and dataset.
    """
    if weights is not None:
        return Path(weights)
    if not is_named(spec):
        return None
    entry = model_entry(spec)
    return entry.weights(dataset or entry.trained_on)


def checkpoint_sha256(spec: str, dataset: str | None, weights: Path | None) -> str | None:
    """Return the hash of the checkpoint that `pretrained` loads; None if the model brings its own weights."""
    checkpoint = checkpoint_of(spec, dataset, weights)
    return None if checkpoint is None else sha256_of(checkpoint)
