"""The jobs that run methods over streams."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from leantta.data.cells import CLEAN, CachedCells
from leantta.data.datasets import learnt_from
from leantta.data.stream_table import build_stream
from leantta.methods.contender import Contender, from_file
from leantta.methods.options import MethodOptions
from leantta.progress import Progress
from leantta.reproduce.costs import run_seconds
from leantta.reproduce.model_files import file_job, file_path
from leantta.reproduce.run_record import THREADS, Run, corrupted_images, find_record
from leantta.reproduce.target import Job, Setting
from leantta.study import Prepared, Study, run_study


def accuracy_job(*runs: Run) -> Job:
    """Return the job of runs that differ in their streams only; each leaves a file."""
    first = runs[0]
    cell = f" {first.options.corruption}" if first.options.corruption else ""
    stream = f"{first.stream}{cell}" if len(runs) == 1 else f"{len(runs)} x {first.stream}"
    return Job(
        name=f"{first.model} {first.dataset} {stream} {first.method} batch {first.batch_size} "
        f"seed {first.options.seed}",
        run=partial(_make, runs),
        done=partial(_are_made, runs),
        seconds=run_seconds(first.model, first.method, first.batch_size, sum(run.inputs for run in runs)),
        needs=() if first.file is None else (file_job(first.model, first.dataset, first.file),),
        group=f"{first.model} {learnt_from(first.dataset)} {first.method}",
    )


def _are_made(runs: Sequence[Run], setting: Setting) -> bool:
    return all(find_record(run, setting) is not None for run in runs)


def _make(runs: Sequence[Run], setting: Setting, progress: Progress) -> None:
    first = runs[0]
    images = setting.images[first.dataset]
    if first.file is None:
        contender = _on_torch(first.model, learnt_from(first.dataset), first.method, images)
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
        cells = _cells(images, run.dataset, kept_with)
        stream = build_stream(run.stream, cells, run.options)
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
    from leantta.methods.on_torch import TorchModel, on_torch

    source = TorchModel(name=model, dataset=dataset, weights=None, images=images)
    cells = corrupted_images(images, dataset)
    example = cells.inputs(cells.cell(CLEAN, 0, np.arange(2), 0))
    return on_torch(source, [method], MethodOptions(), example, THREADS)[0]


@lru_cache(maxsize=2)
def _file(path: Path, dataset: str) -> Contender:
    return from_file(path, dataset, THREADS)


@lru_cache(maxsize=2)
def _cells(images: Path, dataset: str, kept_with: str) -> CachedCells:
    """Return a source of images for streams; kept, so that the next job over the same images has them."""
    del kept_with  # it only tells apart what is kept together
    return CachedCells(corrupted_images(images, dataset))
