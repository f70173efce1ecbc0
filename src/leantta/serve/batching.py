"""One model at work: requests wait in a bounded queue, and a thread runs as many at once as are there.

An idle model takes a request at once. While it computes, others come in; they are the next batch. So nothing
waits for company, and the busier the server is, the larger are the batches. The method looks at each input
alone, so company changes no answer. Inputs of a stream follow each other and run one request at a time.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.errors import LeanTTAError
from leantta.runtime.prediction import Outputs
from leantta.runtime.session import Session
from leantta.serve.refusal import RefusalError, busy

logger = logging.getLogger(__name__)

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one model takes on."""

    max_batch: int = 32  # inputs that are computed at once, and the most in one request
    queue: int = 256  # requests that wait
    streams: int = 64  # of which the model remembers something


@dataclass(frozen=True)
class Stream:
    """Which stream the inputs of a request belong to."""

    name: str
    starts: bool = False
    ends: bool = False


@dataclass(frozen=True, eq=False)
class _Job:
    inputs: Array
    stream: Stream | None
    answer: "asyncio.Future[Outputs]"


class Worker:
    """A session with its queue and its thread. `submit` is for the event loop it was made in."""

    def __init__(self, session: Session, limits: Limits, seen: Callable[[Outputs], None]) -> None:
        """Take an open session, which is closed when the work is done; `seen` is told of each batch."""
        self._limits = limits
        self._seen = seen
        self._following = session
        self._alone = session if session.stateless else session.forgetful()
        self._streams: OrderedDict[str, None] = OrderedDict()  # the one that was used last is the last
        self._loop = asyncio.get_running_loop()
        self._jobs: deque[_Job] = deque()
        self._changed = Condition()
        self._stopping = False
        self._thread = Thread(target=self._work, name=f"leantta {session.name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return len(self._jobs)

    @property
    def streams(self) -> int:
        """Streams of which the model remembers something."""
        return len(self._streams)

    def submit(self, inputs: Array, stream: Stream | None) -> "asyncio.Future[Outputs]":
        """Return the answer to come for prepared inputs; cancelling it takes them out of the queue.

        Raises:
            RefusalError: the queue is full, there are too many inputs, or the model follows no streams.
        """
        if len(inputs) > self._limits.max_batch:
            raise RefusalError(
                400,
                f"a request has at most {self._limits.max_batch} inputs, not {len(inputs)}. Send several.",
            )
        if stream and self._following.stateless:
            raise RefusalError(400, "this model follows no streams. Convert it with --stream.")
        answer: asyncio.Future[Outputs] = self._loop.create_future()
        with self._changed:
            if len(self._jobs) >= self._limits.queue:
                raise busy(f"{len(self._jobs)} requests wait already. Try again a little later.")
            self._jobs.append(_Job(inputs, stream, answer))
            self._changed.notify()
        return answer

    def stop(self) -> None:
        """Finish what was accepted, then close the session; returns at once."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def join(self) -> None:
        """Wait until the work is done."""
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            results = self._answers(batch)
            self._loop.call_soon_threadsafe(_deliver, batch, results)
        self._following.close()

    def _next(self) -> list[_Job]:
        """Wait for jobs and return those that run together; none when all work is done."""
        batch: list[_Job] = []
        rows = 0
        with self._changed:
            while not batch:
                while not self._jobs:
                    if self._stopping:
                        return []
                    self._changed.wait()
                while self._jobs and not (batch and self._is_full(rows, batch[0], self._jobs[0])):
                    job = self._jobs.popleft()
                    if not job.answer.cancelled():
                        batch.append(job)
                        rows += len(job.inputs)
        return batch

    def _is_full(self, rows: int, first: _Job, job: _Job) -> bool:
        """Tell whether a job does not go into a batch any more."""
        alone = first.stream is not None or job.stream is not None
        return alone or rows + len(job.inputs) > self._limits.max_batch

    def _answers(self, batch: list[_Job]) -> list[Outputs | LeanTTAError]:
        inputs = batch[0].inputs if len(batch) == 1 else np.concatenate([job.inputs for job in batch])
        try:
            outputs = self._run(inputs, batch[0].stream)
        except LeanTTAError as e:
            logger.error("%s", e)
            return [e] * len(batch)
        self._seen(outputs)
        answers: list[Outputs | LeanTTAError] = []
        start = 0
        for job in batch:
            part = outputs.rows(start, start + len(job.inputs))
            start += len(job.inputs)
            finite = all(np.isfinite(array).all() for array in part.named().values())
            answers.append(part if finite else _not_finite())
        return answers

    def _run(self, inputs: Array, stream: Stream | None) -> Outputs:
        if stream is None:
            return self._alone.run_prepared(inputs)
        if stream.starts:
            self._following.reset(stream.name)
        outputs = self._following.run_prepared(inputs, stream=stream.name)
        self._streams[stream.name] = None
        self._streams.move_to_end(stream.name)
        if stream.ends:
            self._forget(stream.name)
        while len(self._streams) > self._limits.streams:
            self._forget(next(iter(self._streams)))
        return outputs

    def _forget(self, name: str) -> None:
        del self._streams[name]
        self._following.reset(name)


def _deliver(batch: list[_Job], results: list[Outputs | LeanTTAError]) -> None:
    for job, result in zip(batch, results, strict=True):
        if job.answer.cancelled():
            continue
        if isinstance(result, Outputs):
            job.answer.set_result(result)
        else:
            job.answer.set_exception(result)


def _not_finite() -> RefusalError:
    return RefusalError(422, "the model has no finite answer for this input: its values are too large.")
