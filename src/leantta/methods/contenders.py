"""Who takes part in a study: something that predicts, and what a record says of it.

A contender is a method put on a torch model, or a model file, which needs no torch.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leantta import plugins
from leantta.errors import SettingError
from leantta.evaluate.predictor import Inputs, Predictor
from leantta.evaluate.record import RunSettings
from leantta.modalities.datasets import dataset_info, dataset_with, load_data
from leantta.models.named import default_dataset
from leantta.runtime.container import DIGEST_KEY, read_container
from leantta.runtime.metadata import read_info
from leantta.runtime.session import load

if TYPE_CHECKING:
    from leantta.methods.method import Method, SourceModel
    from leantta.surgery.adaptation import Adaptation


class Contender(NamedTuple):
    """One that predicts, with the settings that decide what it predicts."""

    settings: RunSettings
    predictor: Predictor


class ModelFile(NamedTuple):
    """A file that `convert` made; with `memory` its stream mode is meant."""

    path: Path
    memory: bool = False

    @property
    def label(self) -> str:
        """By which tables and records call it."""
        return f"{self.path.name}{MEMORY if self.memory else ''}"


MEMORY = ":memory"
"""Behind the name of a file: remember the inputs before."""


def is_file(text: str) -> bool:
    """Tell whether a text names a model file.

    >>> is_file("r18.onnx"), is_file("r18.onnx:memory"), is_file("leantta:all")
    (True, True, False)
    """
    return text.removesuffix(MEMORY).lower().endswith(".onnx")


def parse_contender(text: str, options: "Adaptation") -> "Method | ModelFile":
    """Return the model file or the method that a text names; a file needs no torch.

    Raises:
        SettingError: there is no such method, or it cannot be told that.
    """
    if is_file(text):
        return ModelFile(Path(text.removesuffix(MEMORY)), text.endswith(MEMORY))
    from leantta.methods.parse import parse_method

    return parse_method(text, options)


def dataset_of(model: str | None, contenders: "Sequence[Method | ModelFile]") -> str:
    """Return the dataset that is meant where none is named: the model's, or that of a file's classes.

    Raises:
        SettingError: the model is the user's own, or the file has classes of no dataset that is known.
        LeanTTAError: a file is missing, damaged or not ours.
    """
    if model is not None:
        meant = default_dataset(model)
        what = f"the model {model}"
    else:
        files = [each.path for each in contenders if isinstance(each, ModelFile)]
        with_classes = (read_info(read_container(path)).classes for path in files)
        meant = next((name for names in with_classes if names and (name := dataset_with(names))), None)
        what = "a model file whose classes are none of theirs" if files else "methods without a model"
    if meant is None:
        known = ", ".join(plugins.brought("datasets"))
        raise SettingError(
            f"{what} does not say which dataset is meant: name it with --dataset; known: {known}"
        )
    return meant


def from_file(file: ModelFile, dataset: str, threads: int | None) -> Contender:
    """Return the contender that a model file is; in records it goes by the file's name.

    Raises:
        LeanTTAError: the file is missing, damaged or not ours, or has no stream mode that is asked for.
    """
    session = load(file.path, threads=threads, memory=file.memory)
    info = session.info
    settings = RunSettings(
        model=info.model,
        method=file.label,
        dataset=dataset,
        method_settings={
            "artifact_sha256": read_container(file.path).metadata[DIGEST_KEY],
            "precision": info.precision,
            "portable": info.portable,
            "layers": len(info.layers),
            "gate": info.gate and {"name": type(info.gate).__name__, **info.gate.values()},
            **({"memory": True} if file.memory else {}),
        },
        weights_sha256=info.weights_sha256,
        threads=threads,
    )
    return Contender(settings, session)


def on_torch(
    methods: "Sequence[Method]",
    *,
    model: str,
    dataset: str,
    weights: Path | None,
    images: Path,
    example: Inputs,
    threads: int | None,
    prefix: str | None = None,
) -> list[Contender]:
    """Return a contender for each method, all on the same torch model; `example` are two inputs of a stream.

    `images` is where the dataset is; its training split is read by the methods that need it.

    Raises:
        LeanTTAError: no such model or checkpoint, or they do not fit.
    """
    import torch  # here, so that files need no torch

    from leantta.methods.method import SourceModel, TorchPredictor
    from leantta.models.opening import open_model

    if threads is not None:
        torch.set_num_threads(threads)
    info = dataset_info(dataset)
    opened = open_model(model, dataset=dataset, weights=weights, prefix=prefix)
    network = opened.module
    training = cache(lambda: load_data(images, dataset, "train").samples)
    source = SourceModel(
        model=network,
        example=TorchPredictor(network, mean=info.mean, std=info.std).normalized(example),
        mean=info.mean,
        std=info.std,
        classes=info.outputs,
        source=lambda count: info.modality.inputs(training()[:count]),
        modality=info.modality.name,
    )
    return put_on(source, methods, model=model, dataset=dataset, weights_sha256=opened.weights_sha256)


def put_on(
    source: "SourceModel",
    methods: "Sequence[Method]",
    *,
    model: str,
    dataset: str,
    weights_sha256: str | None,
) -> list[Contender]:
    """Return a contender for each method, all on the same torch model that is open.

    Raises:
        LeanTTAError: a method cannot be put on it.
    """
    import torch

    return [
        Contender(
            RunSettings(
                model=model,
                method=method.label,
                dataset=dataset,
                method_settings=method.settings(source.classes),
                weights_sha256=weights_sha256,
                threads=torch.get_num_threads(),
            ),
            method.build(source),
        )
        for method in methods
    ]
