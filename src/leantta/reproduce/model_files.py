"""The int8 files that runs need: one for each model, dataset and choice of layers."""

from functools import partial
from pathlib import Path

from leantta.errors import ArtifactError
from leantta.progress import Progress
from leantta.reproduce.at_hand import checkpoint_sha256
from leantta.reproduce.costs import CONVERTING_SECONDS
from leantta.reproduce.target import Job, Setting

CALIBRATION_IMAGES = 512


def file_name(model: str, dataset: str, layers: str) -> str:
    """Return the name of a file, by which records know it.

    >>> file_name("resnet18", "cifar10", "half")
    'resnet18_cifar10_half.onnx'
    """
    return f"{model}_{dataset}_{layers}.onnx"


def file_path(setting: Setting, model: str, dataset: str, layers: str) -> Path:
    """Return where a file is."""
    return setting.work / file_name(model, dataset, layers)


def file_job(model: str, dataset: str, layers: str) -> Job:
    """Return the job that makes a file."""
    return Job(
        name=f"{model} {dataset} int8 file, {layers} adapt",
        run=partial(_make, model, dataset, layers),
        done=partial(_is_made, model, dataset, layers),
        seconds=CONVERTING_SECONDS[model],
    )


def _is_made(model: str, dataset: str, layers: str, setting: Setting) -> bool:
    """Tell whether the file is there, and made of the checkpoint that is here now."""
    from leantta.runtime.container import read_container
    from leantta.runtime.metadata import read_info

    path = file_path(setting, model, dataset, layers)
    if not path.is_file():
        return False
    try:
        info = read_info(read_container(path))
    except ArtifactError:
        return False  # it is made anew
    return info.weights_sha256 == checkpoint_sha256(model, dataset)


def _make(model: str, dataset: str, layers: str, setting: Setting, progress: Progress) -> None:
    del progress  # it has several parts, none of them long
    from leantta.data.cifar import load_images
    from leantta.data.datasets import dataset_info
    from leantta.export.convert import convert
    from leantta.models.pretrained import pretrained
    from leantta.surgery.select import parse_selector

    info = dataset_info(dataset)
    source = load_images(setting.images[dataset], dataset, "train").images[:CALIBRATION_IMAGES]
    convert(
        pretrained(model, dataset),
        source,
        file_path(setting, model, dataset, layers),
        layers=parse_selector(layers),
        mean=info.mean,
        std=info.std,
        classes=info.classes,
        name=model,
        weights_sha256=checkpoint_sha256(model, dataset),
    )
