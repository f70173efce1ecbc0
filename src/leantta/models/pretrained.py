"""A model of the table, or the user's own, with trained weights."""

from pathlib import Path

from torch import nn

from leantta.data.datasets import dataset_info
from leantta.models.reference import resolve
from leantta.models.weights import find_weights, load_weights


def pretrained(spec: str, dataset: str = "cifar10", weights: Path | str | None = None) -> nn.Module:
    """Return a model in eval mode with its weights: those given, or the checkpoint found for that dataset.

    `spec` is a name of the table, `file.py:function` or `package.module:function`; a function's model keeps
    the weights it comes with unless some are given.

    Raises:
        SettingError, MissingFileError, CheckpointError: no such model or checkpoint, or no fit.
    """
    model = resolve(spec, num_classes=dataset_info(dataset).outputs)
    if weights is not None:
        load_weights(model, weights)
    elif ":" not in spec:
        load_weights(model, find_weights(spec, dataset))
    return model
