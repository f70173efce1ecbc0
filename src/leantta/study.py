"""Methods side by side: each of them over each stream with each seed, one record a run."""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from leantta.data.cells import CLEAN, CachedCells, Cells, GeneratedCells
from leantta.data.cifar import load_images
from leantta.data.cifar_c import open_cells
from leantta.data.datasets import dataset_info, model_inputs
from leantta.data.stream_table import StreamOptions, build_stream
from leantta.data.streams import Stream
from leantta.errors import SettingError
from leantta.evaluate.loop import evaluate
from leantta.evaluate.record import Record
from leantta.evaluate.settings import RunSettings, recipe_of, recipe_sha256
from leantta.gates import PaperGate
from leantta.methods.table import MethodOptions, Subject, choose
from leantta.methods.torch_predictor import TorchPredictor
from leantta.models.pretrained import pretrained
from leantta.models.weights import find_weights
from leantta.progress import Progress, silent

SOURCE_IMAGES = 512
"""How many training images the calibrated gate sees."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """What to compare: which model, on which images, in which streams, with which methods and seeds."""

    model: str
    images: Path  # CIFAR in any of its forms
    weights: Path | None = None
    dataset: str = "cifar10"
    corrupted: Path | None = None  # official CIFAR-10-C folder; without it the images are corrupted here
    streams: tuple[str, ...] = ("abrupt",)
    methods: tuple[str, ...] = ("none", "leantta")
    seeds: tuple[int, ...] = (0,)
    batch_size: int = 64
    options: MethodOptions = MethodOptions()
    per_cell: int | None = None  # images per cell or step; None: the protocol's
    clean_images: int = 1000  # at most so many for the stream "clean"
    corruption: str | None = None
    severity: int | None = None
    threads: int | None = None
    records: Path | None = None  # where records are kept, and picked up again after a stop


def run_study(study: Study, progress: Callable[[str], Progress] = lambda _: silent) -> Iterator[Record]:
    """Yield the record of each run; `progress` is called with the run's label and draws its progress.

    A run whose record is there already is not computed again; one that was broken off goes on.

    Raises:
        LeanTTAError: something asked for does not exist or does not fit; it is found before the first run.
    """
    _set_threads(study.threads)
    chosen = [choose(text, study.options) for text in study.methods]
    cells = _cells(study)
    streams = [
        build_stream(name, cells, options) for name, options in _stream_options(study, len(cells.labels))
    ]
    subject = _subject(study, cells)
    predictors = [method.method.build(subject, method.options) for method in chosen]
    weights_sha256 = _weights_sha256(study)
    for stream in streams:
        for method, predictor in zip(chosen, predictors, strict=True):
            settings = RunSettings(
                model=study.model,
                method=method.label,
                dataset=study.dataset,
                method_settings=method.settings(),
                weights_sha256=weights_sha256,
                threads=torch.get_num_threads(),
            )
            yield evaluate(
                predictor,
                stream,
                batch_size=study.batch_size,
                settings=settings,
                path=study.records and study.records / _file_name(settings, stream, study.batch_size),
                progress=progress(f"{study.model} {stream.name} seed {stream.seed} {method.label}"),
            )


def _set_threads(threads: int | None) -> None:
    if threads is None:
        return
    if threads < 1:
        raise SettingError(f"threads must be at least 1, got {threads}")
    torch.set_num_threads(threads)


def _cells(study: Study) -> Cells:
    clean = load_images(study.images, study.dataset, "test")
    source = open_cells(study.corrupted, study.dataset, clean) if study.corrupted else GeneratedCells(clean)
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


def _subject(study: Study, cells: Cells) -> Subject:
    info = dataset_info(study.dataset)
    model = pretrained(study.model, study.dataset, study.weights)
    outside = TorchPredictor(model, mean=info.mean, std=info.std)
    example = outside.normalized(model_inputs(cells.cell(CLEAN, 0, np.arange(2) % len(cells.labels), 0)))
    calibration = None
    if not isinstance(study.options.gate, PaperGate):
        source = load_images(study.images, study.dataset, "train").images[:SOURCE_IMAGES]
        calibration = outside.normalized(model_inputs(source))
    return Subject(model=model, example=example, mean=info.mean, std=info.std, calibration=calibration)


def _weights_sha256(study: Study) -> str | None:
    if study.weights is None and ":" in study.model:
        return None  # the user's function brings its own
    weights = study.weights or find_weights(study.model, study.dataset)
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def _file_name(settings: RunSettings, stream: Stream, batch_size: int) -> str:
    """Return a name that says what was run; the hash keeps runs apart that differ in anything else."""
    recipe = recipe_sha256(recipe_of(settings, stream, batch_size))
    words = [settings.model, settings.dataset, stream.name, settings.method, f"seed{stream.seed}", recipe[:8]]
    return "-".join(re.sub(r"[^\w.]+", "_", word) for word in words) + ".jsonl"
