"""The table of motion sensors, made of made-up records."""

from dataclasses import replace
from pathlib import Path

import pytest

from leantta.modalities.datasets import modality_of
from leantta_lab.reproduce import at_hand
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.protocol import NONE
from leantta_lab.reproduce.sensor_tables import MOTION_COLUMNS, MOTION_ROWS, TABLE_MOTION
from leantta_lab.reproduce.target import Setting
from motion_files import write_har
from reproduce.made_up import write


@pytest.fixture
def setting(tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """Without windows, and with some weights, which are not looked into."""
    monkeypatch.setattr(at_hand, "checkpoint", lambda *_: weights)
    return Setting(scale="quick", images={}, records=tmp_path / "records", work=tmp_path / "work")


def test_a_table_of_streams_and_one_of_shifts(setting: Setting) -> None:
    [run] = MOTION_COLUMNS[0].runs(setting, NONE)
    assert (run.inputs, run.model, run.dataset) == (1000, "motion_cnn", "har")
    write(run, setting, 9, weights_sha256=checkpoint_sha256(run.model, run.dataset))
    page = TABLE_MOTION.page(setting)
    tables = [line for line in page.markdown().splitlines() if line.startswith("| None")]
    assert [cell.strip() for cell in tables[0].split("|")[3:-1]] == ["90.0±1.9", "no data", "no data"]
    header = next(line for line in page.markdown().splitlines() if "gain" in line)
    assert [cell.strip() for cell in header.split("|")[3:-1]] == list(modality_of("har").corruptions)
    assert page.lacking == ["no har windows: give --images har=PATH"]
    assert "one random view of an input instead of 32" in page.markdown()


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_a_job_for_every_row_stream_and_seed(setting: Setting, tmp_path: Path, scale: str) -> None:
    here = replace(setting, scale=scale, images={"har": write_har(tmp_path / "har.npz", 1)})  # type: ignore[arg-type]
    jobs = TABLE_MOTION.jobs(here)
    assert len(jobs) == 3 * len(MOTION_ROWS) * len(here.seeds)
    assert len({job.name for job in jobs}) == len(jobs)
    assert TABLE_MOTION.jobs(setting) == []
