"""The jobs that run methods over streams, and those that make the int8 files that some of them run.

A kind of file says which layers adapt and by which gate, as in the table of methods: `none`, `half:paper`,
`sixteen:calibrated`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leantta.errors import ArtifactError
from leantta.gates.gate import Gate
from leantta.gates.table import DEFAULT_GATE, gate_of
from leantta.methods.contenders import Contender, ModelFile, from_file, on_torch
from leantta.modalities.cells import CLEAN, CachedCells, Cells
from leantta.modalities.datasets import dataset_info, learnt_from, load_data, modality_of
from leantta.progress import Progress
from leantta.streams.by_name import build_stream
from leantta.study import Prepared, Study, run_study
from leantta_lab.reproduce.at_hand import checkpoint_sha256, source_path
from leantta_lab.reproduce.costs import CONVERTING_SECONDS, run_seconds
from leantta_lab.reproduce.run_record import THREADS, Run, corrupted_images, file_name, find_record
from leantta_lab.reproduce.target import Job, Setting

if TYPE_CHECKING:
    from leantta.surgery.adaptation import Selector


def accuracy_job(*runs: Run) -> Job:
    """Return the job of runs that differ in their streams only; each leaves a file."""
    first = runs[0]
    cell = f" {first.options.corruption}" if first.options.corruption else ""
    stream = f"{first.stream}{cell}" if len(runs) == 1 else f"{len(runs)} x {first.stream}"
    return Job(
        name=f"{first.model} {first.dataset} {stream} {first.method} batch {first.batch_size} "
        f"seed {first.options.seed}",
        run=partial(_run, runs),
        done=partial(_have_records, runs),
        seconds=run_seconds(first.model, first.method, first.batch_size, sum(run.inputs for run in runs)),
        needs=() if first.file is None else (file_job(first.model, first.dataset, first.file),),
        group=f"{first.model} {learnt_from(first.dataset)} {first.method}",
    )


def _have_records(runs: Sequence[Run], setting: Setting) -> bool:
    return all(find_record(run, setting) is not None for run in runs)


def _run(runs: Sequence[Run], setting: Setting, progress: Progress) -> None:
    first = runs[0]
    images = setting.images[first.dataset]
    if first.file is None:
        source = source_path(setting, first.dataset) or images
        contender = _on_torch(first.model, learnt_from(first.dataset), first.method, source)
        contender = contender._replace(settings=replace(contender.settings, dataset=first.dataset))
    else:
        contender = _file(file_path(setting, first.model, first.dataset, first.file), first.dataset)
    study = Study(
        model=first.model,
        images=images,
        dataset=first.dataset,
        batch_size=first.batch_size,
        records=setting.folder,
    )
    total, before = sum(run.inputs for run in runs), 0
    for run in runs:
        # the images of all quick streams are few; those of other full streams would only fill the memory
        kept_with = "quick" if setting.scale == "quick" else f"{run.stream} {run.options.seed}"
        stream = build_stream(run.stream, _cells(images, run, kept_with), run.options)
        list(run_study(Prepared(study, [stream], [contender]), _part(progress, before, total)))
        before += run.inputs


def _part(progress: Progress, before: int, total: int) -> Callable[[str], Progress]:
    """Return the progress of a run when so many inputs of all were done before it."""
    return lambda _: lambda done, _: progress(before + done, total)


@lru_cache(maxsize=2)
def _on_torch(model: str, dataset: str, method: str, images: Path) -> Contender:
    """Return a method on a model; kept, as some take half a minute to get ready.

    A dataset that tests the models of another shares what is got ready for the other.
    """
    from leantta.methods.parse import parse_method

    cells = corrupted_images(images, dataset)
    example = cells.inputs(cells.cell(CLEAN, 0, np.arange(2), 0))
    contenders = on_torch(
        [parse_method(method)],
        model=model,
        dataset=dataset,
        weights=None,
        images=images,
        example=example,
        threads=THREADS,
    )
    return contenders[0]


@lru_cache(maxsize=2)
def _file(path: Path, dataset: str) -> Contender:
    return from_file(ModelFile(path), dataset, THREADS)


def _cells(images: Path, run: Run, kept_with: str) -> Cells:
    """Return the source of a stream's samples; those that are not changed need not be kept."""
    if run.stream == CLEAN:
        return corrupted_images(images, run.dataset)
    return _kept_cells(images, run.dataset, kept_with)


@lru_cache(maxsize=2)
def _kept_cells(images: Path, dataset: str, kept_with: str) -> CachedCells:
    """Return a source of images for streams; kept, so that the next job over the same images has them."""
    del kept_with  # it only tells apart what is kept together
    return CachedCells(corrupted_images(images, dataset))


def file_path(setting: Setting, model: str, dataset: str, kind: str) -> Path:
    """Return where an int8 file is."""
    return setting.work / file_name(model, dataset, kind)


def file_job(model: str, dataset: str, kind: str) -> Job:
    """Return the job that makes an int8 file."""
    return Job(
        name=f"{model} {learnt_from(dataset)} int8 file, {kind}",
        run=partial(_convert, model, dataset, kind),
        done=partial(_is_converted, model, dataset, kind),
        seconds=CONVERTING_SECONDS[model],
        leaves=partial(file_path, model=model, dataset=dataset, kind=kind),
    )


def layers_and_gate(kind: str) -> tuple["Selector", Gate]:
    """Return which layers of a file adapt, and its gate."""
    from leantta.surgery.adaptation import parse_selector

    layers, _, gate = kind.partition(":")
    return parse_selector(layers), gate_of(gate or DEFAULT_GATE)


def _is_converted(model: str, dataset: str, kind: str, setting: Setting) -> bool:
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
    if info.gate is not None and not info.gate.comes_from(layers_and_gate(kind)[1]):
        return False
    return info.weights_sha256 == checkpoint_sha256(model, dataset)


def _convert(model: str, dataset: str, kind: str, setting: Setting, progress: Progress) -> None:
    del progress  # it has several parts, none of them long
    from leantta.export.convert import convert
    from leantta.models.opening import pretrained

    source = learnt_from(dataset)
    info = dataset_info(source)
    layers, gate = layers_and_gate(kind)
    path = source_path(setting, dataset)
    assert path is not None  # else the job is not asked for
    samples = load_data(path, source, "train").samples[: gate.images]
    convert(
        pretrained(model, source),
        samples if samples.dtype == np.uint8 else modality_of(source).inputs(samples),
        file_path(setting, model, dataset, kind),
        layers=layers,
        gate=gate,
        mean=info.mean,
        std=info.std,
        classes=info.classes,
        name=model,
        weights_sha256=checkpoint_sha256(model, source),
    )
