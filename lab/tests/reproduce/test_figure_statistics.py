"""Statistics of single images: the job for real over a few, and the lines of known values."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from leantta.streams.builders import clean
from leantta_lab.reproduce import figure_statistics as figure
from leantta_lab.reproduce.torch_probe import Probe
from reproduce.figure_setting import axes_of, run_all, setting_in, words


def test_the_job_measures_what_numpy_finds_in_the_layer_s_input(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(figure.IMAGES, "quick", 70)  # more than a batch
    setting = setting_in(tmp_path, sample)
    run_all(figure.jobs(setting), setting)
    values = figure.sheet_of("quick").shown(setting)
    probe = Probe(figure.MODEL, figure.DATASET, sample)
    layer = probe.model.get_submodule(figure.LAYER)
    assert isinstance(layer, nn.BatchNorm2d)
    seen: list[Tensor] = []
    layer.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    inputs = clean(probe.cells, 70, seed=figure.SEED).load(np.arange(70))
    with torch.no_grad():
        probe.model(probe.normalized(inputs))
    channel = seen[0].numpy()[:, figure.CHANNEL].reshape(70, -1).astype(np.float64)
    np.testing.assert_allclose(values["mean"]["images"], channel.mean(1), rtol=0, atol=1e-4)
    np.testing.assert_allclose(values["variance"]["images"], channel.var(1), rtol=0, atol=1e-3)
    assert layer.running_var is not None
    assert values["variance"]["source"] == pytest.approx(float(layer.running_var[figure.CHANNEL]))
    page = figure.page(setting)
    assert page.lacking == ()
    single, stabilised = (
        _distance(page.markdown(), name) for name in ("single image", "stabilised, tau 0.9")
    )
    assert stabilised == pytest.approx(single / 10, abs=1e-3)


def _distance(markdown: str, name: str) -> float:
    row = next(line for line in markdown.splitlines() if line.startswith(f"| mean | {name} "))
    return float(row.split("|")[-2])


def test_the_four_lines_of_known_values() -> None:
    lines = figure.lines_of(source=1.0, images=[11.0, 1.0])
    assert list(lines) == list(figure.STYLES)
    single, running, stabilised, source = lines.values()
    assert single == [11.0, 1.0]
    assert running == pytest.approx([2.0, 1.9])
    assert stabilised == pytest.approx([2.0, 1.0])
    assert source == [1.0, 1.0]


def test_a_page_of_known_values(tmp_path: Path, sample: Path) -> None:
    setting = setting_in(tmp_path, sample)
    assert figure.page(setting).lacking == ["statistics: not measured yet"]
    notebook = figure.sheet_of("quick").begin(setting)
    for key in ("mean", "variance"):
        notebook.add(key, {"source": 2.0, "images": [1.0, 3.0] * 50})
    page = figure.page(setting)
    assert "| mean | single image | 1.000 | 3.000 | 1.000 |" in page.markdown()
    assert "| variance | stabilised, tau 0.9 | 1.900 | 2.100 | 0.100 |" in page.markdown()
    [picture] = page.pictures
    assert {"mean of the channel", "variance of the channel", "image", *figure.STYLES} <= set(words(picture))
    drawn = [line for axes in axes_of(picture) for line in axes.lines if line.get_label() == "single image"]
    assert [line.get_color() for line in drawn] == [figure.STYLES["single image"][0]] * 2
