"""Jobs that take no time: each writes a file, and what it does besides is in its name."""

import os
import signal
import time
from functools import partial
from pathlib import Path

from leantta.errors import DataError
from leantta.progress import Progress
from leantta_lab.reproduce.target import Job, Setting


def setting(folder: Path) -> Setting:
    where = Setting(scale="quick", images={}, records=folder / "records", work=folder / "work")
    where.folder.mkdir(parents=True, exist_ok=True)  # `only_one` does it before jobs run
    return where


def job(name: str, *needs: Job, seconds: float = 1.0, alone: bool = False, group: str = "") -> Job:
    return Job(
        name=name,
        run=partial(act, name),
        done=partial(is_done, name),
        seconds=seconds,
        needs=needs,
        alone=alone,
        group=group,
    )


def is_done(name: str, setting: Setting) -> bool:
    return (setting.folder / name).exists()


def act(name: str, setting: Setting, progress: Progress) -> None:
    progress(0, 2)
    if name.startswith("refuses"):
        raise DataError("the images are upside down")
    if name.startswith("breaks"):
        raise ZeroDivisionError("a bug")
    if name.startswith("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith("sleeps"):
        (setting.folder / "asleep").write_text(str(os.getpid()))
        time.sleep(60)
    if name.startswith("leaves nothing"):
        return
    with (setting.folder / "log").open("a") as log:
        log.write(f"{name} {os.getpid()}\n")
    (setting.folder / name).write_text(variables() if name.startswith("tells") else "done")
    if name.startswith("slow"):
        time.sleep(0.5)


def variables() -> str:
    """The names of the variables that this process began with, and of those that it passes on."""
    began = Path("/proc/self/environ")
    first = [each.partition("=")[0] for each in began.read_text().split("\0")] if began.exists() else []
    return " ".join(first) + "\n" + " ".join(os.environ)


def logged(setting: Setting) -> list[str]:
    """The names of the jobs in the order in which they ran."""
    log = setting.folder / "log"
    return [line.rpartition(" ")[0] for line in log.read_text().splitlines()] if log.exists() else []


def processes(setting: Setting) -> dict[str, str]:
    """The process that each job ran in."""
    return dict(line.rsplit(" ", 1) for line in (setting.folder / "log").read_text().splitlines())
