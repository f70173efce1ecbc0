"""Bird sounds in miniature: the jobs of the table run on them, and it says what is missing without."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from data.test_birds import LABELS, miniature
from leantta.models.table import build
from leantta.models.weights import save_weights
from leantta.progress import silent
from leantta.reproduce import table_birds
from leantta.reproduce.bird_runs import bird_job, bird_run, lack
from leantta.reproduce.protocol import LEAN, LEAN_INT8, NONE, batched
from leantta.reproduce.run_record import record_of
from leantta.reproduce.target import Setting

pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    torch.manual_seed(0)
    (tmp_path / "weights").mkdir()
    save_weights(build("vggish"), tmp_path / "weights" / "vggish_birdvox.safetensors")
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path / "weights"))
    return Setting(
        scale="quick",
        images={},
        records=tmp_path / "records",
        work=tmp_path / "work",
        clips={corpus: miniature(tmp_path / corpus, corpus) for corpus in ("birdvox", "warblr")},
    )


@pytest.mark.parametrize("row", [NONE, LEAN, batched("Tent", "tent:paper", 2)], ids=lambda row: row.method)
def test_methods_hear_every_clip_once(setting: Setting, row: object) -> None:
    run = bird_run(setting, row, 0)  # type: ignore[arg-type]
    job = bird_job(run)
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
    job = bird_job(bird_run(setting, LEAN_INT8, 0))
    for each in (*job.needs, job):
        each.run(setting, silent)
        assert each.done(setting)
    page = table_birds.TARGET.page(setting)
    line = next(line for line in page.markdown.splitlines() if line.startswith("| LeanTTA | int8 |"))
    assert line.endswith(" (71.7) |")
    assert "not run" not in line
    assert page.lacking == []
    assert len(table_birds.TARGET.jobs(setting)) == len(table_birds.ROWS)


def test_what_is_missing_is_named(setting: Setting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent_ = replace(setting, clips={})
    assert lack(silent_) == "no bird sounds: give --birdvox FOLDER and --warblr FOLDER"
    assert table_birds.TARGET.jobs(silent_) == []
    assert "| no bird sounds (71.1) |" in table_birds.TARGET.page(silent_).markdown
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path / "none"))
    assert "put vggish_birdvox.safetensors into weights/" in str(lack(setting))
