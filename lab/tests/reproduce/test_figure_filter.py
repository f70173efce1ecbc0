"""What the shift filter removes: for real on few images, and the page of known values."""

from pathlib import Path

import pytest

from leantta_lab.reproduce import figure_filter as figure
from reproduce.figure_setting import axes_of, run_all, setting_in, words


@pytest.mark.slow
def test_less_of_a_shift_is_left_than_was_seen(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(figure.SHOWN, "quick", 12)
    setting = setting_in(tmp_path, sample)
    run_all(figure.jobs(setting), setting)
    values = figure.sheet_of("quick").shown(setting)
    assert set(values) == set(figure.COLOURS)
    for name in ("gaussian_noise", "contrast"):
        assert len(values[name]["seen"]) == len(values[name]["left"]) == 12
        assert figure._size(values[name]["left"]) < 0.8 * figure._size(values[name]["seen"])
        assert values[name]["distance"] > values["clean"]["distance"]


def test_a_page_of_known_values(tmp_path: Path, sample: Path) -> None:
    setting = setting_in(tmp_path, sample)
    notebook = figure.sheet_of("quick").begin(setting)
    for name in figure.COLOURS:
        notebook.add(
            name, {"seen": [[2.0, 1.0], [2.0, -1.0]], "left": [[1.0, 0.0], [0.0, 1.0]], "distance": 3.2}
        )
    page = figure.page(setting)
    assert not page.lacking
    assert "| fog | 3.2 | 2.5 | 0.5 |" in page.markdown()
    left, right = axes_of(page.pictures[0])
    assert len(left.collections) == len(right.collections) == len(figure.COLOURS)
    assert {"clean", "fog", "what the filter leaves, resnet18 bn1"} <= set(words(page.pictures[0]))


def test_a_page_without_measurements_says_what_lacks(tmp_path: Path, sample: Path) -> None:
    page = figure.page(setting_in(tmp_path, sample))
    assert page.parts == ()
    assert page.lacking == ["filter-directions: not measured yet"]
