"""The machine that is measured on: cores that a process is kept on, and whether others disturb it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leantta.measure.figures import Sessions, flat, median, p95

LIMITS = {
    "tail": 1.25,  # p95 / median of the base row
    "drift": 0.10,  # largest less smallest median of its sessions, as a share of the median
    "steal": 0.02,  # share of all cores' time that the hypervisor gave to other machines
    "others": 0.10,  # share of all cores' time that other processes used
}
_MEANING = {
    "tail": "the base row's p95 is {:.2f} times its median",
    "drift": "the medians of the base row's sessions differ by {:.0%}",
    "steal": "the hypervisor took {:.1%} of the time",
    "others": "other processes used {:.0%} of the machine",
}


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


@dataclass(frozen=True)
class CpuTime:
    """Seconds that the cores have spent since the machine started, and this process of them."""

    total: float
    busy: float
    steal: float
    own: float


def cpu_time(stat: Path = Path("/proc/stat")) -> CpuTime | None:
    """Return how the cores have spent their time; None where the system does not say."""
    try:
        fields = [int(field) for field in stat.read_text().splitlines()[0].split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = (field / tick for field in fields)
    busy = user + nice + system + irq + softirq
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return CpuTime(total=busy + idle + iowait + steal, busy=busy, steal=steal, own=own)


def noise_figures(base: Sessions, before: CpuTime | None, after: CpuTime | None) -> dict[str, float | None]:
    """Return the figures that `noise_reasons` judges, by name; None is not known."""
    medians = [median(session) for session in base if session]
    values = flat(base)
    figures: dict[str, float | None] = {
        "tail": p95(values) / median(values),
        "drift": (max(medians) - min(medians)) / median(values),
        "steal": None,
        "others": None,
    }
    if before is not None and after is not None and after.total > before.total:
        passed = after.total - before.total
        figures["steal"] = (after.steal - before.steal) / passed
        others = (after.busy - before.busy) - (after.own - before.own)
        figures["others"] = max(others, 0.0) / passed
    return figures


def noise_reasons(figures: dict[str, float | None]) -> list[str]:
    """Return what speaks against the figures: nothing if the machine was quiet.

    >>> noise_reasons({"tail": 1.1, "drift": 0.02, "steal": None, "others": 0.0})
    []
    >>> noise_reasons({"tail": 1.5, "drift": 0.02, "steal": 0.0, "others": 0.0})
    ["the base row's p95 is 1.50 times its median (quiet: 1.25)"]
    """
    return [
        f"{_MEANING[name].format(value)} (quiet: {LIMITS[name]:g})"
        for name, value in figures.items()
        if value is not None and value > LIMITS[name]
    ]


def judge_noise(base: Sessions, before: CpuTime | None, after: CpuTime | None) -> dict[str, Any]:
    """Return the figures with their limits, what speaks against them, and the verdict."""
    figures = noise_figures(base, before, after)
    reasons = noise_reasons(figures)
    return {"noisy": bool(reasons), "reasons": reasons, **figures, "limits": LIMITS}


def load_average() -> Sequence[float] | None:
    """Return the load of the last 1, 5 and 15 minutes; None where the system does not say."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None
