"""`leantta inspect FILE`: what a model file says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from export.models import info_of
from gates.striped import GOOD, pixels, striped
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.memory import StreamMemory
from running import Run


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "x.onnx"
    convert(striped(), pixels(), path, layers="all", options=FileOptions(memory=StreamMemory()), **GOOD)
    return path


def test_it_shows_layers_and_what_to_expect(run: Run, file: Path) -> None:
    done = run("inspect", file)
    assert done.returncode == 0, done.stderr
    info = info_of(file)
    assert info.memory is not None
    assert info.calibration is not None
    gain = info.calibration["expected_gain_known"]
    assert isinstance(gain, list)
    for words in (
        "Striped",
        f"{len(info.layers)} of 3 adapt",
        str(info.memory.size),
        f"{100 * gain[0]:+.1f}",
    ):
        assert words in done.stdout
    assert all(row.layer in done.stdout for row in info.plan)


def test_json_is_the_metadata(run: Run, file: Path) -> None:
    told = json.loads(run("inspect", file, "--json").stdout)
    assert told["gate"]["name"] == "filter"
    assert told["layers"] == list(info_of(file).layers)


def test_a_file_that_is_none_of_ours_is_one_clear_line(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no model")
    for path in (bad, tmp_path / "missing.onnx"):
        done = run("inspect", path)
        assert done.returncode != 0
        assert len(done.stderr.strip().splitlines()) == 1
        assert path.name in done.stderr
