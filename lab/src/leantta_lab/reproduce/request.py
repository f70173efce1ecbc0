"""A reproduction as people ask for it: names of targets, where to look, where to put."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, get_args

from leantta.errors import MissingFileError, SettingError, StorageError
from leantta.files import existing, replacing
from leantta.tables import Table
from leantta_lab.reproduce.crew import Failure, Pool, Watch
from leantta_lab.reproduce.packing import Packed, pack_finished
from leantta_lab.reproduce.runner import only_one, run_jobs
from leantta_lab.reproduce.schedule import duration, remaining, unfinished
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target
from leantta_lab.reproduce.worker import LocalPool

ALL = "all"


class Cluster(NamedTuple):
    """A Ray cluster, and how many jobs it may do at a time."""

    address: str  # empty: that of this machine, which is started if there is none
    most: int | None  # None: one per core of it


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which targets, and how."""

    targets: Mapping[str, Target]
    setting: Setting
    workers: int
    only: tuple[str, ...] = ()  # patterns of the names of the jobs to do; none: all
    cluster: Cluster | None = None  # that does them; None: processes of this machine


class Outcome(NamedTuple):
    """The pages that were asked for, by the name of their target, and the jobs that failed."""

    pages: dict[str, Page]
    failures: list[Failure]


def chosen(names: Sequence[str], table: Mapping[str, Target]) -> dict[str, Target]:
    """Return the targets of these names, or all of them, in the order of the table.

    Raises:
        SettingError: there is no such target, or none is named.
    """
    if not names:
        raise SettingError(f"name what to reproduce: {', '.join((ALL, *table))}")
    for name in names:
        if name != ALL and name not in table:
            near = get_close_matches(name, table, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SettingError(f"there is no target {name!r}; there are {', '.join((ALL, *table))}.{hint}")
    return {name: target for name, target in table.items() if ALL in names or name in names}


def reproduce(request: Request, watch: Watch) -> Outcome:
    """Do what is not done yet of the targets, and return their pages.

    Raises:
        MissingFileError: nothing of it can be run here; the message says what is missing.
        SettingError: nothing is called as `only` says.
        SettingError: there is no cluster at the address.
        StorageError: the records cannot be written, or another process writes there.
        ModuleNotFoundError: there is no torch, or no ray although a cluster is to do it.
    """
    import torch  # noqa: F401 - without it every job would fail, each with the same message

    possible = _jobs(request)
    if not possible:
        missing = [line for page in pages(request).values() for line in page.lacking]
        raise MissingFileError(
            f"nothing of {', '.join(request.targets)} can be run here. "
            f"{'. '.join(dict.fromkeys(missing))}. --show prints what the records hold."
        )
    jobs = [job for job in possible if wanted(job.name, request.only)]
    if not jobs:
        raise SettingError(
            f"no job of {', '.join(request.targets)} is called {' or '.join(map(repr, request.only))}; "
            f"one of the {len(possible)} is {possible[0].name!r}"
        )
    with only_one(request.setting.folder) as held:
        with _pool(request) as pool:
            failures = run_jobs(jobs, request.setting, pool=pool, watch=watch)
        if held:  # else another process might pack, too, and one would lose what the other added
            pack_finished(request.targets, request.setting)
    return Outcome(pages(request), failures)


@contextmanager
def _pool(request: Request) -> Iterator[Pool]:
    """Give who does the jobs."""
    if request.cluster is None:
        yield LocalPool(request.workers)
        return
    from leantta_lab.reproduce.ray_pool import connected

    with connected(*request.cluster) as pool:
        yield pool


def pack(request: Request) -> Packed:
    """Move the finished records of the targets into their packs; nothing is run.

    Raises:
        MissingFileError: there is no folder of records.
        StorageError: the packs cannot be written, another process is at work there, or there are no locks.
        RecordError: a pack is damaged.
    """
    folder = existing(request.setting.folder, "records", "Give --records, and --full if they are.")
    with only_one(folder) as held:
        if not held:
            raise StorageError(
                f"{folder} is on a disk without locks: copy it to another one to pack it there."
            )
        return pack_finished(request.targets, request.setting)


def wanted(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a job is to be done: without patterns each is.

    >>> name = "resnet18 cifar10 abrupt none batch 16 seed 0"
    >>> wanted(name, ()), wanted(name, ["* seed 0"]), wanted(name, ["mobilenet_v2 *"])
    (True, True, False)
    """
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def pages(request: Request) -> dict[str, Page]:
    """Return the pages of the targets, made of the records that are there."""
    return {name: target.page(request.setting) for name, target in request.targets.items()}


def listed(request: Request) -> Table:
    """Return the targets with their jobs, how many are done, and what the rest takes, at each scale."""
    settings = [replace(request.setting, scale=scale) for scale in get_args(Scale)]
    rows = []
    every: list[list[Job]] = [[] for _ in settings]
    for name, target in request.targets.items():
        own = [target.jobs(setting) for setting in settings]
        for jobs, more in zip(every, own, strict=True):
            jobs += more
        rows.append((name, target.summary, *_counted(own, settings, request.workers)))
    if len(rows) > 1:
        rows.append(
            (ALL, "what several of them need is done once", *_counted(every, settings, request.workers))
        )
    header = ("target", "what it is", "quick: done", "takes", "full: done", "takes")
    cores = f"{request.workers} process{'' if request.workers == 1 else 'es'}"
    return Table(header, tuple(rows), (f"Guessed times, of what is left, with {cores}.",))


def _counted(by_scale: Sequence[Sequence[Job]], settings: Sequence[Setting], workers: int) -> list[str]:
    """Return how many jobs are done at each scale, and how long the others take."""
    cells = []
    for jobs, setting in zip(by_scale, settings, strict=True):
        names = {job.name for job in jobs}
        left = unfinished(jobs, setting)
        done = len(names - {job.name for job in left})
        takes = duration(remaining(left, (), 1.0, workers)) if jobs else "cannot run here"
        cells += [f"{done} of {len(names)}", takes]
    return cells


def write_pages(written: Mapping[str, Page], request: Request, folder: Path) -> list[Path]:
    """Write each page as Markdown, its pictures beside it as SVG and PDF; return the files.

    Raises:
        StorageError: they cannot be written.
    """
    files: dict[str, bytes] = {}
    for name, page in written.items():
        text = f"# {request.targets[name].title}\n\n{page.markdown()}\n{_bullets(page.lacking)}"
        files[f"{name}.md"] = text.encode()
    for picture in (picture for page in written.values() for picture in page.pictures):
        files |= {f"{picture.name}.{kind}": picture.drawn(kind) for kind in ("svg", "pdf")}
    for name, content in files.items():
        with replacing(folder / name) as part:
            part.write_bytes(content)
    return [folder / name for name in files]


def _jobs(request: Request) -> list[Job]:
    return [job for target in request.targets.values() for job in target.jobs(request.setting)]


def _bullets(lines: Sequence[str]) -> str:
    return "".join(f"\n- {line}" for line in lines) + "\n" if lines else ""
