"""Distances by layer: the job for real over a few images, and the page from known values."""

from dataclasses import replace
from pathlib import Path

import pytest

from leantta_lab.reproduce import figure_distances as figure
from leantta_lab.reproduce.figure_distances import Curve, curves
from reproduce.figure_setting import axes_of, run_all, setting_in, words


def test_a_job_measures_every_layer_at_every_severity(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure, "PAPER_MODELS", ("resnet18",))
    monkeypatch.setitem(figure.PER_CELL, "quick", 1)
    setting = setting_in(tmp_path, sample)
    jobs = figure.jobs(setting)
    assert [job.name for job in jobs] == ["distances resnet18 cifar10"]  # there are no images of cifar100
    run_all(jobs, setting)
    values = figure.sheet_of("resnet18", "cifar10", setting).shown(setting)
    assert (values["layers"][0], len(values["layers"])) == ("bn1", 20)
    for severity in figure.SEVERITIES:
        found = values["seed 0"][str(severity)]
        assert (found["images"], len(found["mean"])) == (19, 20)
        assert all(0 < value < 1 for value in found["mean"])
        assert max(found["deviation"]) > 0
    assert values["seed 0"]["1"]["mean"][0] < values["seed 0"]["5"]["mean"][0]  # farther from the source
    page = figure.page(setting)
    assert len(page.lacking) == 1
    assert page.lacking[0].startswith("resnet18 cifar100: no cifar100 images")
    [axes] = axes_of(page.pictures[0])
    assert (len(axes.collections), len(axes.lines)) == (5, 5)  # the shades, and the lines


def trial(*mean: float) -> dict[str, dict[str, object]]:
    return {
        str(severity): {"images": 19, "mean": list(mean), "deviation": [0.125] * len(mean)}
        for severity in figure.SEVERITIES
    }


def test_the_spread_is_over_trials_if_there_are_several() -> None:
    values = {"layers": ["bn1", "bn2"], "seed 0": trial(0.25, 0.5), "seed 1": trial(0.75, 0.5)}
    assert curves(values)[3].mean == [0.5, 0.5]
    assert curves(values)[3].deviation == pytest.approx([0.5**1.5, 0.0])
    one = {"layers": ["bn1", "bn2"], "seed 0": trial(0.25, 0.5)}
    assert curves(one)[3] == Curve([0.25, 0.5], [0.125, 0.125])
    assert curves({"layers": ["bn1"]}) == {}


def test_a_page_of_several_trials(tmp_path: Path, sample: Path) -> None:
    setting = replace(setting_in(tmp_path, sample), scale="full")
    for model in figure.PAPER_MODELS:
        notebook = figure.sheet_of(model, "cifar10", setting).begin(setting)
        notebook.add("layers", ["bn1", "bn2", "bn3", "bn4"])
        for seed in setting.seeds[:-1]:
            notebook.add(f"seed {seed}", trial(0.1, 0.3, 0.5 + 0.01 * seed, 0.7))
    page = figure.page(setting)
    assert "| resnet18 | cifar10 | first | 0.200 | 0.200 | 0.200 | 0.200 | 0.200 |" in page.markdown()
    assert "one standard deviation of the means of 5 trials" in page.markdown()
    assert "resnet18 cifar10: not measured yet" in page.lacking
    text = words(page.pictures[0])
    assert {"resnet18, cifar10", "mobilenet_v2, cifar10", "severity 5", "distance d"} <= set(text)
