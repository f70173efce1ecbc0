"""The table of our own bird sounds, in miniature: streams over shifted clips and another corpus, in F1."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bird_files import corpora
from leantta.evaluate.metrics import weighted_f1
from leantta.models.table import build
from leantta.models.weights import save_weights
from leantta.progress import silent
from leantta.reproduce import table_birds
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.bird_streams import CELLS, HEARD, stream_run
from leantta.reproduce.protocol import LEAN, NONE
from leantta.reproduce.run_record import record_of
from leantta.reproduce.target import Setting


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora(tmp_path_factory.mktemp("birds"))


@pytest.fixture
def setting(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    torch.manual_seed(0)
    (tmp_path / "weights").mkdir()
    save_weights(build("vggish"), tmp_path / "weights" / "vggish_esc50.safetensors")
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path / "weights"))
    for column, (dataset, stream, _, steps) in HEARD.items():
        few = 4 if steps == 1 else 1
        monkeypatch.setitem(HEARD, column, (dataset, stream, {"quick": few, "full": few}, steps))  # type: ignore[arg-type]
    return Setting(
        scale="quick",
        images={"esc50": folder, "capuchin": folder},
        records=tmp_path / "records",
        work=tmp_path / "work",
    )


def test_there_is_a_job_for_each_row_and_column(setting: Setting) -> None:
    names = [job.name for job in table_birds.TARGET.jobs(setting)]
    assert len(names) == len(set(names)) == len(table_birds.OURS) * len(HEARD)
    assert "vggish capuchin clean none batch 16 seed 0" in names
    assert CELLS == 35


def test_cells_are_the_f1_of_what_was_heard(setting: Setting) -> None:
    wanted = []
    for column in ("clean", "abrupt", "other corpus"):
        run = stream_run(setting, column, NONE, 0)
        job = accuracy_job(run)
        job.run(setting, silent)
        assert job.done(setting)
        record = record_of(run, setting)
        assert record is not None
        assert len(record) == run.inputs
        wanted.append(f"{100 * weighted_f1(record.labels, record.predictions):.1f}")
    page = table_birds.TARGET.page(setting).markdown
    assert f"| None | batch 1 | {wanted[0]} | {wanted[1]} | not run | {wanted[2]} |" in page
    one_shift = next(line for line in page.splitlines()[20:] if line.startswith("| None | batch 1 |"))
    assert one_shift.count("|") == 10
    assert np.isfinite([float(cell) for cell in one_shift.split("|")[3:-1]]).all()


def test_leantta_hears_what_none_hears(setting: Setting) -> None:
    runs = [stream_run(setting, "clean", row, 0) for row in (NONE, LEAN)]
    for run in runs:
        accuracy_job(run).run(setting, silent)
    none, lean = (record_of(run, setting) for run in runs)
    assert none is not None
    assert lean is not None
    np.testing.assert_array_equal(none.labels, lean.labels)
