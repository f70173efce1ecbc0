"""Which job comes next, and how long the rest will take: pure functions of what is known so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leantta.reproduce.target import Job, Setting


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
    found: dict[str, Job] = {}

    def add(job: Job) -> None:
        if job.name in found or job.done(setting):
            return
        for needed in job.needs:
            add(needed)
        found[job.name] = job

    for job in jobs:
        add(job)
    return list(found.values())


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
