"""Records of benchmarks come back as they were written; what is no record is refused."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from leantta.errors import MissingFileError, RecordError
from leantta.measure.record import read_bench, write_bench
from leantta.measure.scaling_record import (
    Point,
    PointRecord,
    ScalingRecord,
    read_scaling,
    scaling_table,
    write_scaling,
)
from leantta.measure.show import plot_of, read_any, table_of, write_any
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
    assert read_any(path) == found
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
        ('{"kind": "leantta scaling", "format": 1}', "is damaged: 'points'"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bench.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=words):
        read_any(path)


def test_a_missing_record(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no record at .*gone.json"):
        read_any(tmp_path / "gone.json")


def scaling() -> ScalingRecord:
    slower = {8: 2.0, 16: 1.5}
    points = [
        PointRecord(
            axis="channels",
            point=Point(channels=channels),
            plain_ms=[[0.1, 0.2], [0.1]],
            adapting_ms=[[0.1 * slow, 0.2 * slow], [0.1 * slow]],
        )
        for channels, slow in slower.items()
    ]
    settings = {"engine": "onnxruntime", "layers": 8, "usual": asdict(Point())}
    return ScalingRecord(
        settings=settings,
        machine={"cpu": "a processor"},
        versions={},
        kernel=None,
        command="leantta bench --scaling",
        started="",
        noise={"noisy": False, "reasons": []},
        points=tuple(points),
    )


def test_a_record_of_scaling_comes_back_and_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "scaling.json"
    write_scaling(scaling(), path)
    assert read_scaling(path) == read_any(path) == scaling()
    write_any(read_any(path), path)
    assert table_of(read_any(path)).rows == scaling_table(scaling()).rows
    first, second = scaling_table(scaling()).rows
    assert first == ("channels", "8", "0.100", "0.200", "2.000 [2.000, 2.000]", "100.0")
    assert second[-2:] == ("1.500 [1.500, 1.500]", "50.0")
    drawn = plot_of(read_any(path))
    assert drawn.count("<circle") == 4  # two points, ratio and added time
    assert ">channels</text>" in drawn
