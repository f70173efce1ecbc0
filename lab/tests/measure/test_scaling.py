"""Records of scaling come back as they were written, and are shown by `leantta bench --show`."""

from dataclasses import asdict
from pathlib import Path

import pytest

from leantta.errors import RecordError
from leantta.measure.request import show_record
from leantta_lab.measure.scaling import (
    Point,
    PointRecord,
    ScalingRecord,
    read_scaling,
    run_scaling,
    scaling_table,
    write_scaling,
)


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
    assert read_scaling(path) == scaling()
    show_record(path).write(path)
    assert show_record(path).table().rows == scaling_table(scaling()).rows
    first, second = scaling_table(scaling()).rows
    assert first == ("channels", "8", "0.100", "0.200", "2.000 [2.000, 2.000]", "100.0")
    assert second[-2:] == ("1.500 [1.500, 1.500]", "50.0")
    drawn = show_record(path).picture().drawn("svg").decode()
    for shown in ("2.00", "1.50", "100", "50"):  # two points, ratio and added time
        assert f">{shown}</text>" in drawn, shown
    assert ">channels</text>" in drawn


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scaling.json"
    path.write_text('{"kind": "leantta scaling", "format": 1}')
    with pytest.raises(RecordError, match="is damaged: 'points'"):
        show_record(path)


def test_every_point_is_measured_with_and_without_adapting() -> None:
    usual = Point(channels=8, resolution=8)
    found = run_scaling(axes={"share": (0.0, 1.0)}, usual=usual, sessions=2, rounds=3, warm_up=1)
    assert [each.point.share for each in found.points] == [0.0, 1.0]
    for each in found.points:
        assert [len(session) for session in each.plain_ms] == [3, 3]
        assert [len(session) for session in each.adapting_ms] == [3, 3]
    assert found.settings["usual"] == asdict(usual)
    assert found.versions.keys() >= {"torch", "onnxruntime"}
