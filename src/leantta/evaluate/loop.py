"""The one loop: a predictor and a stream in, a record out."""

from pathlib import Path

import numpy as np

from leantta.errors import DataError, SettingError
from leantta.evaluate.journal import Journal, header_of
from leantta.evaluate.predictor import Logits, Predictor, decided
from leantta.evaluate.record import Chunk, Integers, Record, RunSettings
from leantta.progress import Progress, silent
from leantta.streams.stream import Batch, Stream

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
) -> Record:
    """Return what a predictor says about a stream, writing it to `path` as it goes.

    The predictor is reset first. If `path` holds the beginning of the same run, a stateless predictor goes on
    after it, at the same batches; any other starts over. If it holds the whole run, that is returned and
    nothing is computed.

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
            _run(predictor, stream, batch_size, journal, progress)
        else:
            progress(len(stream), len(stream))
        return journal.record()


def _run(predictor: Predictor, stream: Stream, batch_size: int, journal: Journal, progress: Progress) -> None:
    predictor.reset()
    position = journal.done
    waiting: list[tuple[Batch, Integers]] = []
    for batch in stream.batches(batch_size, start=position):
        logits = predictor.predict(batch.inputs)
        waiting.append((batch, _decided(logits, batch, position)))
        position += len(batch.labels)
        if position - journal.done >= CHUNK:
            journal.append(_chunk(journal.done, waiting))
            waiting = []
        progress(position, len(stream))
    if waiting:
        journal.append(_chunk(journal.done, waiting))
    journal.finish()


def _chunk(start: int, batches: list[tuple[Batch, Integers]]) -> Chunk:
    return Chunk(
        start,
        np.concatenate([batch.labels for batch, _ in batches]),
        np.concatenate([predictions for _, predictions in batches]),
        np.concatenate([batch.domain for batch, _ in batches]),
    )


def _decided(logits: Logits, batch: Batch, position: int) -> Integers:
    """Return the class of the highest score for each input; of a single score, whether it is above 0."""
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
    return decided(logits)
