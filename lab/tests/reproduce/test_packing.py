"""Finished records move into the pack of a target that asks for them; all else stays as it is."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from leantta.errors import MissingFileError, StorageError
from leantta.evaluate.lookup import places
from leantta.evaluate.packs import read_pack
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.packing import Packed, pack_finished, pack_path
from leantta_lab.reproduce.protocol import LEAN, NONE
from leantta_lab.reproduce.request import Request, pack
from leantta_lab.reproduce.run_record import Run, record_of
from leantta_lab.reproduce.runner import only_one
from leantta_lab.reproduce.target import Page, Setting, Target
from leantta_lab.reproduce.targets import TARGETS
from reproduce import made_up
from reproduce.made_up import cell_run


def target(*names: str) -> Target:
    """A target of the runs of None over one cell each."""
    return Target(
        title="",
        summary="",
        jobs=lambda _: [],
        page=lambda _: Page(),
        runs=lambda setting: [cell_run(setting, name, NONE, 16) for name in names],
    )


def write(run: Run, setting: Setting) -> Path:
    """Leave a record of the checkpoint that is here."""
    return made_up.write(run, setting, 5, weights_sha256=checkpoint_sha256("resnet18", "cifar10"))


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(scale="quick", images={}, records=tmp_path / "records", work=tmp_path / "work")


def test_records_go_to_the_first_target_that_asks_and_are_found_there(setting: Setting) -> None:
    runs = {name: cell_run(setting, name, NONE, 16) for name in ("fog", "snow", "frost")}
    written = {name: write(run, setting) for name, run in runs.items()}
    other = write(cell_run(setting, "fog", LEAN, 16), setting)
    unfinished = setting.folder / written["fog"].name.replace("fog", "new")
    unfinished.write_bytes(written["fog"].read_bytes().rpartition(b"{")[0])
    targets = {"one": target("fog"), "two": target("fog", "snow", "frost")}
    assert pack_finished(targets, setting) == Packed(moved=3, left=1)
    assert set(read_pack(pack_path("one", setting))) == {written["fog"].name}
    assert set(read_pack(pack_path("two", setting))) == {written["snow"].name, written["frost"].name}
    assert set(setting.folder.glob("*.jsonl")) == {other, unfinished}
    assert all(record_of(run, setting) for run in runs.values())
    assert pack_finished(targets, setting) == Packed(moved=0, left=1)


def test_another_process_at_work_or_no_records_are_named(setting: Setting) -> None:
    request = Request(targets={"one": target("fog")}, setting=setting, workers=1)
    with pytest.raises(MissingFileError, match="no records at"):
        pack(request)
    write(cell_run(setting, "fog", NONE, 16), setting)
    with only_one(setting.folder), pytest.raises(StorageError, match="is at work"):
        pack(request)
    assert pack(request) == Packed(moved=1, left=0)


PACKER = """
import sys
from pathlib import Path
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.packing import pack_finished
from reproduce.test_packing import NAMES, target
from leantta_lab.reproduce.target import Setting

setting = Setting(scale="quick", images={}, records=Path(sys.argv[1]), work=Path(sys.argv[1]))
for name in NAMES:
    pack_finished({"one": target(name)}, setting)
"""
NAMES = ("fog", "snow", "frost", "contrast", "brightness", "pixelate")


@pytest.mark.slow
@pytest.mark.parametrize("after", range(12))
def test_killed_at_any_moment_each_record_is_there_once(setting: Setting, after: int) -> None:
    for name in NAMES:
        write(cell_run(setting, name, NONE, 16), setting)
    before = {place.name: place.record().header for place in places(setting.folder)}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    words = [sys.executable, "-c", PACKER, str(setting.records)]
    first = subprocess.Popen(words, env=environment)
    while first.poll() is None and not list(setting.folder.glob("*.part")):
        time.sleep(0.001)
    time.sleep(after * 0.004)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert {place.name: place.record().header for place in places(setting.folder)} == before
    subprocess.run(words, env=environment, check=True)
    assert set(read_pack(pack_path("one", setting))) == set(before)
    assert not list(setting.folder.glob("*.jsonl"))


def test_every_run_of_a_job_is_named_by_its_target(setting: Setting, sample: Path) -> None:
    """Else a record would never leave its file."""
    for scale in ("quick", "full"):
        here = replace(setting, scale=scale, images=dict.fromkeys(("cifar10", "cifar100", "har"), sample))
        for each in TARGETS.values():
            runs = set(each.runs(here))
            jobs = [job for job in each.jobs(here) if " batch " in job.name and not job.alone]
            assert {run for job in jobs for run in job.run.args[0]} <= runs  # type: ignore[attr-defined]
