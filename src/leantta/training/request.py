"""One training from a request to a checkpoint with its card."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import torch
from torch import nn

from leantta.data.datasets import Dataset, Labels, dataset_info, per_channel
from leantta.data.modalities import load_data, modality_of
from leantta.data.seeds import derived
from leantta.errors import SettingError
from leantta.evaluate.metrics import weighted_f1
from leantta.files import replacing, sha256_of
from leantta.models.table import build, entry
from leantta.models.weights import load_weights, save_weights
from leantta.training.card import Trained, card
from leantta.training.checkpoint import training_key
from leantta.training.loop import Step, Training, by_class
from leantta.training.precision import Precision, uses_bf16
from leantta.training.recipes import Recipe

TEST_BATCH = 250


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What to train, on what, and where to put it."""

    model: str
    images: Path
    output: Path
    recipe: Recipe
    dataset: str = "cifar10"
    init: Path | None = (
        None  # a checkpoint of the same network; another number of classes is a fresh last layer
    )
    precision: Precision = "auto"
    threads: int | None = None
    command: str = ""  # for the card

    @property
    def checkpoint(self) -> Path:
        """The file that says where the training stands; it is removed at the end."""
        return self.output.with_name(self.output.name + ".training")


def train(request: TrainRequest, tell: Callable[[Step], None] = lambda _: None) -> Trained:
    """Train, test on all test samples, and write the checkpoint and its card; return what the card says.

    A training that was stopped goes on where it was.

    Raises:
        LeanTTAError: no such model or images, a checkpoint that does not fit, or a loss that diverged.
    """
    _check_fit(request)
    bf16 = uses_bf16(request.precision)
    if request.threads is not None:
        torch.set_num_threads(request.threads)
    data = load_data(request.images, request.dataset, "train")
    test = load_data(request.images, request.dataset, "test")
    model = starting_model(request)
    training = Training(
        model,
        data,
        request.recipe,
        checkpoint=request.checkpoint,
        key=training_key(request.model, request.dataset, request.recipe, _digest(request.init), len(data)),
        bf16=bf16,
    )
    for step in training.run():
        tell(step)
    save_weights(model, request.output)
    load_weights(model, request.output)  # the card is about the rounded weights
    found = decided(model, test)
    trained = Trained(
        model=request.model,
        dataset=request.dataset,
        recipe=request.recipe,
        precision="bf16 autocast" if bf16 else "fp32",
        init=None if request.init is None else request.init.name,
        train_images=len(data),
        test_images=len(test),
        accuracy=float((found == test.labels).mean()),
        f1=weighted_f1(test.labels, found),
        seconds=training.position.seconds,
        command=request.command,
        day=date.today().isoformat(),
        sha256=sha256_of(request.output),
    )
    with replacing(request.output.with_suffix(".md")) as part:
        part.write_text(card(trained))
    request.checkpoint.unlink(missing_ok=True)
    return trained


def _check_fit(request: TrainRequest) -> None:
    """Refuse a model that takes another kind of data than the dataset has.

    Raises:
        SettingError: the numbers of channels differ.
    """
    wanted, found = entry(request.model).input_shape, dataset_info(request.dataset)
    if wanted[0] != len(found.mean):
        raise SettingError(
            f"{request.model} takes inputs of shape {wanted}; {request.dataset} has {len(found.mean)} "
            f"channels. Choose another --dataset."
        )


def starting_model(request: TrainRequest) -> nn.Module:
    """Return the untrained model, or the one of `init`, with a fresh last layer if its classes are others.

    Raises:
        CheckpointError: the checkpoint is of another network.
    """
    torch.manual_seed(derived(request.recipe.seed, "weights"))
    model = build(request.model, num_classes=dataset_info(request.dataset).outputs)
    if request.init is not None:
        load_weights(model, request.init, new_head=True)
    return model


def decided(model: nn.Module, data: Dataset) -> Labels:
    """Return the class that the model finds for each sample."""
    info, modality = dataset_info(data.name), modality_of(data.name)
    model.eval()
    found = []
    with torch.inference_mode():
        for start in range(0, len(data), TEST_BATCH):
            inputs = modality.inputs(data.images[start : start + TEST_BATCH])
            mean, std = (per_channel(values, inputs.ndim) for values in (info.mean, info.std))
            scores = by_class(model(torch.from_numpy((inputs - mean) / std)))
            found.append(scores.argmax(1).numpy())
    return np.concatenate(found)


def _digest(path: Path | None) -> str | None:
    return None if path is None else sha256_of(path)
