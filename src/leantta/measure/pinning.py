"""Keep a process on few cores, so that it is not moved about while it is measured."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def usable_cores() -> list[int]:
    """Return the cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only; elsewhere all cores
    return sorted(affinity(0)) if affinity else list(range(os.cpu_count() or 1))


@contextmanager
def pinned(threads: int) -> Iterator[list[int] | None]:
    """Keep the process and its threads on as many cores as threads, and give their numbers.

    They are the last ones, as the first is where the system does its own work. None where this cannot be
    done.
    """
    before = usable_cores()
    cores = before[-threads:]
    if not _set_affinity(cores):
        yield None
        return
    try:
        yield cores
    finally:
        _set_affinity(before)


def _set_affinity(cores: list[int]) -> bool:
    put = getattr(os, "sched_setaffinity", None)
    if put is None:
        return False
    tasks = Path("/proc/self/task")  # threads that are there already keep their own cores
    with suppress(OSError):  # a thread may end meanwhile, and a container may forbid it
        for task in [int(entry.name) for entry in tasks.iterdir()] if tasks.exists() else [0]:
            put(task, cores)
        return True
    return False
