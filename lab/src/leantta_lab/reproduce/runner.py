"""Run jobs in several processes: what others need first, then the longest; a failure stops no other.

One reproduction at a time works in a folder of records, since two would write the same files; each that comes
to its end notes there how long it took.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

from leantta.errors import RecordError, StorageError
from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now, time_now
from leantta_lab.reproduce.schedule import Active, Status, choose, remaining, speed, unfinished
from leantta_lab.reproduce.target import Job, Setting
from leantta_lab.reproduce.worker import Ended, Worker

Watch = Callable[[Status], None]

TICK_SECONDS = 0.5
RUN_TIMES = "run_times.json"
"""The file that lists how long reproductions took."""

STALE_SECONDS = 3600
"""After so long a half-written file cannot be in the making any more."""


class Failure(NamedTuple):
    """A job that could not be done."""

    job: str
    reason: str


def run_jobs(
    jobs: Sequence[Job], setting: Setting, *, workers: int, watch: Watch = lambda _: None
) -> list[Failure]:
    """Do what is not done yet, and return what failed; `watch` is told how far it is.

    It may be stopped at any moment, even by kill -9: what is finished is not done again. The caller holds the
    folder of records (`only_one`).

    Raises:
        StorageError: the folder of records cannot be written.
    """
    for folder in (setting.folder, setting.work):
        _remove_stale(folder)
    waiting = unfinished(jobs, setting)
    total = len({job.name for job in (*jobs, *waiting)})
    if not waiting:
        watch(Status(done=total, total=total, remaining_seconds=0.0, active=()))
        return []
    crew = _Crew(waiting, setting, min(workers, len(waiting)), total, watch)
    provenance, began = provenance_now(), time.monotonic()
    try:
        crew.work()
    finally:
        crew.dismiss()
    entry = {
        **asdict(provenance),
        "ended": time_now(),
        "seconds": round(time.monotonic() - began, 1),
        "processes": crew.count,
        "jobs": len(crew.times),
        "failed": len(crew.failures),
    }
    write_json({"runs": [*run_times(setting.folder), entry]}, setting.folder / RUN_TIMES)
    return crew.failures


def run_times(folder: Path) -> list[dict[str, Any]]:
    """Return what the reproductions took whose records are in a folder, the oldest first.

    Raises:
        RecordError: the file is something else.
    """
    path = folder / RUN_TIMES
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["runs"])
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise RecordError(f"{path} is no list of times: {e!r}. Remove it.") from e


@contextmanager
def only_one(folder: Path) -> Iterator[bool]:
    """Hold the folder, which is made if need be; it is free again when the process ends, however it ends.

    Where the system or the disk has no locks, nothing is held, and the value is false.

    Raises:
        StorageError: another process holds it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StorageError(f"cannot make {folder}: {e.strerror or e}. Choose another place.") from e
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        held = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise StorageError(
                f"another `leantta reproduce` is at work in {folder}. Wait for it, or give another --records."
            ) from e
        except OSError:  # a network disk without locks
            held = False
        yield held
    finally:
        os.close(handle)


def core_count() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _remove_stale(folder: Path) -> None:
    """Remove what a killed process left half-written."""
    for part in folder.glob(".*.part"):
        with suppress(FileNotFoundError):  # another process may be faster
            if time.time() - part.stat().st_mtime > STALE_SECONDS:
                part.unlink()


class _Crew:
    """Processes at work on a list of jobs."""

    def __init__(self, waiting: list[Job], setting: Setting, workers: int, total: int, watch: Watch) -> None:
        self.waiting = waiting
        self.setting = setting
        self.count = workers
        self.total = total
        self.watch = watch
        self.workers: list[Worker] = []
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
            wait([worker.connection for worker in busy], TICK_SECONDS)
            for worker in busy:
                if (ended := worker.heard()) is not None:
                    self._take_back(worker, ended)

    def dismiss(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.stop()

    def _busy(self) -> list[Worker]:
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
                idle = Worker()
                self.workers.append(idle)
            self.waiting.remove(job)
            idle.begin(job, self.setting)

    def _ready(self) -> list[Job]:
        unmade = {job.name for job in self.waiting} | {w.job.name for w in self.workers if w.job is not None}
        return [job for job in self.waiting if not any(needed.name in unmade for needed in job.needs)]

    def _take_back(self, worker: Worker, ended: Ended) -> None:
        assert worker.job is not None
        job, worker.job = worker.job, None
        if not worker.process.is_alive():
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

    def _status(self, busy: Sequence[Worker]) -> Status:
        now = time.monotonic()
        active = tuple(
            Active(job=worker.job, elapsed_seconds=now - worker.started, share=worker.share)
            for worker in busy
            if worker.job is not None
        )
        left = remaining(self.waiting, active, speed(self.times, active), self.count)
        done = self.total - len(self.waiting) - len(active) - len(self.failures)
        return Status(done=done, total=self.total, remaining_seconds=left, active=active)
