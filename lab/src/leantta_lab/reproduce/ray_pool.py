"""Jobs as tasks of a Ray cluster: the same work, elsewhere.

A task runs in a folder of its own and hands its files back; this process puts them in their place, whole or
not at all. So the nodes share no disk but that of the data, and a task that Ray starts again, as its node was
lost, leaves the same file. Jobs that measure time are done on this machine, by a process of it.
"""

import logging
import os
import pickle
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import ray

from leantta.errors import SettingError
from leantta.files import replacing
from leantta.progress import silent
from leantta.scan.answering import check_speaks, without_stderr
from leantta_lab.reproduce.crew import Ended
from leantta_lab.reproduce.target import Job, Setting
from leantta_lab.reproduce.worker import KEPT_MEMORY, ONE_THREAD, Worker, failure_of

RETRIES = 2
"""So often a task is started again whose process or node was lost."""

ANSWER_SECONDS = 5.0
"""How long an address may take to answer before nothing is said to be there."""

OPTION = "--ray"

Files = dict[str, bytes]


class Task(NamedTuple):
    """What a node needs to do a job."""

    job: Job
    setting: Setting  # its folders are replaced by those of the task
    files: Files  # those of the work folder that the job reads, by name
    words: list[str]  # of the command, as records keep it


class Result(NamedTuple):
    """What a node hands back."""

    error: str | None
    records: Files
    work: Files


def perform(pickled: bytes) -> Result:
    """Do a job in a folder of its own, on whatever node this is."""
    for name in KEPT_MEMORY:
        os.environ.pop(name, None)  # as in the processes of one machine
    job, setting, files, sys.argv = pickle.loads(pickled)
    with TemporaryDirectory(prefix="leantta.") as scratch:
        here = replace(setting, records=Path(scratch, "records"), work=Path(scratch, "work"))
        for folder in (here.folder, here.work):
            folder.mkdir(parents=True)
        for name, content in files.items():
            (here.work / name).write_bytes(content)
        error = failure_of(job, here, silent)
        if error is not None:
            return Result(f"{error} (on {socket.gethostname()})", {}, {})
        made = {name: raw for name, raw in _files(here.work).items() if name not in files}
        return Result(None, _files(here.folder), made)


def _files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


class RayHand:
    """What gives jobs to the cluster, one after another; to a process of this machine what must be alone."""

    def __init__(self, remote: Any) -> None:
        self.job: Job | None = None
        self.group = ""
        self.started = 0.0
        self.remote = remote
        self.reference: Any = None
        self.setting: Setting | None = None
        self.local: Worker | None = None

    @property
    def share(self) -> float:
        """How far a job of this machine is; of one that is elsewhere it is not known."""
        return self.local.share if self.local is not None else 0.0

    @property
    def alive(self) -> bool:
        """The cluster sees to it that there is a process."""
        return True

    def begin(self, job: Job, setting: Setting) -> None:
        """Start a job."""
        self.job, self.group, self.started, self.setting = job, job.group, time.monotonic(), setting
        if job.alone:
            self.local = Worker()
            self.local.begin(job, setting)
            return
        paths = [needed.leaves(setting) for needed in job.needs if needed.leaves is not None]
        task = Task(
            job,
            replace(setting, images={name: path.absolute() for name, path in setting.images.items()}),
            {path.name: path.read_bytes() for path in paths},
            sys.argv,
        )
        self.reference = self.remote.remote(pickle.dumps(tuple(task)))

    def heard(self) -> Ended | None:
        """Return how the job ended, its files in their places; None if it goes on."""
        if self.local is not None:
            ended = self.local.heard()
            if ended is not None:
                self.local.job = None
                self.local.stop()
                self.local = None
            return ended
        ready, _ = ray.wait([self.reference], timeout=0)
        return self._taken_in() if ready else None

    def _taken_in(self) -> Ended:
        assert self.setting is not None
        assert self.job is not None
        try:
            result: Result = ray.get(self.reference)
        except ray.exceptions.RayError as e:
            why = str(e).strip().splitlines()[0]
            return Ended(f"{type(e).__name__} after {RETRIES + 1} attempts: {why}")
        for folder, files in ((self.setting.folder, result.records), (self.setting.work, result.work)):
            for name, content in files.items():
                with replacing(folder / name) as part:
                    part.write_bytes(content)
        if result.error is None and not self.job.done(self.setting):
            return Ended("it ran, but its file is not there or not whole")
        return Ended(result.error)

    def stop(self) -> None:
        """End the job, if there is one."""
        if self.local is not None:
            self.local.stop()
        elif self.job is not None:
            ray.cancel(self.reference, force=True)


class RayPool:
    """The cores of a cluster."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        environment = {"env_vars": {**ONE_THREAD, **KEPT_MEMORY}}
        self.remote = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env=environment)(perform)

    @property
    def count(self) -> int:
        """How many jobs it can do at a time."""
        cores = int(ray.cluster_resources().get("CPU", 1)) or 1
        return cores if self.most is None else min(cores, self.most)

    def hire(self) -> RayHand:
        """Return what gives jobs to the cluster."""
        return RayHand(self.remote)

    def wait(self, busy: Sequence[RayHand], seconds: float) -> None:
        """Return when one of the jobs is over, or after that time."""
        references = [hand.reference for hand in busy if hand.local is None]
        if references:
            ray.wait(references, timeout=seconds)
        else:
            time.sleep(seconds)


@contextmanager
def connected(address: str, most: int | None) -> Iterator[RayPool]:
    """Give the cluster at an address; without one that of this machine, which is started if there is none.

    Raises:
        SettingError: there is no cluster, or it cannot be used from here.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address:
        _check_answers(address)
    try:
        try:
            with without_stderr():
                ray.init(address=address or "auto", **quiet)
        except ConnectionError:
            if address:
                raise
            ray.init(address="local", include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as e:
        place = f"at {address}" if address else "of this machine"
        why = str(e).strip().splitlines()[0].rstrip(".")
        raise SettingError(
            f"the Ray cluster {place} cannot be used: {why}. Has it the same versions of ray and Python? "
            f"If it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN."
        ) from e
    words = sys.argv
    sys.argv = [words[0], *without_cluster(words[1:])]  # records keep the command
    try:
        yield RayPool(most)
    finally:
        sys.argv = words
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Find out at once whether there is something at an address, for which Ray would look for a minute.

    Raises:
        SettingError: there is not, or it is no address.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if address in ("auto", "local"):
        return
    if not host or not colon or not port.isdigit():
        raise SettingError(
            f"{OPTION} takes HOST:PORT, or ray://HOST:PORT, of a Ray cluster; this is {address!r}."
        )
    try:
        check_speaks(host, int(port), ANSWER_SECONDS)
    except (OSError, OverflowError) as e:
        raise SettingError(
            f"no Ray cluster answers at {address}: {e}. `ray start --head` starts one and tells its address."
        ) from e


def without_cluster(words: Sequence[str]) -> list[str]:
    """Return the words of a command without the cluster: where a record was made is in its `machine`.

    >>> without_cluster(["reproduce", "all", "--ray", "10.0.0.1:6379", "--full"])
    ['reproduce', 'all', '--full']
    >>> without_cluster(["reproduce", "--ray=auto", "all"]), without_cluster(["reproduce", "all", "--ray"])
    (['reproduce', 'all'], ['reproduce', 'all'])
    """
    kept: list[str] = []
    before = ""
    for word in words:
        is_address = before == OPTION and (":" in word or word in ("auto", "local"))
        if word != OPTION and not word.startswith(f"{OPTION}=") and not is_address:
            kept.append(word)
        before = word
    return kept
