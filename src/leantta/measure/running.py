"""What runs: candidates that were tried, loaded anew for each session, and called in turns.

All rows are called in each round, in an order drawn anew, so that they meet one machine.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leantta.errors import LeanTTAError
from leantta.evaluate.predictor import decided
from leantta.files import sha256_of
from leantta.measure.candidates import Array, Candidate, scores
from leantta.measure.record import RowRecord
from leantta.progress import Progresses
from leantta.runtime.engines import Engine

logger = logging.getLogger(__name__)

SLOW_SECONDS, SLOW_SERVES = 0.5, 4
"""What takes so long to load is loaded anew in each fourth session only."""

STRIDES = (8, 4, 2, 1)
"""A slow row takes part in each eighth round at least; of two rows, one's rounds are all the other's."""

Call = Callable[[], object]


@dataclass(eq=False)
class Running:
    """A candidate that runs here: its file, the inputs of its calls, and its engine while that is open."""

    candidate: Candidate
    path: Path
    threads: int
    inputs: Array  # a batch
    larger: Array | None = None  # the batch for throughput; None if it takes none of that size
    serves: int = 1  # sessions before it is loaded anew
    loads: int = 0
    engine: Engine | None = None

    def load(self) -> None:
        """Open the engine."""
        self.engine = self.candidate.open(self.path, self.candidate.engine, self.threads)
        self.loads += 1

    def close(self) -> None:
        """Close the engine, if it is open and need not stay so."""
        if self.engine is not None and not self.candidate.stays_open:
            self.engine.close()
            self.engine = None

    def call(self, inputs: Array) -> Call:
        """Return a call with these inputs; the engine is open."""
        assert self.engine is not None
        run = self.engine.run
        return lambda: run(inputs)


def prepare(
    candidates: Sequence[Candidate], threads: int, batch: int, larger_batch: int, progress: Progresses
) -> tuple[dict[str, RowRecord], dict[str, Running]]:
    """Make and try each candidate once: return a row for each, with the reason if it does not run here."""
    rows: dict[str, RowRecord] = {}
    running: dict[str, Running] = {}
    for candidate in candidates:
        row = RowRecord(
            name=candidate.name,
            summary=candidate.summary,
            adapts=candidate.adapts,
            series=candidate.series,
            analytic_bytes=candidate.analytic_bytes,
        )
        try:
            lack = candidate.lacks()
            if lack is None:
                bar = progress(f"prepare {candidate.name}")
                bar(0, 1)
                row, running[candidate.name] = _tried(row, candidate, threads, batch, larger_batch)
                bar(1, 1)
            else:
                row = replace(row, unavailable=lack)
        except Exception as e:  # whatever ails one row must not stop the others; it is recorded
            logger.info("%s cannot be measured", candidate.name, exc_info=True)
            row = replace(row, unavailable=_reason(e))
        rows[candidate.name] = row
    return rows, running


def _tried(
    row: RowRecord, candidate: Candidate, threads: int, batch: int, larger_batch: int
) -> tuple[RowRecord, Running]:
    """Make it, open it, run both batches, and compare the decisions if it is known what they should be."""
    path = candidate.file()
    started = time.perf_counter()
    engine = candidate.open(path, candidate.engine, threads)
    serves = 1 if time.perf_counter() - started < SLOW_SECONDS else SLOW_SERVES
    inputs = candidate.inputs(engine.inputs, batch)
    engine.run(inputs)
    fixed = engine.inputs[0].shape[0] if engine.inputs else None
    larger, agreement, notes = None, None, []
    if fixed is None or fixed == larger_batch:
        larger = candidate.inputs(engine.inputs, larger_batch)
        engine.run(larger)
        agreement = _agreement(candidate, engine, larger_batch)
    else:
        notes.append(f"no throughput: it takes batches of {fixed} only")
    row = replace(
        row,
        engine=candidate.engine,
        size_bytes=path.stat().st_size,
        sha256=sha256_of(path),
        agreement=agreement,
        notes=notes,
    )
    running = Running(candidate, path, threads, inputs, larger, serves, engine=engine)
    running.close()
    return row, running


def _agreement(candidate: Candidate, engine: Engine, batch: int) -> float | None:
    """Return the share of decisions that are as they should be; None if that is not known."""
    if candidate.check is None:
        return None
    inputs, right = candidate.check
    whole = len(inputs) // batch * batch  # batches of one size, as a compiled model is made for each anew
    if not whole:
        return None
    outputs = [scores(engine, inputs[start : start + batch]) for start in range(0, whole, batch)]
    return float((decided(np.concatenate(outputs)) == right()[:whole]).mean())


def _reason(error: Exception) -> str:
    """Return why something cannot be done, in a line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, LeanTTAError) else f"{type(error).__name__}: {text[:300]}"


def calls_of(running: Mapping[str, Running]) -> dict[str, Call]:
    """Return a call of each with its usual batch."""
    return {name: each.call(each.inputs) for name, each in running.items()}


def load_for_session(running: Mapping[str, Running], session: int, random: np.random.Generator) -> None:
    """Load anew what is due in a session, in a random order: the first one gets the worst memory."""
    due = [each for each in running.values() if not each.candidate.stays_open and session % each.serves == 0]
    for each in due:
        each.close()
    for i in random.permutation(len(due)):
        due[i].load()


@contextmanager
def closing(running: Mapping[str, Running]) -> Iterator[None]:
    """Close what is open when the block ends."""
    try:
        yield
    finally:
        for each in running.values():
            each.close()


def strides(calls: Mapping[str, Call], base: str, probes: int = 3) -> dict[str, int]:
    """Return in each which round a row takes part: all of them, but fewer for rows much slower than `base`.

    The first call of each is not counted; `base` takes part in all.
    """
    quickest = {}
    for name, call in calls.items():
        call()
        quickest[name] = min(_timed_ms(call) for _ in range(probes))
    slower = {name: quickest[name] / quickest[base] for name in calls}
    return {name: next((each for each in STRIDES if slow >= 2 * each), 1) for name, slow in slower.items()}


def take_turns(
    calls: Mapping[str, Call],
    rounds: int,
    every: Mapping[str, int],
    random: np.random.Generator,
    settle: int = 0,
) -> dict[str, list[float]]:
    """Return the time in ms of each call, in order; a row is called in each `every[name]`-th round.

    Before a call that counts the row is called `settle` times: the others have emptied the caches.
    """
    raw: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        due = [name for name in calls if number % every[name] == 0]
        for i in random.permutation(len(due)):  # what ran before leaves its traces
            for _ in range(settle):
                calls[due[i]]()
            raw[due[i]].append(_timed_ms(calls[due[i]]))
    return raw


def _timed_ms(call: Call) -> float:
    start = time.perf_counter_ns()
    call()
    return round((time.perf_counter_ns() - start) / 1e6, 4)
