"""Bird sounds in miniature: the jobs of the table run on them, and it says what is missing without."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from datasets.test_birds import LABELS, miniature
from leantta.models.named import build
from leantta.models.weights import save_weights
from leantta.progress import silent
from leantta_lab.reproduce.at_hand import lack
from leantta_lab.reproduce.protocol import LEAN, LEAN_INT8, NONE, TableRow, batched
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import Run, record_of
from leantta_lab.reproduce.sensor_tables import BIRD_ROWS, CLIPS, TABLE_BIRDS, bird_columns
from leantta_lab.reproduce.target import Setting

pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    torch.manual_seed(0)
    (tmp_path / "weights").mkdir()
    save_weights(build("vggish"), tmp_path / "weights" / "vggish_birdvox.safetensors")
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setitem(CLIPS["F1"][-1], "quick", len(LABELS))
    return Setting(
        scale="quick",
        images={corpus: miniature(tmp_path / corpus, corpus) for corpus in ("birdvox", "warblr")},
        records=tmp_path / "records",
        work=tmp_path / "work",
    )


def bird_run(setting: Setting, row: TableRow) -> Run:
    [run] = bird_columns()["F1"].runs(setting, row)
    return run


@pytest.mark.parametrize("row", [NONE, LEAN, *batched("Tent", sizes=(2,))], ids=lambda row: row.method)
def test_methods_hear_every_clip_once(setting: Setting, row: TableRow) -> None:
    run = bird_run(setting, row)
    job = accuracy_job(run)
    assert not job.done(setting)
    job.run(setting, silent)
    assert job.done(setting)
    record = record_of(run, setting)
    assert record is not None
    assert sorted(record.labels.tolist()) == sorted(LABELS)
    assert set(record.predictions.tolist()) <= {0, 1}


@pytest.mark.slow
def test_the_int8_file_is_made_of_sounds_and_the_page_has_its_f1(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leantta.export.source.LEAST", 5)  # as many clips as there are
    job = accuracy_job(bird_run(setting, LEAN_INT8))
    for each in (*job.needs, job):
        each.run(setting, silent)
        assert each.done(setting)
    page = TABLE_BIRDS.page(setting)
    lines = [line for line in page.markdown().splitlines() if line.startswith("| LeanTTA | int8 |")]
    line = lines[-1]
    assert line.endswith(" (71.7) |")
    assert "not run" not in line
    assert [line.split(":")[0] for line in page.lacking] == ["no esc50 clips", "no capuchin clips"]
    assert len(TABLE_BIRDS.jobs(setting)) == len(BIRD_ROWS)


def test_what_is_missing_is_named(setting: Setting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent_ = replace(setting, images={})
    missing = lack(silent_, "vggish", "warblr")
    assert missing is not None
    assert missing.line == (
        "no birdvox clips: give --images birdvox=PATH, and no warblr clips: give --images warblr=PATH"
    )
    assert TABLE_BIRDS.jobs(silent_) == []
    assert "| no bird sounds (71.1) |" in TABLE_BIRDS.page(silent_).markdown()
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path / "none"))
    weights = lack(setting, "vggish", "warblr")
    assert weights is not None
    assert weights.cell == "no weights"
    assert "to the folder of vggish_birdvox.safetensors" in weights.line
    assert lack(replace(setting, images={"warblr": tmp_path}), "vggish", "warblr") is not None
