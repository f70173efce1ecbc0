"""Methods put on a torch model, as contenders of a study."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from leantta.data.cifar import load_images
from leantta.data.datasets import Inputs, dataset_info, model_inputs
from leantta.evaluate.settings import RunSettings
from leantta.gates import PaperGate
from leantta.methods.contender import Contender
from leantta.methods.options import MethodOptions
from leantta.methods.table import Subject, choose
from leantta.methods.torch_predictor import TorchPredictor
from leantta.models.pretrained import pretrained
from leantta.models.weights import checkpoint_sha256

SOURCE_IMAGES = 512
"""How many training images the calibrated gate sees."""


@dataclass(frozen=True, kw_only=True)
class TorchModel:
    """A torch model by name, and where its source images are."""

    name: str
    dataset: str
    weights: Path | None
    images: Path


def check_methods(methods: Sequence[str], options: MethodOptions) -> None:
    """Refuse methods that do not exist, before anything is loaded.

    Raises:
        SettingError: there is no such method, or it takes no layers.
    """
    for text in methods:
        choose(text, options)


def on_torch(
    model: TorchModel, methods: Sequence[str], options: MethodOptions, example: Inputs, threads: int | None
) -> list[Contender]:
    """Return a contender for each method, all on the same model; `example` are two images between 0 and 1.

    Raises:
        LeanTTAError: no such model, checkpoint or method, or they do not fit.
    """
    chosen = [choose(text, options) for text in methods]
    if threads is not None:
        torch.set_num_threads(threads)
    subject = _subject(model, options, example)
    weights_sha256 = checkpoint_sha256(model.name, model.dataset, model.weights)
    return [
        Contender(
            RunSettings(
                model=model.name,
                method=method.label,
                dataset=model.dataset,
                method_settings=method.settings(),
                weights_sha256=weights_sha256,
                threads=torch.get_num_threads(),
            ),
            method.method.build(subject, method.options),
        )
        for method in chosen
    ]


def _subject(source: TorchModel, options: MethodOptions, example: Inputs) -> Subject:
    info = dataset_info(source.dataset)
    model = pretrained(source.name, source.dataset, source.weights)
    outside = TorchPredictor(model, mean=info.mean, std=info.std)
    calibration = None
    if not isinstance(options.gate, PaperGate):
        pixels = load_images(source.images, source.dataset, "train").images[:SOURCE_IMAGES]
        calibration = outside.normalized(model_inputs(pixels))
    return Subject(
        model=model,
        example=outside.normalized(example),
        mean=info.mean,
        std=info.std,
        calibration=calibration,
    )
