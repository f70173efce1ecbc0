"""Jobs on a Ray cluster: the same records, retries, failures in words, and no cluster in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leantta.evaluate.packs import SUFFIX, read_pack
from leantta_lab.reproduce.runner import run_jobs
from leantta_lab.reproduce.target import Setting
from reproduce.little_jobs import job, setting

if TYPE_CHECKING:  # at run time another folder's conftest may be the one that is loaded
    from leantta_lab.reproduce.ray_pool import RayPool
    from running import Run

pytest.importorskip("ray", reason="the extra ray is not installed")

TESTS = Path(__file__).parents[1]
CHECKOUT = TESTS.parents[1]
SCRIPT = (TESTS / "reproduce" / "small_target.py").read_text()


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere", "nowhere.invalid:x", "a:99999"]
)
def test_where_no_cluster_is_one_line_says_so(run: Run, tmp_path: Path, sample: Path, address: str) -> None:
    words = ("reproduce", "table-clean", "--ray", address, "--images", f"cifar10={sample}")
    done = run(*words, "--records", tmp_path / "records", "--only", "resnet18 cifar10 clean none *")
    assert (done.returncode, done.stdout) == (1, "")
    assert address in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not list((tmp_path / "records").rglob("*.jsonl"))


@pytest.fixture(scope="module")
def pool() -> Iterator[RayPool]:
    from leantta_lab.reproduce.ray_pool import connected

    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TESTS), before)))
    with connected("local", 2) as pool:
        yield pool
    os.environ["PYTHONPATH"] = before


@pytest.mark.slow
def test_failures_are_told_and_a_lost_process_is_tried_again(tmp_path: Path, pool: RayPool) -> None:
    where = setting(tmp_path)
    jobs = [job("refuses"), job("breaks"), job("dies"), job("leaves nothing"), job("usual"), job("also")]
    jobs.append(job("needs what fails", jobs[0]))
    failures = dict(run_jobs(jobs, where, pool=pool))
    assert {path.name for path in where.folder.iterdir()} >= {"usual", "also", "run_times.json"}
    assert failures["refuses"].startswith("the images are upside down (on ")
    assert "ZeroDivisionError: a bug" in failures["breaks"]
    assert "after 3 attempts" in failures["dies"]
    assert "not there" in failures["leaves nothing"]
    assert failures["needs what fails"] == "it needs 'refuses', which failed"
    assert len(failures) == 5


@pytest.mark.slow
def test_what_measures_time_runs_on_this_machine_when_all_else_is_done(tmp_path: Path, pool: RayPool) -> None:
    where = setting(tmp_path)
    assert run_jobs([job("timed", alone=True), job("tells"), job("slow a")], where, pool=pool) == []
    told = (where.folder / "tells").read_text()
    assert "RAY_JOB_ID" in told or "RAY_" in told  # a process of the cluster
    log = (where.folder / "log").read_text().splitlines()
    assert log[-1].startswith("timed ")
    assert int(log[-1].split()[-1]) != os.getpid()


@pytest.mark.slow
def test_the_records_are_those_of_the_local_processes(tmp_path: Path, sample: Path) -> None:
    """Byte by byte, apart from machine and time."""
    packs = {}
    for name, more in (("local", []), ("cluster", ["--ray", "local"])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "small.py").write_text(SCRIPT)
        words = [sys.executable, "small.py", "reproduce", "small", *more, "--images", f"cifar10={sample}"]
        done = subprocess.run(
            [*words, "--jobs", "1"],
            cwd=folder,
            env={**os.environ, "LEANTTA_WEIGHTS": str(CHECKOUT / "lab" / "src" / "leantta_lab" / "weights")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        packs[name] = (done.stdout, read_pack(folder / "results" / "reproduce" / "quick" / f"small{SUFFIX}"))
        times = json.loads((folder / "results" / "reproduce" / "quick" / "run_times.json").read_text())
        assert "--ray" not in times["runs"][0]["command"]
    (said, local), (also_said, cluster) = packs["local"], packs["cluster"]
    assert said == also_said
    assert len(local) == 5
    assert any(".onnx" in name for name in local)
    assert {name: comparable(raw) for name, raw in local.items()} == {
        name: comparable(raw) for name, raw in cluster.items()
    }


def comparable(raw: bytes) -> list[bytes]:
    """A record without machine and time; all other bytes as they are."""
    header, *lines = raw.splitlines()
    about: dict[str, Any] = json.loads(header)
    text = header
    for key in ("machine", "started"):
        part = json.dumps({key: about[key]}, separators=(",", ":")).encode()[1:-1]
        assert part in text
        text = text.replace(part, b"")
    assert json.loads(lines[-1]).keys() == {"finished"}
    return [text, *lines[:-1]]


SLEEPER = """
from pathlib import Path
from leantta_lab.reproduce.ray_pool import connected
from leantta_lab.reproduce.runner import only_one, run_jobs
from reproduce.little_jobs import job, setting

where = setting(Path({folder!r}))
with only_one(where.folder), connected("local", 2) as pool:
    run_jobs([job("quick"), job("slow one"), job("slow two"), job("slow three")], where, pool=pool)
"""


@pytest.mark.slow
def test_killed_the_same_command_goes_on(tmp_path: Path) -> None:
    script = SLEEPER.format(folder=str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    first = subprocess.Popen([sys.executable, "-c", script], env=environment)
    folder = Setting(scale="quick", images={}, records=tmp_path / "records", work=tmp_path).folder
    limit = time.monotonic() + 60
    while first.poll() is None and not (folder / "quick").exists() and time.monotonic() < limit:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert (folder / "quick").exists()
    stamp = (folder / "quick").stat().st_mtime_ns
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True)
    assert all((folder / f"slow {name}").exists() for name in ("one", "two", "three"))
    assert (folder / "quick").stat().st_mtime_ns == stamp
