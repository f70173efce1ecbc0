"""Run the jobs that are not done, in processes of this machine or as tasks of a Ray cluster.

One reproduction at a time works in a folder of records, since two would write the same files; each that comes
to its end notes there how long it took.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leantta.errors import RecordError, StorageError
from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now, time_now
from leantta_lab.reproduce.crew import Crew, Failure, Pool, Watch
from leantta_lab.reproduce.schedule import Status, unfinished
from leantta_lab.reproduce.target import Job, Setting

RUN_TIMES = "run_times.json"
"""The file that lists how long reproductions took."""

STALE_SECONDS = 3600
"""After so long a half-written file cannot be in the making any more."""


def run_jobs(
    jobs: Sequence[Job], setting: Setting, *, pool: Pool, watch: Watch = lambda _: None
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
    crew = Crew(waiting, setting, pool, total, watch)
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
