"""Methods put on a torch model, as contenders of a study."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from leantta.data.datasets import Inputs, dataset_info
from leantta.data.modalities import modality_of
from leantta.evaluate.settings import RunSettings
from leantta.methods.contender import Contender
from leantta.methods.options import MethodOptions
from leantta.methods.subject import Subject
from leantta.methods.table import choose
from leantta.methods.torch_predictor import TorchPredictor
from leantta.models.pretrained import pretrained
from leantta.models.weights import checkpoint_sha256


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
        SettingError: there is no such method, or it cannot be told that.
    """
    for text in methods:
        choose(text, options)


def on_torch(
    model: TorchModel, methods: Sequence[str], options: MethodOptions, example: Inputs, threads: int | None
) -> list[Contender]:
    """Return a contender for each method, all on the same model; `example` are two inputs of the stream.

    Raises:
        LeanTTAError: no such model, checkpoint or method, or they do not fit.
    """
    chosen = [choose(text, options) for text in methods]
    if threads is not None:
        torch.set_num_threads(threads)
    subject = _subject(model, example)
    weights_sha256 = checkpoint_sha256(model.name, model.dataset, model.weights)
    return [
        Contender(
            RunSettings(
                model=model.name,
                method=method.label,
                dataset=model.dataset,
                method_settings=method.settings(subject.classes),
                weights_sha256=weights_sha256,
                threads=torch.get_num_threads(),
            ),
            method.build(subject),
        )
        for method in chosen
    ]


def _subject(source: TorchModel, example: Inputs) -> Subject:
    info = dataset_info(source.dataset)
    model = pretrained(source.name, source.dataset, source.weights)
    modality = modality_of(source.dataset)
    loaded = cache(lambda: modality.load(source.images, source.dataset, "train").images)
    return Subject(
        model=model,
        example=TorchPredictor(model, mean=info.mean, std=info.std).normalized(example),
        mean=info.mean,
        std=info.std,
        classes=info.outputs,
        source=lambda count: modality.inputs(loaded()[:count]),
    )
