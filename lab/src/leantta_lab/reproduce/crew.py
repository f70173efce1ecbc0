"""A crew at work on jobs: what others need first, then the longest; a failure stops no other.

Who does the work is a `Pool` of hands: processes of this machine (`worker`) or a cluster (`ray_pool`).
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from leantta_lab.reproduce.schedule import Active, Status, choose, remaining, speed
from leantta_lab.reproduce.target import Job, Setting

Watch = Callable[[Status], None]

TICK_SECONDS = 0.5


class Failure(NamedTuple):
    """A job that could not be done."""

    job: str
    reason: str


class Ended(NamedTuple):
    """A job is over."""

    error: str | None  # None: its file is there


class Hand(Protocol):
    """What does one job after another."""

    job: Job | None  # at work on; set by `begin`, taken away by whoever hears that it ended
    group: str  # of its last job
    started: float

    @property
    def share(self) -> float:
        """How far the job is, 0 to 1; 0 where that is not known."""

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""

    def begin(self, job: Job, setting: Setting) -> None:
        """Start a job."""

    def heard(self) -> Ended | None:
        """Return how the job ended; None if it goes on."""

    def stop(self) -> None:
        """End it, and the job that it is at."""


class Pool(Protocol):
    """Where hands come from."""

    @property
    def count(self) -> int:
        """How many jobs may run at a time."""

    def hire(self) -> Hand:
        """Return another hand."""

    def wait(self, busy: Sequence[Any], seconds: float) -> None:
        """Return when one of these hands, all of this pool, has something to say, or after that time."""


class Crew:
    """Processes at work on a list of jobs."""

    def __init__(self, waiting: list[Job], setting: Setting, pool: Pool, total: int, watch: Watch) -> None:
        self.waiting = waiting
        self.setting = setting
        self.pool = pool
        self.count = min(pool.count, len(waiting))
        self.total = total
        self.watch = watch
        self.workers: list[Hand] = []
        self.failures: list[Failure] = []
        self.times: list[tuple[float, float]] = []  # guessed and measured seconds of finished jobs

    def work(self) -> None:
        """Return when no job is left."""
        while True:
            self._give_out()
            busy = self._busy()
            self.watch(self._status(busy))
            if not busy:
                return
            self.pool.wait(busy, TICK_SECONDS)
            for worker in busy:
                if (ended := worker.heard()) is not None:
                    self._take_back(worker, ended)

    def dismiss(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.stop()

    def _busy(self) -> list[Hand]:
        return [worker for worker in self.workers if worker.job is not None]

    def _give_out(self) -> None:
        """Give a job to each process that has none, as long as there is one that may start."""
        while True:
            busy = self._busy()
            if len(busy) == self.count or any(worker.job and worker.job.alone for worker in busy):
                return
            idle = next((worker for worker in self.workers if worker.job is None), None)
            job = choose(
                self._ready(),
                idle.group if idle else "",
                frozenset(worker.group for worker in self.workers if worker is not idle and worker.group),
                idle=not busy,
            )
            if job is None:
                return
            if idle is None:
                idle = self.pool.hire()
                self.workers.append(idle)
            self.waiting.remove(job)
            idle.begin(job, self.setting)

    def _ready(self) -> list[Job]:
        unmade = {job.name for job in self.waiting} | {w.job.name for w in self.workers if w.job is not None}
        return [job for job in self.waiting if not any(needed.name in unmade for needed in job.needs)]

    def _take_back(self, worker: Hand, ended: Ended) -> None:
        assert worker.job is not None
        job, worker.job = worker.job, None
        if not worker.alive:
            worker.stop()
            self.workers.remove(worker)
        if ended.error is None:
            self.times.append((job.seconds, time.monotonic() - worker.started))
        else:
            self._fail(job, ended.error)

    def _fail(self, job: Job, reason: str) -> None:
        self.failures.append(Failure(job.name, reason))
        for other in [other for other in self.waiting if job.name in {need.name for need in other.needs}]:
            self.waiting.remove(other)
            self._fail(other, f"it needs {job.name!r}, which failed")

    def _status(self, busy: Sequence[Hand]) -> Status:
        now = time.monotonic()
        active = tuple(
            Active(job=worker.job, elapsed_seconds=now - worker.started, share=worker.share)
            for worker in busy
            if worker.job is not None
        )
        left = remaining(self.waiting, active, speed(self.times, active), self.count)
        done = self.total - len(self.waiting) - len(active) - len(self.failures)
        return Status(done=done, total=self.total, remaining_seconds=left, active=active)
