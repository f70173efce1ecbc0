"""Records of benchmarks come back as they were written; what is no record is refused."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from leantta.errors import MissingFileError, RecordError
from leantta.measure.record import read_bench, write_bench
from leantta.measure.request import show_record
from leantta.measure.results import bench_table
from measure.records import record, row


def full() -> object:
    return record(
        row(
            "ours-none",
            [[1.25, 1.0], [1.125]],
            warm_up_ms=[[9.0], [8.0]],
            throughput_ms=[[16.0], []],
            processes=[{"import_ms": 1.0, "load_ms": 2.0, "first_ms": 3.0, "peak_rss_bytes": None}],
            energy=[{"calls": 3, "seconds": 1.0, "joules": 2.5}],
            size_bytes=17,
            notes=["a note"],
        ),
        row("lost", [], unavailable="it is not here"),
        notes=("Weights: random.",),
        interrupted=True,
    )


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "bench.json"
    written = full()
    write_bench(written, path)  # type: ignore[arg-type]
    found = read_bench(path)
    assert asdict(found) == asdict(written)  # type: ignore[call-overload]
    assert show_record(path).table() == bench_table(found)
    lines = path.read_text().splitlines()
    assert any(line.strip() == "[1.25, 1.0]," for line in lines)  # raw values side by side
    assert [p.name for p in path.parent.iterdir()] == ["bench.json"]


def test_what_a_newer_version_adds_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    write_bench(full(), path)  # type: ignore[arg-type]
    content = json.loads(path.read_text())
    content["colour"] = content["rows"][0]["colour"] = "blue"
    path.write_text(json.dumps(content))
    assert read_bench(path) == full()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read as JSON"),
        ("[1, 2]", "no record of `leantta bench`"),
        ('{"benchmark": "artifact_cost"}', "no record of `leantta bench`"),
        ('{"kind": "leantta bench", "format": 9}', "has format 9; this version reads 1"),
        ('{"kind": "leantta bench", "format": 1, "rows": [{}], "notes": []}', "is damaged"),
        ('{"kind": "leantta bench", "format": 1}', "is damaged: 'rows'"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bench.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=words):
        show_record(path)


def test_a_missing_record(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no record at .*gone.json"):
        show_record(tmp_path / "gone.json")
