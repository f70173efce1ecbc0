"""The int8 files that runs need: one for each model, dataset and kind.

A kind says which layers adapt and by which gate, as in the table of methods: `none`, `half:paper`,
`sixteen:calibrated`.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.data.datasets import learnt_from
from leantta.errors import ArtifactError
from leantta.gates import CalibratedGate, Gate, gate_of
from leantta.progress import Progress
from leantta.reproduce.at_hand import checkpoint_sha256
from leantta.reproduce.costs import CONVERTING_SECONDS
from leantta.reproduce.target import Job, Setting

if TYPE_CHECKING:
    from leantta.surgery.select import Selector

CALIBRATION_IMAGES = 512


def file_name(model: str, dataset: str, kind: str) -> str:
    """Return the name of a file, by which records know it.

    A dataset that tests the models of another has the other's files.

    >>> file_name("resnet18", "cifar10", "half:paper")
    'resnet18_cifar10_half_paper.onnx'
    """
    return f"{model}_{learnt_from(dataset)}_{kind.replace(':', '_')}.onnx"


def layers_and_gate(kind: str) -> tuple["Selector", Gate]:
    """Return which layers of a file adapt, and its gate."""
    from leantta.surgery.select import parse_selector

    layers, _, gate = kind.partition(":")
    return parse_selector(layers), gate_of(gate or "calibrated")  # type: ignore[arg-type]


def file_path(setting: Setting, model: str, dataset: str, kind: str) -> Path:
    """Return where a file is."""
    return setting.work / file_name(model, dataset, kind)


def file_job(model: str, dataset: str, kind: str) -> Job:
    """Return the job that makes a file."""
    return Job(
        name=f"{model} {learnt_from(dataset)} int8 file, {kind}",
        run=partial(_make, model, dataset, kind),
        done=partial(_is_made, model, dataset, kind),
        seconds=CONVERTING_SECONDS[model],
    )


def _is_made(model: str, dataset: str, kind: str, setting: Setting) -> bool:
    """Tell whether the file is there, and made of the checkpoint that is here now by the gate of today."""
    from leantta.runtime.container import read_container
    from leantta.runtime.metadata import read_info

    path = file_path(setting, model, dataset, kind)
    if not path.is_file():
        return False
    try:
        info = read_info(read_container(path))
    except ArtifactError:
        return False  # it is made anew
    if info.gate is not None and not _is_from(info.gate, layers_and_gate(kind)[1]):
        return False
    return info.weights_sha256 == checkpoint_sha256(model, dataset)


def _is_from(made: Gate, asked: Gate) -> bool:
    """Tell whether a gate is the one that was asked for, but for a ceiling that was lowered to fit."""
    if isinstance(made, CalibratedGate) and isinstance(asked, CalibratedGate) and asked.budget is not None:
        made = replace(made, ceiling=asked.ceiling)
    return made == asked


def _make(model: str, dataset: str, kind: str, setting: Setting, progress: Progress) -> None:
    del progress  # it has several parts, none of them long
    from leantta.data.datasets import dataset_info
    from leantta.data.modalities import load_data, modality_of
    from leantta.export.convert import convert
    from leantta.models.pretrained import pretrained

    info = dataset_info(dataset)
    layers, gate = layers_and_gate(kind)
    source = load_data(setting.images[dataset], dataset, "train").images[:CALIBRATION_IMAGES]
    if info.modality != "image":  # bytes are brought into shape by the conversion itself
        source = modality_of(dataset).inputs(source)
    convert(
        pretrained(model, dataset),
        source,
        file_path(setting, model, dataset, kind),
        layers=layers,
        gate=gate,
        mean=info.mean,
        std=info.std,
        classes=info.classes,
        name=model,
        weights_sha256=checkpoint_sha256(model, dataset),
    )
