"""Make what is to be measured, and try each once: what does not run here is recorded with the reason."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leantta.evaluate.decisions import decided
from leantta.files import sha256_of
from leantta.measure.candidates import Candidate
from leantta.measure.record import RowRecord
from leantta.measure.subjects import Array, Opened, Subject, open_subject, reason_of
from leantta.progress import Progress

logger = logging.getLogger(__name__)

SLOW_SECONDS, SLOW_SERVES = 0.5, 4
"""What takes so long to load is loaded anew in each fourth session only."""


@dataclass(frozen=True, eq=False)
class Ready:
    """A candidate that runs here."""

    subject: Subject
    inputs: Array  # a batch
    larger: Array | None = None  # the batch for throughput; None if it takes none of that size
    opened: Opened | None = None  # kept open for all sessions, if it is torch's
    serves: int = 1  # sessions before it is loaded anew


def prepare(
    candidates: Sequence[Candidate],
    threads: int,
    batch: int,
    larger_batch: int,
    progress: Callable[[str], Progress],
) -> tuple[dict[str, RowRecord], dict[str, Ready]]:
    """Return a row for each candidate by its name, and those that can be measured."""
    rows: dict[str, RowRecord] = {}
    ready: dict[str, Ready] = {}
    for candidate in candidates:
        row = RowRecord(
            name=candidate.name,
            summary=candidate.summary,
            adapts=candidate.adapts,
            series=candidate.series,
            analytic_bytes=candidate.analytic_bytes,
        )
        try:
            lack = candidate.missing()
            if lack is None:
                bar = progress(f"prepare {candidate.name}")
                bar(0, 1)
                row, ready[candidate.name] = _tried(row, candidate, threads, batch, larger_batch)
                bar(1, 1)
            else:
                row = replace(row, unavailable=lack)
        except Exception as e:  # whatever ails one row must not stop the others; it is recorded
            logger.info("%s cannot be measured", candidate.name, exc_info=True)
            row = replace(row, unavailable=reason_of(e))
        rows[candidate.name] = row
    return rows, ready


def _tried(
    row: RowRecord, candidate: Candidate, threads: int, batch: int, larger_batch: int
) -> tuple[RowRecord, Ready]:
    """Make it, open it, run both batches, and compare the decisions if it is known what they should be."""
    subject = candidate.make()
    started = time.perf_counter()
    opened = open_subject(subject, threads)
    serves = 1 if time.perf_counter() - started < SLOW_SECONDS else SLOW_SERVES
    inputs = candidate.inputs(opened.port, batch)
    opened.run(inputs)
    fixed = opened.port.shape[0] if opened.port is not None else None
    larger, notes = None, []
    if fixed is None or fixed == larger_batch:
        larger = candidate.inputs(opened.port, larger_batch)
        opened.run(larger)
    else:
        notes.append(f"no throughput: it takes batches of {fixed} only")
    row = replace(
        row,
        engine=subject.engine,
        size_bytes=subject.path.stat().st_size,
        sha256=sha256_of(subject.path),
        agreement=_agreement(candidate, opened, larger_batch) if larger is not None else None,
        notes=notes,
    )
    if subject.is_torch:
        return row, Ready(subject, inputs, larger, opened)
    opened.close()
    return row, Ready(subject, inputs, larger, serves=serves)


def _agreement(candidate: Candidate, opened: Opened, batch: int) -> float | None:
    """Return the share of decisions that are as they should be; None if that is not known."""
    if candidate.check is None:
        return None
    inputs, wanted = candidate.check
    whole = len(inputs) // batch * batch  # batches of one size, as a compiled model is made for each anew
    if not whole:
        return None
    found = [opened.run(inputs[start : start + batch]) for start in range(0, whole, batch)]
    return float((decided(np.concatenate(found)) == wanted()[:whole]).mean())
