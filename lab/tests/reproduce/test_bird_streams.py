"""The table of our own bird sounds, in miniature: streams over shifted clips and another corpus, in F1."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bird_files import corpora
from leantta.evaluate.metrics import weighted_f1
from leantta.models.named import build
from leantta.models.weights import save_weights
from leantta.progress import silent
from leantta_lab.reproduce.protocol import LEAN, NONE, steps_of
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import record_of
from leantta_lab.reproduce.sensor_tables import CLIPS, OUR_BIRD_ROWS, TABLE_BIRDS, bird_columns
from leantta_lab.reproduce.target import Setting


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora(tmp_path_factory.mktemp("birds"))


@pytest.fixture
def setting(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    torch.manual_seed(0)
    (tmp_path / "weights").mkdir()
    save_weights(build("vggish"), tmp_path / "weights" / "vggish_esc50.safetensors")
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path / "weights"))
    for head, (dataset, stream, _) in CLIPS.items():
        few = 4 if stream == "clean" else 1
        monkeypatch.setitem(CLIPS, head, (dataset, stream, {"quick": few, "full": few}))
    return Setting(
        scale="quick",
        images={"esc50": folder, "capuchin": folder},
        records=tmp_path / "records",
        work=tmp_path / "work",
    )


def test_there_is_a_job_for_each_row_and_column(setting: Setting) -> None:
    names = [job.name for job in TABLE_BIRDS.jobs(setting)]
    assert len(names) == len(set(names)) == len(OUR_BIRD_ROWS) * 4
    assert "vggish capuchin clean none batch 16 seed 0" in names
    assert [steps_of("esc50", stream) for stream in ("clean", "abrupt", "gradual")] == [1, 35, 70]


def test_cells_are_the_f1_of_what_was_heard(setting: Setting) -> None:
    wanted = []
    for column in ("clean", "abrupt", "other corpus"):
        [run] = bird_columns()[column].runs(setting, NONE)
        job = accuracy_job(run)
        job.run(setting, silent)
        assert job.done(setting)
        record = record_of(run, setting)
        assert record is not None
        assert len(record) == run.inputs
        wanted.append(f"{100 * weighted_f1(record.labels, record.predictions):.1f}")
    page = TABLE_BIRDS.page(setting).markdown()
    assert f"| None | batch 1 | {wanted[0]} | {wanted[1]} | not run | {wanted[2]} |" in page
    one_shift = next(line for line in page.splitlines()[20:] if line.startswith("| None | batch 1 |"))
    assert one_shift.count("|") == 10
    assert np.isfinite([float(cell) for cell in one_shift.split("|")[3:-1]]).all()


def test_leantta_hears_what_none_hears(setting: Setting) -> None:
    runs = [bird_columns()["clean"].runs(setting, row)[0] for row in (NONE, LEAN)]
    for run in runs:
        accuracy_job(run).run(setting, silent)
    none, lean = (record_of(run, setting) for run in runs)
    assert none is not None
    assert lean is not None
    np.testing.assert_array_equal(none.labels, lean.labels)
