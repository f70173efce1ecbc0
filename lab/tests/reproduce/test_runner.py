"""Processes at work on small jobs: order, failures, deaths, and that nothing is done twice."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leantta.errors import RecordError, StorageError
from leantta_lab.reproduce.runner import RUN_TIMES, STALE_SECONDS, only_one, run_jobs, run_times
from leantta_lab.reproduce.schedule import Status
from leantta_lab.reproduce.worker import KEPT_MEMORY, LocalPool
from reproduce.little_jobs import job, logged, processes, setting


def test_what_is_needed_runs_before_and_each_job_once(tmp_path: Path) -> None:
    where = setting(tmp_path)
    made = job("file", seconds=1)
    jobs = [job("needs it", made, seconds=9), job("needs it too", made), job("free", seconds=5), made]
    seen: list[Status] = []
    assert run_jobs(jobs, where, pool=LocalPool(1), watch=seen.append) == []
    assert logged(where) == ["free", "file", "needs it", "needs it too"]
    assert (seen[0].done, seen[0].total) == (0, 4)
    assert (seen[-1].done, seen[-1].active) == (4, ())
    assert [(run["jobs"], run["failed"], run["processes"]) for run in run_times(where.folder)] == [(4, 0, 1)]
    assert run_jobs(jobs, where, pool=LocalPool(1), watch=seen.append) == []
    assert len(logged(where)) == 4  # they were done
    assert len(run_times(where.folder)) == 1
    assert (seen[-1].done, seen[-1].total) == (4, 4)


def test_a_damaged_list_of_times_is_named(tmp_path: Path) -> None:
    (tmp_path / RUN_TIMES).write_text("[]")
    with pytest.raises(RecordError, match=r"run_times.json is no list of times"):
        run_times(tmp_path)


def test_what_a_job_starts_does_not_inherit_how_its_process_keeps_memory(tmp_path: Path) -> None:
    """Benchmarks measure the memory of processes that jobs start."""
    where = setting(tmp_path)
    assert run_jobs([job("tells MALLOC")], where, pool=LocalPool(1)) == []
    began, inherited = (where.folder / "tells MALLOC").read_text().splitlines()
    assert set(KEPT_MEMORY) <= set(began.split()) or sys.platform != "linux"
    assert not set(KEPT_MEMORY) & set(inherited.split())
    assert not set(KEPT_MEMORY) & set(os.environ)


def test_a_failure_stops_only_what_needs_it(tmp_path: Path) -> None:
    where = setting(tmp_path)
    refusing, dying = job("refuses", seconds=9), job("dies", seconds=8)
    jobs = [
        job("needs what fails", refusing),
        job("needs what dies", job("between", dying)),
        job("breaks", seconds=7),
        job("leaves nothing", seconds=6),
        job("usual"),
    ]
    failures = dict(run_jobs(jobs, where, pool=LocalPool(1)))
    assert logged(where) == ["usual"]
    assert failures["refuses"] == "the images are upside down"
    assert failures["needs what fails"] == "it needs 'refuses', which failed"
    assert "was killed" in failures["dies"]
    assert failures["needs what dies"] == "it needs 'between', which failed"
    assert failures["breaks"].splitlines()[-1] == "ZeroDivisionError: a bug"
    assert "not there" in failures["leaves nothing"]
    assert len(failures) == 7


def test_processes_share_the_work_and_keep_to_a_group(tmp_path: Path) -> None:
    where = setting(tmp_path)
    jobs = [job(f"slow {group}{n}", seconds=3 - n, group=group) for group in "ab" for n in range(2)]
    assert run_jobs(jobs, where, pool=LocalPool(2)) == []
    ran = processes(where)
    assert ran["slow a0"] == ran["slow a1"]
    assert ran["slow b0"] == ran["slow b1"]
    assert ran["slow a0"] != ran["slow b0"]
    assert str(os.getpid()) not in ran.values()


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    folder = setting(tmp_path).folder
    with only_one(folder) as held:
        assert held or sys.platform == "win32"
        with pytest.raises(StorageError, match="another `leantta reproduce` is at work"), only_one(folder):
            pass
    with only_one(folder):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot make"), only_one(tmp_path / "file" / "records"):
        pass


def test_what_was_left_half_written_long_ago_is_removed(tmp_path: Path) -> None:
    where = setting(tmp_path)
    old, new = where.folder / ".old.json.abc.part", where.folder / ".new.json.abc.part"

    for part in (old, new):
        part.touch()
    os.utime(old, (0, time.time() - STALE_SECONDS - 60))
    run_jobs([], where, pool=LocalPool(1))
    assert (old.exists(), new.exists()) == (False, True)


SLEEPER = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore it
from pathlib import Path
from leantta_lab.reproduce.runner import run_jobs
from leantta_lab.reproduce.worker import KEPT_MEMORY, LocalPool
from reproduce.little_jobs import job, setting

if __name__ == "__main__":
    run_jobs([job("sleeps")], setting(Path({folder!r})), pool=LocalPool(1))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path, how: int) -> None:
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER.format(folder=str(tmp_path)))
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    first = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    note = setting(tmp_path).folder / "asleep"
    assert _soon(lambda: note.exists() and note.read_text() != "")
    first.send_signal(how)
    first.wait(20)
    worker = int(note.read_text())
    assert _soon(lambda: not _is_alive(worker))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def _soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False
