"""A process that runs one job after another, and the messages it sends."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from leantta.errors import LeanTTAError
from leantta.extras import missing_extra
from leantta.progress import Progress
from leantta_lab.reproduce.crew import Ended
from leantta_lab.reproduce.target import Job, Setting

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
"""What keeps numpy and torch to one core, if it is said before they are loaded."""

KEPT_MEMORY = {name: str(1 << 30) for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")}
"""What lets glibc keep freed memory, if it is said before a process starts: torch frees and takes hundreds of
megabytes at each step, and handing them back and forth is up to a third of a gradient step's time."""

GRACE_SECONDS = 3.0
"""How long a process may take to put its files in order before it is killed."""


class Step(NamedTuple):
    """How far the job is."""

    done: int
    total: int


class Worker:
    """The near end of a process: sends it jobs, and has its messages."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,))
        with _environment(KEPT_MEMORY):
            self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.group = ""
        self.started = 0.0
        self.share = 0.0

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self.process.is_alive()

    def begin(self, job: Job, setting: Setting) -> None:
        """Let the process start a job."""
        self.job, self.group, self.started, self.share = job, job.group, time.monotonic(), 0.0
        self.connection.send_bytes(pickle.dumps((job, setting)))

    def heard(self) -> Ended | None:
        """Take in what the process said, or that it died; return how the job ended if it did."""
        try:
            while self.connection.poll():
                message = self.connection.recv()
                if isinstance(message, Ended):
                    return message
                self.share = message.done / message.total if message.total else 0.0
        except (EOFError, OSError):
            self.process.join()
            return Ended(_death(self.process.exitcode))
        return None

    def stop(self) -> None:
        """End the process: at once if it is idle, else after it had a moment to remove what is half-done."""
        if self.job is not None:
            self.process.terminate()
        self.connection.close()
        self.process.join(GRACE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class LocalPool:
    """Processes of this machine, started as they are needed."""

    def __init__(self, count: int) -> None:
        self.count = count

    def hire(self) -> Worker:
        """Return a new process."""
        return Worker()

    def wait(self, busy: Sequence[Worker], seconds: float) -> None:
        """Return when one of the processes has something to say, or after that time."""
        wait([worker.connection for worker in busy], seconds)


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    """Let processes that are started meanwhile have these variables too."""
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _death(code: int | None) -> str:
    if code == -9:  # SIGKILL, which Windows has not
        return "its process was killed; there may be too little memory: try fewer --jobs"
    return f"its process ended without a word, with code {code}"


def serve(connection: Connection) -> None:
    """Run the jobs that come until there are no more, in a process of its own."""
    os.environ.update(ONE_THREAD)
    for name in KEPT_MEMORY:
        os.environ.pop(name, None)  # the processes that this one starts are measured as they are
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one decides
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # half-written files are removed on the way out
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send(Ended(_failure(task, connection)))


def _failure(task: bytes, connection: Connection) -> str | None:
    """Run the job that was sent; return what went wrong, None if nothing did."""
    said = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said > 0.2:
            said = now
            connection.send(Step(done, total))

    job, setting = pickle.loads(task)
    return failure_of(job, setting, progress)


def failure_of(job: Job, setting: Setting, progress: Progress) -> str | None:
    """Run a job; return what went wrong, None if nothing did."""
    try:
        job.run(setting, progress)
        return None if job.done(setting) else "it ran, but its file is not there or not whole"
    except LeanTTAError as e:
        return str(e)
    except ModuleNotFoundError as e:
        explained = missing_extra(e)
        return str(explained) if isinstance(explained, LeanTTAError) else traceback.format_exc()
    except Exception:  # noqa: BLE001 - a bug in one job must not stop the others; the caller shows it
        return traceback.format_exc()


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, were it by kill -9."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # `serve` runs in a child only
    wait([parent.sentinel])
    os._exit(1)
