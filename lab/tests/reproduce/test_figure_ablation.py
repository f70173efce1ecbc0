"""Layer ablation: the job for real over a few images, and the page from known values."""

from pathlib import Path

import pytest

from leantta.streams.builders import abrupt
from leantta.surgery.apply import adapt
from leantta_lab.reproduce import figure_ablation as figure
from leantta_lab.reproduce.torch_probe import Probe
from reproduce.figure_setting import axes_of, run_all, setting_in, words


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "LAYERS", {"resnet18": 20})
    monkeypatch.setitem(figure.STEP["quick"], "resnet18", 10)
    monkeypatch.setitem(figure.PER_CELL, "quick", 1)


@pytest.mark.usefixtures("few")
def test_each_line_is_measured_and_the_ends_once(tmp_path: Path, sample: Path) -> None:
    setting = setting_in(tmp_path, sample)
    first, last = (figure.sheet_of("resnet18", direction, "quick") for direction in figure.STYLES)
    assert (first.keys, last.keys) == (("0", "10", "20"), ("10",))
    last.begin(setting).add("10", [50, 95])
    told = run_all(figure.jobs(setting), setting)
    assert told[-1] == (3, 3)
    assert last.shown(setting) == {"10": [50, 95]}  # it was there already
    probe = Probe("resnet18", "cifar10", sample)
    stream = abrupt(probe.cells, 1, seed=0)
    found = first.shown(setting)
    assert found["0"] == probe.tally(probe.model, stream)
    assert found["20"] == probe.tally(adapt(probe.model, probe.example, "all"), stream)
    page = figure.page(setting)
    assert page.lacking == []
    assert "| resnet18 | 10 | " in page.markdown()
    assert " | 52.6±9.8 |" in page.markdown()  # 50 of 95
    [axes] = axes_of(page.pictures[0])
    assert sum(len(line.get_xdata()) for line in axes.lines) == 6  # type: ignore[arg-type, misc]


def test_the_last_layers_are_the_last_in_execution_order(sample: Path) -> None:
    names = Probe("resnet18", "cifar10", sample).layers()
    assert len(names) == figure.LAYERS["resnet18"]
    assert (names[0], names[-1]) == ("bn1", "layer4.1.bn2")
    counts = figure.sheet_of("mobilenet_v2", "first", "full").keys
    assert (counts[0], counts[1], counts[-1]) == ("0", "4", "52")


def test_a_page_without_measurements_says_what_lacks(tmp_path: Path, sample: Path) -> None:
    page = figure.page(setting_in(tmp_path, sample))
    assert page.parts == ()
    assert page.lacking[0] == "resnet18, first 0, 5, 10, 15, 20 layers: not measured yet"


def test_a_page_of_known_values(tmp_path: Path, sample: Path) -> None:
    setting = setting_in(tmp_path, sample)
    for direction, values in (("first", {"0": 380, "5": 400, "20": 399}), ("last", {"10": 385})):
        notebook = figure.sheet_of("resnet18", direction, "quick").begin(setting)  # type: ignore[arg-type, misc]
        for key, right in values.items():
            notebook.add(key, [right, 475])
    page = figure.page(setting)
    assert "| resnet18 | 0 | 80.0±3.6 | 80.0±3.6 |" in page.markdown()
    assert "| resnet18 | 10 | - | 81.1±3.5 |" in page.markdown()
    assert "resnet18, first 10, 15 layers: not measured yet" in page.lacking
    text = words(page.pictures[0])
    assert {"resnet18", "accuracy in %", "the first n layers adapt", "the last n layers adapt"} <= set(text)
    assert "mobilenet_v2" not in text
