"""tau and lambda: the job for real over a few images, and the page from known values."""

from pathlib import Path

import pytest

from leantta.streams.builders import one_cell
from leantta_lab.reproduce import figure_heatmap as figure
from leantta_lab.reproduce.torch_probe import Probe
from reproduce.figure_setting import axes_of, run_all, setting_in, words


def test_a_job_measures_each_lambda_over_each_subset(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(figure.GRID, "quick", (0.0, 1.0))
    monkeypatch.setitem(figure.PER_CELL, "quick", 1)
    monkeypatch.setitem(figure.ONE_CELL, "quick", 20)
    setting = setting_in(tmp_path, sample)
    jobs = figure.jobs(setting)
    assert [job.name for job in jobs] == ["heat map tau 0", "heat map tau 1"]
    run_all(jobs, setting)
    follows, stays = (figure.sheet_of(tau, "quick").shown(setting) for tau in (0.0, 1.0))
    assert {name: total for name, (_, total) in follows["0"].items()} == {
        "all": 95,
        "contrast 5": 20,
        "shot noise 5": 20,
    }
    assert stays["0"] == stays["1"]  # with tau = 1 nothing adapts, whatever lambda is
    assert stays["0"] != follows["0"]
    probe = Probe(figure.MODEL, figure.DATASET, sample)
    cell = one_cell(probe.cells, "contrast", 5, 20, seed=figure.SEED)
    assert stays["1"]["contrast 5"] == probe.tally(probe.model, cell)
    page = figure.page(setting)
    assert page.lacking == []
    assert sum(len(axes.texts) for axes in axes_of(page.pictures[0])) == 12  # a value in each square


def test_a_page_names_the_best_and_frames_the_paper_s_choice(tmp_path: Path, sample: Path) -> None:
    setting = setting_in(tmp_path, sample)
    for tau in figure.GRID["quick"][:-1]:
        notebook = figure.sheet_of(tau, "quick").begin(setting)
        for lam in figure.GRID["quick"]:
            right = 60 if (tau, lam) == (0.5, 0.25) else 55 if tau == lam == 0.9 else 50
            notebook.add(f"{lam:g}", {name: [right, 100] for name in figure.SUBSETS})
    page = figure.page(setting)
    assert "| all | - | 55.0 | 60.0 | 0.5, 0.25 |" in page.markdown()
    assert page.lacking == ["tau 1: not measured yet"]
    [picture] = page.pictures
    frames = [axes.patches for axes in axes_of(picture) if axes.patches]
    assert [len(patches) for patches in frames] == [1] * len(figure.SUBSETS)
    assert frames[0][0].get_xy() == (3.5, 3.5)  # type: ignore[attr-defined] # the fifth of both
    assert {"all", "contrast 5", "shot noise 5", "tau", "lambda", "60", "50"} <= set(words(picture))


def test_the_full_grid_has_steps_of_a_tenth() -> None:
    assert figure.GRID["full"] == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert figure.sheet_of(0.3, "full").name == "heatmap-tau0.3"
