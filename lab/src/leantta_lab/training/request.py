"""One training from a request to a checkpoint with its card."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import nn

from leantta.allocation import keep_blocks
from leantta.data.datasets import Dataset, Labels, per_channel
from leantta.data.seeds import derived
from leantta.errors import SettingError
from leantta.evaluate.metrics import weighted_f1
from leantta.files import remove_parts, replacing, sha256_of
from leantta.modalities.datasets import dataset_info, load_data, modality_of
from leantta.models.named import build, model_entry
from leantta.models.weights import load_weights, save_weights
from leantta_lab.training.card import Trained, card
from leantta_lab.training.checkpoint import training_key
from leantta_lab.training.loop import Step, Training, by_class
from leantta_lab.training.recipes import Recipe

TEST_BATCH = 250

KEPT_BYTES = (1 << 30, 1 << 30)
"""Freed memory that stays with the process: a step with gradients takes and frees maps of 70 MB and more."""

Precision = Literal["auto", "bf16", "fp32"]

BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""What /proc/cpuinfo says of a processor that multiplies bfloat16 itself: Intel and AMD, ARM the last.

Others imitate it, and training is ten times slower."""


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What to train, on what, and where to put it."""

    model: str
    dataset: str
    images: Path
    output: Path
    recipe: Recipe
    init: Path | None = None  # a checkpoint of the same network; for other classes with a fresh last layer
    teacher: str | None = None  # a model of the table that has weights for the dataset
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
    keep_blocks(*KEPT_BYTES)
    remove_parts(request.checkpoint)
    bf16 = uses_bf16(request.precision)
    if request.threads is not None:
        torch.set_num_threads(request.threads)
    data = load_data(request.images, request.dataset, "train")
    test = load_data(request.images, request.dataset, "test")
    model = starting_model(request)
    teacher, teacher_weights = taught_by(request)
    training = Training(
        model,
        data,
        request.recipe,
        checkpoint=request.checkpoint,
        key=training_key(
            request.model,
            request.dataset,
            request.recipe,
            _digest(request.init),
            len(data),
            _digest(teacher_weights),
        ),
        bf16=bf16,
        teacher=teacher,
    )
    for step in training.run():
        tell(step)
    save_weights(model, request.output)
    load_weights(model, request.output)  # the card is about the rounded weights
    predictions = decided(model, test)
    trained = Trained(
        model=request.model,
        dataset=request.dataset,
        recipe=request.recipe,
        precision="bf16 autocast" if bf16 else "fp32",
        init=None if request.init is None else request.init.name,
        teacher=request.teacher,
        train_images=len(data),
        test_images=len(test),
        accuracy=float((predictions == test.labels).mean()),
        f1=weighted_f1(test.labels, predictions),
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
    wanted, channels = model_entry(request.model).input_shape, len(dataset_info(request.dataset).mean)
    if wanted[0] != channels:
        raise SettingError(
            f"{request.model} takes inputs of shape {wanted}; {request.dataset} has {channels} "
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


def taught_by(request: TrainRequest) -> tuple[nn.Module | None, Path | None]:
    """Return the teacher with its weights, which is not changed, and the file of those; None: there is none.

    Raises:
        LeanTTAError: no such model, or no weights of it for the dataset.
    """
    if request.teacher is None:
        return None, None
    model = build(request.teacher, num_classes=dataset_info(request.dataset).outputs)
    weights = model_entry(request.teacher).weights(request.dataset)
    load_weights(model, weights)
    return model.requires_grad_(False).to(memory_format=torch.channels_last), weights  # type: ignore[call-overload]


def decided(model: nn.Module, data: Dataset) -> Labels:
    """Return the class that the model finds for each sample."""
    info, modality = dataset_info(data.name), modality_of(data.name)
    model.eval()
    predictions = []
    with torch.inference_mode():
        for start in range(0, len(data), TEST_BATCH):
            inputs = modality.inputs(data.samples[start : start + TEST_BATCH])
            mean, std = (per_channel(values, inputs.ndim) for values in (info.mean, info.std))
            scores = by_class(model(torch.from_numpy((inputs - mean) / std)))
            predictions.append(scores.argmax(1).numpy())
    return np.concatenate(predictions)


def _digest(path: Path | None) -> str | None:
    return None if path is None else sha256_of(path)


def uses_bf16(precision: Precision, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether to compute in bfloat16; `auto` does so where the processor says that it can.

    >>> uses_bf16("fp32"), uses_bf16("bf16")
    (False, True)

    Raises:
        SettingError: there is no such precision.
    """
    if precision not in ("auto", "bf16", "fp32"):
        raise SettingError(f"no precision is called {precision!r}; there are auto, bf16 and fp32")
    if precision != "auto":
        return precision == "bf16"
    try:
        return not BF16_FLAGS.isdisjoint(cpuinfo.read_text().split())
    except OSError:  # no Linux: the safe choice
        return False
