"""Methods and model files side by side: each over each stream with each seed, one record a run."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leantta.data.cells import CLEAN, CachedCells, Cells
from leantta.data.cifar_c import open_cells
from leantta.data.datasets import dataset_info
from leantta.data.modalities import generated_cells, load_data
from leantta.data.stream_table import StreamOptions, build_stream
from leantta.data.streams import Stream
from leantta.errors import SettingError
from leantta.evaluate.loop import evaluate
from leantta.evaluate.record import Record
from leantta.evaluate.settings import RunSettings, recipe_of, recipe_sha256
from leantta.methods.contender import Contender, from_file, is_file
from leantta.methods.options import MethodOptions
from leantta.progress import Progress, silent


@dataclass(frozen=True, kw_only=True)
class Study:
    """What to compare: which model, on which images, in which streams, with which methods and seeds."""

    model: str | None  # torch model that the methods are put on; None if all of them are files
    images: Path  # the dataset in any of its forms
    weights: Path | None = None
    dataset: str = "cifar10"
    corrupted: Path | None = None  # official CIFAR-10-C folder; without it the images are corrupted here
    streams: tuple[str, ...] = ("abrupt",)
    methods: tuple[str, ...] = ("none", "leantta")  # or model files
    seeds: tuple[int, ...] = (0,)
    batch_size: int = 64
    options: MethodOptions = MethodOptions()
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
    files = [text for text in study.methods if is_file(text)]
    others = [text for text in study.methods if not is_file(text)]
    if others:
        if study.model is None:
            raise SettingError(f"{others[0]!r} is put on a torch model: give --model, e.g. --model resnet18")
        from leantta.methods.on_torch import check_methods  # here, so that files need no torch

        check_methods(others, study.options)
    cells = _cells(study)
    streams = [
        build_stream(name, cells, options) for name, options in _stream_options(study, len(cells.labels))
    ]
    made = {text: from_file(Path(text), study.dataset, study.threads) for text in files}
    if others and study.model is not None:
        from leantta.methods.on_torch import TorchModel, on_torch

        model = TorchModel(
            name=study.model, dataset=study.dataset, weights=study.weights, images=study.images
        )
        example = cells.inputs(cells.cell(CLEAN, 0, np.arange(2) % len(cells.labels), 0))
        found = on_torch(model, others, study.options, example, study.threads)
        made |= dict(zip(others, found, strict=True))
    return Prepared(study, streams, [made[text] for text in study.methods])


def run_study(
    study: Study | Prepared, progress: Callable[[str], Progress] = lambda _: silent
) -> Iterator[Record]:
    """Yield the record of each run; `progress` is called with the run's label and draws its progress.

    A run whose record is there already is not computed again; one that was broken off goes on.

    Raises:
        LeanTTAError: something asked for does not exist or does not fit; it is found before the first run.
    """
    ready = study if isinstance(study, Prepared) else prepare_study(study)
    batch_size, folder = ready.study.batch_size, ready.study.records
    for stream in ready.streams:
        for settings, predictor in ready.contenders:
            yield evaluate(
                predictor,
                stream,
                batch_size=batch_size,
                settings=settings,
                path=folder and folder / _file_name(settings, stream, batch_size),
                progress=progress(f"{settings.model} {stream.name} seed {stream.seed} {settings.method}"),
            )


def _cells(study: Study) -> Cells:
    if study.corrupted and dataset_info(study.dataset).modality != "image":
        raise SettingError(
            f"--corrupted is a folder of CIFAR-10-C or -100-C; {study.dataset} has none. Leave it out."
        )
    clean = load_data(study.images, study.dataset, "test")
    source = open_cells(study.corrupted, study.dataset, clean) if study.corrupted else generated_cells(clean)
    return CachedCells(source)


def _stream_options(study: Study, available: int) -> list[tuple[str, StreamOptions]]:
    """Return each stream asked for with its options, one for each seed."""

    def options(name: str, seed: int) -> StreamOptions:
        if name == "clean":
            return StreamOptions(seed=seed, images=min(study.clean_images, available))
        return StreamOptions(
            seed=seed, images=study.per_cell, corruption=study.corruption, severity=study.severity
        )

    return [(name, options(name, seed)) for seed in study.seeds for name in study.streams]


def _file_name(settings: RunSettings, stream: Stream, batch_size: int) -> str:
    """Return a name that says what was run; the hash keeps runs apart that differ in anything else."""
    recipe = recipe_sha256(recipe_of(settings, stream, batch_size))
    words = [settings.model, settings.dataset, stream.name, settings.method, f"seed{stream.seed}", recipe[:8]]
    return "-".join(re.sub(r"[^\w.]+", "_", word) for word in words) + ".jsonl"
