"""The one loop: a predictor and a stream in, a record out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Labels
from leantta.errors import DataError, SettingError
from leantta.evaluate.journal import Journal, header_of
from leantta.evaluate.predictor import Logits, Predictor, decided, ranks_of
from leantta.evaluate.record import Chunk, Record, RunSettings
from leantta.progress import Progress, silent
from leantta.streams.stream import Batch, Stream

TOP = 5
"""Of more classes than that, it is kept how far down the right one came."""

UNDECIDED = -2
"""What a record holds where nothing was decided, as outputs are no scores."""

Measure = Callable[[Any, Labels, Labels], npt.ArrayLike]
"""A number for each input: of the outputs of a batch, its labels, and the numbers of its images."""

CHUNK = 64
"""A line of the record holds whole batches, and at least so many inputs while there are."""


def evaluate(
    predictor: Predictor,
    stream: Stream,
    *,
    batch_size: int,
    settings: RunSettings,
    path: Path | None = None,
    progress: Progress = silent,
    measure: Measure | None = None,
) -> Record:
    """Return what a predictor says about a stream, writing it to `path` as it goes.

    The predictor is reset first. If `path` holds the beginning of the same run, a stateless predictor goes on
    after it, at the same batches; any other starts over. If it holds the whole run, that is returned and
    nothing is computed. With a `measure` the outputs may be anything that it takes, and its values are kept.

    Raises:
        SettingError: the batch size is below 1.
        RecordError: `path` holds something else, or is damaged.
        StorageError: `path` cannot be written; what was written before stays and can be gone on with.
        DataError: the predictor returns something that is not one finite score per class and input.
    """
    if batch_size < 1:
        raise SettingError(f"the batch size must be at least 1; it is {batch_size}.")
    header = header_of(settings, stream, batch_size)
    with Journal(header, path, resume=predictor.stateless) as journal:
        if journal.finished is None:
            _run(predictor, stream, batch_size, journal, progress, measure)
        else:
            progress(len(stream), len(stream))
        return journal.record()


def _run(
    predictor: Predictor,
    stream: Stream,
    batch_size: int,
    journal: Journal,
    progress: Progress,
    measure: Measure | None,
) -> None:
    predictor.reset()
    position = journal.done
    waiting: list[Chunk] = []
    for batch in stream.batches(batch_size, start=position):
        outputs = predictor.predict(batch.inputs)
        if measure is None:
            chunk = _decided(outputs, batch, position)
        else:
            index = stream.index[position : position + len(batch.labels)]
            chunk = _measured(measure(outputs, batch.labels, index), batch, position)
        waiting.append(chunk)
        position += len(batch.labels)
        if position - journal.done >= CHUNK:
            journal.append(_chunk(journal.done, waiting))
            waiting = []
        progress(position, len(stream))
    if waiting:
        journal.append(_chunk(journal.done, waiting))
    journal.finish()


def _chunk(start: int, parts: list[Chunk]) -> Chunk:
    extra = [
        None if parts[0][column] is None else np.concatenate([part[column] for part in parts])
        for column in (4, 5)
    ]
    return Chunk(
        start,
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.predictions for part in parts]),
        np.concatenate([part.domain for part in parts]),
        *extra,
    )


def _measured(values: object, batch: Batch, position: int) -> Chunk:
    """Return what a measure said of each input; it need not know of classes, so nothing is decided."""
    count = len(batch.labels)
    given = np.asarray(values)
    if given.shape != (count,) or given.dtype.kind not in "bifu" or not np.isfinite(given).all():
        found = f"{given.dtype} of shape {given.shape}"
        raise DataError(
            f"a metric returns one finite number for each input, ({count},) for the inputs {position} to "
            f"{position + count - 1}; this returned {found}, or NaN."
        )
    undecided = np.full(count, UNDECIDED, np.int64)
    return Chunk(position, batch.labels, undecided, batch.domain, values=given.astype(np.float64))


def _decided(logits: Logits, batch: Batch, position: int) -> Chunk:
    """Return the class of the highest score for each input; of a single score, whether it is above 0.

    Where there are many classes, the rank of the right one is kept, too.
    """
    count = len(batch.labels)
    where = f"for the inputs {position} to {position + count - 1}"
    if not isinstance(logits, np.ndarray) or logits.ndim != 2 or len(logits) != count or not logits.size:
        what = f"shape {logits.shape}" if isinstance(logits, np.ndarray) else type(logits).__name__
        raise DataError(f"a predictor must return scores ({count}, classes) {where}; this returned {what}.")
    if not np.isfinite(logits).all():
        raise DataError(f"the predictor returned NaN or infinity {where}. Check its weights and statistics.")
    classes = max(logits.shape[1], 2)
    if batch.labels.max() >= classes:
        raise DataError(
            f"the predictor knows {classes} classes, but a label {where} is {batch.labels.max()}. "
            f"Is it a model for another dataset?"
        )
    many = classes > TOP and batch.labels.min() >= 0
    ranks = ranks_of(logits, batch.labels) if many else None
    return Chunk(position, batch.labels, decided(logits), batch.domain, ranks)
