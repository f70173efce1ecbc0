"""Which job comes next, how long the rest will take, and how that is shown while jobs run."""

import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from leantta_lab.reproduce.target import Job, Setting


@dataclass(frozen=True, kw_only=True)
class Active:
    """A job that a process is at work on."""

    job: Job
    elapsed_seconds: float
    share: float  # how far it is, 0 to 1, by its own account


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a reproduction is."""

    done: int
    total: int
    remaining_seconds: float
    active: tuple[Active, ...]


def unfinished(jobs: Iterable[Job], setting: Setting) -> list[Job]:
    """Return the jobs whose files are not there, and before them those that they need; each name once."""
    left: dict[str, Job] = {}

    def add(job: Job) -> None:
        if job.name in left or job.done(setting):
            return
        for needed in job.needs:
            add(needed)
        left[job.name] = job

    for job in jobs:
        add(job)
    return list(left.values())


def choose(ready: Sequence[Job], held: str, elsewhere: frozenset[str], *, idle: bool) -> Job | None:
    """Return the job that a process should take; None if it should wait.

    The longest come first, so that no long one is left over at the end. But a process prefers the group that
    it `held` last, then groups that no other process has, for what they load takes time. A job that must be
    alone waits until all others are `idle` and nothing else is to be done.
    """
    together = [job for job in ready if not job.alone]
    if together:
        return max(
            together, key=lambda job: (job.group == held != "", job.group not in elsewhere, job.seconds)
        )
    return max(ready, key=lambda job: job.seconds) if ready and idle else None


def speed(finished: Iterable[tuple[float, float]], active: Iterable[Active]) -> float:
    """Return how many times as long as guessed the work takes; 1 until something is known.

    `finished` are the guessed and the measured seconds of jobs.

    >>> speed([(10.0, 20.0), (5.0, 10.0)], [])
    2.0
    """
    guessed, measured = 0.0, 0.0
    for guess, took in finished:
        guessed += guess
        measured += took
    for each in active:
        if each.share > 0:
            guessed += each.job.seconds * each.share
            measured += each.elapsed_seconds
    return measured / guessed if guessed > 0 and measured > 0 else 1.0


def remaining(waiting: Iterable[Job], active: Iterable[Active], slowness: float, workers: int) -> float:
    """Return the seconds until all is done: the work shared among processes, but no less than the longest."""
    running = [
        max(each.job.seconds * slowness - each.elapsed_seconds, 0.0)
        if each.share <= 0
        else each.elapsed_seconds / each.share * (1 - each.share)
        for each in active
    ]
    waiting = list(waiting)
    shared = [*running, *(slowness * job.seconds for job in waiting if not job.alone)]
    alone = sum(slowness * job.seconds for job in waiting if job.alone)
    return max(sum(shared) / workers, max(shared, default=0.0)) + alone


def duration(seconds: float) -> str:
    """Return a time as a person would say it.

    >>> duration(48), duration(500), duration(9000)
    ('48 s', '8 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Board:
    """A line that is redrawn on a terminal, and written every ten seconds elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.redraws = self.stream.isatty()
        self.started = time.monotonic()
        self.drawn: float | None = None

    def __call__(self, status: Status) -> None:
        """Show how far it is."""
        now = time.monotonic()
        finished = not status.active
        if not finished and self.drawn is not None and now - self.drawn < (0.1 if self.redraws else 10):
            return
        self.drawn = now
        text = line(status, now - self.started)
        if self.redraws:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r{text[:width]}\x1b[K" + ("\n" if finished else ""))
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()

    def close(self) -> None:
        """Leave the line that is redrawn, so that what follows has its own."""
        if self.redraws and self.drawn is not None:
            self.stream.write("\n")


def line(status: Status, elapsed_seconds: float) -> str:
    """Return the status in a line."""
    head = f"{status.done} of {status.total} jobs"
    if not status.active:
        return f"{head}, {duration(elapsed_seconds)}"
    at_work = "; ".join(f"{each.job.name} {100 * each.share:.0f} %" for each in status.active)
    return f"{head}, about {duration(status.remaining_seconds)} left: {at_work}"
