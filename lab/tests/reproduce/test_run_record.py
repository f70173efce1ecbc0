"""A record is taken for a run only if it says what that run would say."""

from dataclasses import replace
from pathlib import Path

import pytest

from leantta.evaluate.lookup import Place
from leantta.methods.parse import parse_method
from leantta.progress import silent
from leantta.surgery.adaptation import Adaptation
from leantta_lab.reproduce import paper_tables, sensor_tables
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.costs import run_seconds
from leantta_lab.reproduce.protocol import LEAN, NONE, NONE_INT8, TableRow, batched, stream_run
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import find_record, record_of
from leantta_lab.reproduce.target import Setting
from reproduce.made_up import cell_run, write

ROWS = {
    row: None
    for rows in (
        paper_tables.SINGLE_ROWS,
        paper_tables.BATCH_ROWS,
        paper_tables.MOBILEVIT_ROWS,
        sensor_tables.MOTION_ROWS,
        sensor_tables.BIRD_ROWS,
        paper_tables.CLEAN_ROWS,
        paper_tables.severity5_rows("full"),
    )
    for row in rows
}


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(scale="quick", images={}, records=tmp_path / "records", work=tmp_path / "work")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.variant}")
@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_method_exists_and_is_called_the_same_in_records(row: TableRow, scale: str) -> None:
    for stream in ("abrupt", "gradual"):
        text = row.text(scale, stream)  # type: ignore[arg-type]
        assert text.startswith("int8:") or parse_method(text, Adaptation()).label == text
        assert run_seconds("mobilenet_v2", text, row.batch_size, 950) > 0


def test_a_record_is_found_by_what_it_says(setting: Setting) -> None:
    run = stream_run(setting, "resnet18", "cifar10", "abrupt", batched("Tent", sizes=(16,))[0], 0)
    assert record_of(run, setting) is None
    path = write(run, setting, 7, weights_sha256=_sha256())
    found = record_of(run, setting)
    assert found is not None
    assert (found.correct.mean(), len(found)) == (pytest.approx(0.7, abs=0.01), 950)
    for other in (
        replace(run, batch_size=64),
        replace(run, model="mobilenet_v2"),
        replace(run, dataset="cifar100"),
        replace(run, stream="gradual"),
        replace(run, method="tent:recommended"),
        replace(run, options=replace(run.options, seed=1)),
        replace(run, inputs=9500),
    ):
        assert find_record(other, setting) is None
    assert find_record(run, replace(setting, scale="full")) is None
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert find_record(run, setting) is None  # it is not finished
    path.write_text("not a record\n")
    assert find_record(run, setting) is None


@pytest.mark.parametrize(
    "changed",
    [{"weights_sha256": "0" * 64}, {"method_settings": {"learning_rate": 1.0}}, {"threads": 2}],
    ids=str,
)
def test_a_record_of_other_weights_or_settings_does_not_count(
    setting: Setting, changed: dict[str, object]
) -> None:
    run = stream_run(setting, "resnet18", "cifar10", "abrupt", NONE, 0)
    write(run, setting, 7, **{"weights_sha256": _sha256(), **changed})
    assert find_record(run, setting) is None


def test_the_newest_of_several_records_counts(setting: Setting) -> None:
    run = stream_run(setting, "resnet18", "cifar10", "abrupt", NONE_INT8, 0)
    write(run, setting, 2, weights_sha256=_sha256(), method_settings={"artifact_sha256": "made before"})
    newer = write(
        run, setting, 9, weights_sha256=_sha256(), method_settings={"artifact_sha256": "made after"}
    )
    assert find_record(run, setting) == Place(newer)


def test_images_at_hand_must_be_those_of_the_record(setting: Setting, sample: Path) -> None:
    here = replace(setting, images={"cifar10": sample})
    run = cell_run(here, "fog", NONE, 32)
    write(run, here, 7, weights_sha256=_sha256())
    assert find_record(run, setting) is not None  # nothing is known against it
    assert find_record(run, here) is None  # that stream has another order
    job = accuracy_job(run)
    job.run(here, silent)
    assert job.done(here)
    found = find_record(run, here)
    assert found is not None
    stamp = found.path.stat().st_mtime_ns
    job.run(here, silent)
    assert found.path.stat().st_mtime_ns == stamp


def test_a_job_may_have_several_runs_and_tells_their_progress_as_one(setting: Setting, sample: Path) -> None:
    here = replace(setting, images={"cifar10": sample})
    runs = [cell_run(here, name, LEAN, 16) for name in ("fog", "snow")]
    job = accuracy_job(*runs)
    told: list[tuple[int, int]] = []
    job.run(here, lambda done, total: told.append((done, total)))
    assert told == [(16, 32), (32, 32)]
    assert job.done(here)
    assert all(record_of(run, here) for run in runs)
    next(here.folder.glob("*")).unlink()
    assert not job.done(here)


def _sha256() -> str | None:
    return checkpoint_sha256("resnet18", "cifar10")
