"""A trial: which model on which images, in which settings; and how it is carried out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leantta.data.collection.collection import Collection, Layout
from leantta.data.preprocess import Preprocessing
from leantta.errors import SettingError
from leantta.evaluate.record import Record
from leantta.files import check_folder
from leantta.methods.contenders import Contender, ModelFile
from leantta.modalities.cells import CLEAN, CachedCells, Cells
from leantta.modalities.photos import PhotoCells
from leantta.progress import Progresses, silent
from leantta.report.advice import Comparison, Part, Row
from leantta.streams.builders import as_found, clean
from leantta.streams.by_name import StreamOptions, build_stream
from leantta.streams.stream import Domain, Stream
from leantta.study import run_stream
from leantta.trial.contenders import get_ready
from leantta.trial.metric import find_metric, measure_with
from leantta.trial.outcome import Outcome
from leantta.trial.photos import check_classes, domains_of
from leantta.trial.shifts import shifts

if TYPE_CHECKING:
    from leantta.methods.method import Method

KEPT_BYTES = 2**28
"""Corrupted images that are kept for the next setting, about 1,700 of 224 x 224; others are made anew."""


class Setting(NamedTuple):
    """One way to run the model: a method on it, or a file."""

    title: str
    runs: "Method | ModelFile"
    convert: str | None = None  # what `leantta convert` is told to make it


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is asked for."""

    images: Path
    settings: tuple[Setting, ...]  # the first is what others are compared with
    model: str | None = None  # what methods are put on; None if there are files only
    weights: Path | None = None
    prefix: str | None = None  # of the names that are meant in the file of weights
    layout: Layout | None = None
    classes: Path | None = None  # names in the order of the scores
    calibration: Path | None = None  # source images to fit on; None: a part of the images
    preprocessing: Preprocessing | None = None  # None: the model's own
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    corrupt: str | None = None  # the stream of corrupted images to make
    per_cell: int = 10
    most: int = 1000  # images reported on, at most
    skip_unreadable: bool = False
    metric: str | None = None
    seed: int = 0
    batch_size: int = 16
    threads: int | None = None
    records: Path | None = None


def run_trial(trial: Trial, progress: Progresses = lambda _: silent) -> Outcome:
    """Return how the settings do on the images.

    Each run is kept as a record, and picked up again after a stop.

    Raises:
        LeanTTAError: something asked for does not exist or does not fit.
    """
    _check(trial)
    ready = get_ready(trial, progress)
    photos, notes = ready.report, list(ready.notes)
    measure = None
    if trial.metric is not None:
        measure = measure_with(find_metric(trial.metric), trial.metric, photos)
    elif ready.outputs is None:
        raise SettingError(
            f"{trial.model} gives no score per class, so nobody but you knows what is good: give --metric "
            "file.py:function, called with outputs, labels and keys of a batch."
        )
    elif photos.labelled:
        check_classes(photos, ready.outputs, ready.listed)
    agreement = measure is None and not photos.labelled
    cells: Cells = PhotoCells(photos, ready.how)
    if agreement:
        cells = PhotoCells(photos, ready.how, _decisions(trial, cells, ready.contenders[0], progress))
    cells = CachedCells(cells, KEPT_BYTES)
    streams = _streams(trial, cells, photos)
    runs = {
        stream.name: tuple(
            run_stream(
                stream,
                ready.contenders,
                trial.batch_size,
                trial.records,
                progress=progress,
                measure=measure,
            )
        )
        for stream in streams
    }
    rows = tuple(
        Row(
            title=setting.title,
            records={name: records[place] for name, records in runs.items()},
            convert=setting.convert,
        )
        for place, setting in enumerate(trial.settings)
    )
    parts = _parts(runs)
    compared = Comparison(
        rows=rows,
        parts=parts,
        cost=parts[0] if len(parts) > 1 else None,
        gain=parts[-1],
        classes=ready.outputs,
        agreement=agreement,
    )
    titles = [setting.title for setting in trial.settings]
    table = shifts(streams, ready.contenders, titles, progress("shift by domain")) if agreement else None
    extra = () if table is None else (table,)
    return Outcome(compared=compared, notes=tuple(notes), command=ready.command, extra=extra)


def _check(trial: Trial) -> None:
    if not trial.settings:
        raise SettingError("a trial compares methods or model files; none is given.")
    for what, value in (
        ("threads", trial.threads),
        ("per-cell", trial.per_cell),
        ("batch-size", trial.batch_size),
    ):
        if value is not None and value < 1:
            raise SettingError(f"--{what} must be at least 1, got {value}.")
    if trial.records is not None:
        check_folder(trial.records)


def _decisions(trial: Trial, cells: Cells, first: Contender, progress: Progresses) -> Any:
    """Return what the first contender decides on the clean images, to be compared with in place of labels."""
    stream = clean(cells, len(cells.labels), seed=trial.seed)
    (record,) = run_stream(stream, [first], trial.batch_size, trial.records, progress=progress)
    decisions = np.empty_like(cells.labels)
    decisions[stream.index] = record.predictions
    return decisions


def _streams(trial: Trial, cells: Cells, photos: Collection) -> list[Stream]:
    """Return the images as they are, by domain if they have any; and corrupted, if that is asked for."""
    streams = [clean(cells, len(photos), seed=trial.seed)]
    if photos.domain is not None:
        streams = [as_found(cells, domains_of(photos), photos.domain, trial.most, seed=trial.seed)]
    if trial.corrupt is not None:
        options = StreamOptions(seed=trial.seed, images=min(trial.per_cell, len(photos)))
        streams.append(build_stream(trial.corrupt, cells, options))
    return streams


def _parts(runs: Mapping[str, tuple[Record, ...]]) -> tuple[Part, ...]:
    """Return the columns: images as they are, or clean ones and those of other domains; corrupted ones."""
    parts: list[Part] = []
    for name, records in runs.items():
        domains = records[0].header.domains
        if name == "clean":
            parts.append(Part(title="clean", stream=name))
        elif name != "as_found":
            parts.append(Part(title="corrupted", stream=name))
        elif any(_is_clean(domain) for domain in domains):
            parts.append(Part(title="clean", stream=name, keep=_is_clean))
            parts.append(Part(title="of other domains", stream=name, keep=lambda each: not _is_clean(each)))
        else:
            parts.append(Part(title="of all domains", stream=name))
    return tuple(parts)


def _is_clean(domain: Domain) -> bool:
    return domain.corruption == CLEAN
