"""Methods and model files side by side: each over each stream with each seed, one record a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leantta.errors import SettingError
from leantta.evaluate.lookup import record_path
from leantta.evaluate.loop import Measure, evaluate
from leantta.evaluate.record import Record, recipe_of
from leantta.files import check_folder
from leantta.methods.contenders import Contender, ModelFile, from_file, on_torch
from leantta.modalities.cells import CLEAN, CachedCells, Cells
from leantta.modalities.datasets import dataset_info, generated_cells, load_data
from leantta.progress import Progresses, silent
from leantta.streams.by_name import StreamOptions, build_stream
from leantta.streams.stream import Stream

if TYPE_CHECKING:
    from leantta.methods.method import Method


@dataclass(frozen=True, kw_only=True)
class Study:
    """What to compare: which model, on which images, in which streams, with which methods and seeds."""

    model: str | None  # torch model that the methods are put on; None if all of them are files
    dataset: str
    images: Path  # the dataset in any of its forms
    weights: Path | None = None
    prefix: str | None = None  # of the names that are meant in the file of weights; None: what fits best
    corrupted: Path | None = None  # official CIFAR-10-C folder; without it the images are corrupted here
    streams: tuple[str, ...] = ("abrupt",)
    methods: "tuple[Method | ModelFile, ...]" = ()
    seeds: tuple[int, ...] = (0,)
    batch_size: int = 64
    per_cell: int | None = None  # images per cell or step; None: the protocol's
    clean_images: int = 1000  # at most so many for the stream "clean"
    corruption: str | None = None
    severity: int | None = None
    threads: int | None = None
    records: Path | None = None  # where records are kept, and picked up again after a stop


class Prepared(NamedTuple):
    """A study with everything loaded and found to fit."""

    study: Study
    streams: list[Stream]
    contenders: list[Contender]


def prepare_study(study: Study) -> Prepared:
    """Return the study with its streams made and its models loaded; nothing is predicted yet.

    Raises:
        LeanTTAError: something asked for does not exist or does not fit.
    """
    if study.threads is not None and study.threads < 1:
        raise SettingError(f"threads must be at least 1, got {study.threads}")
    if not study.methods:
        raise SettingError("a study compares methods or model files; none is given")
    methods = [method for method in study.methods if not isinstance(method, ModelFile)]
    if methods and study.model is None:
        raise SettingError(
            f"{methods[0].label!r} is put on a torch model: give --model, e.g. --model resnet18"
        )
    if study.records is not None:
        check_folder(study.records)  # here, as fitting a method may take minutes
    cells = _cells(study)
    streams = [
        build_stream(name, cells, options) for name, options in _stream_options(study, len(cells.labels))
    ]
    files = {
        file: from_file(file, study.dataset, study.threads)
        for file in study.methods
        if isinstance(file, ModelFile)
    }
    put: list[Contender] = []
    if study.model is not None and methods:
        put = on_torch(
            methods,
            model=study.model,
            dataset=study.dataset,
            weights=study.weights,
            prefix=study.prefix,
            images=study.images,
            example=cells.inputs(cells.cell(CLEAN, 0, np.arange(2) % len(cells.labels), 0)),
            threads=study.threads,
        )
    others = iter(put)
    contenders = [files[asked] if isinstance(asked, ModelFile) else next(others) for asked in study.methods]
    return Prepared(study, streams, contenders)


def run_study(study: Study | Prepared, progress: Progresses = lambda _: silent) -> Iterator[Record]:
    """Yield the record of each run; `progress` is called with the run's label and draws its progress.

    A run whose record is there already is not computed again; one that was broken off goes on.

    Raises:
        LeanTTAError: something asked for does not exist or does not fit; it is found before the first run.
    """
    ready = study if isinstance(study, Prepared) else prepare_study(study)
    for stream in ready.streams:
        yield from run_stream(
            stream, ready.contenders, ready.study.batch_size, ready.study.records, progress=progress
        )


def run_stream(
    stream: Stream,
    contenders: Sequence[Contender],
    batch_size: int,
    records: Path | None,
    *,
    progress: Progresses = lambda _: silent,
    measure: Measure | None = None,
) -> Iterator[Record]:
    """Yield the record of each contender over one stream, kept in the folder `records` if there is one.

    Raises:
        LeanTTAError: an input cannot be read, or a contender fails on one.
    """
    for settings, predictor in contenders:
        yield evaluate(
            predictor,
            stream,
            batch_size=batch_size,
            settings=settings,
            path=records and record_path(records, recipe_of(settings, stream, batch_size)),
            progress=progress(f"{settings.model} {stream.name} seed {stream.seed} {settings.method}"),
            measure=measure,
        )


def _cells(study: Study) -> Cells:
    published = dataset_info(study.dataset).corrupted
    if study.corrupted and published is None:
        raise SettingError(
            f"--corrupted is a published folder such as CIFAR-10-C; {study.dataset} has none. Leave it out."
        )
    clean = load_data(study.images, study.dataset, "test")
    if study.corrupted and published is not None:
        return CachedCells(published(study.corrupted, study.dataset, clean))
    return CachedCells(generated_cells(clean))


def _stream_options(study: Study, available: int) -> list[tuple[str, StreamOptions]]:
    """Return each stream asked for with its options, one for each seed."""

    def options(name: str, seed: int) -> StreamOptions:
        if name == "clean":
            return StreamOptions(seed=seed, images=min(study.clean_images, available))
        return StreamOptions(
            seed=seed, images=study.per_cell, corruption=study.corruption, severity=study.severity
        )

    return [(name, options(name, seed)) for seed in study.seeds for name in study.streams]
