from pathlib import Path

import pytest

from leantta import load
from leantta.errors import StorageError
from leantta.surgery.adaptation import Selector
from leantta_lab import demo


@pytest.mark.parametrize("layers", [2, pytest.param("none", marks=pytest.mark.slow)])
def test_the_demo_writes_its_page_and_returns_its_tables(
    layers: Selector, tmp_path, sample, weights, monkeypatch
):
    monkeypatch.setattr(demo, "CALIBRATION", 100)  # all of them take a minute
    page = tmp_path / "demo.html"
    tables = demo.run_demo(sample, weights, layers, per_cell=1, output=page)
    assert "noise" in tables
    assert f"leantta:{layers}:filter" in tables
    assert "leantta:half:paper" in tables
    html = page.read_text()
    assert html.count('class="card"') >= 4
    assert ("bn1" in html) == (layers == 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.html", "demo.onnx"]
    with load(tmp_path / "demo.onnx") as session:
        assert len(session.info.layers) in ((1, 2) if layers == 2 else (0,))


def test_a_page_that_cannot_be_written_is_an_error(sample, weights):
    with pytest.raises(StorageError, match="cannot write"):
        demo.run_demo(sample, weights, 1, per_cell=1, output=Path("/proc/nowhere/demo.html"))
