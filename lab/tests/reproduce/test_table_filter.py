"""The shift filter without a kind of disturbance: for real on few images, and the page of known values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantta.disturbances.corruptions.names import NAMES
from leantta.disturbances.library.tables import LIBRARIES
from leantta.streams.builders import abrupt
from leantta.tables import Table
from leantta_lab.reproduce import filter_fits
from leantta_lab.reproduce import table_filter as table
from leantta_lab.reproduce.torch_probe import Probe
from reproduce.figure_setting import run_all, setting_in


def test_each_kind_has_its_corruptions_and_each_corruption_one_kind() -> None:
    assert set(table.NEAR) == set(LIBRARIES["image"].kinds)
    assert sorted(name for names in table.NEAR.values() for name in names) == sorted(NAMES)


@pytest.mark.slow
def test_fits_are_measured_one_by_one(tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(filter_fits.IMAGES, "quick", 30)
    monkeypatch.setitem(filter_fits.COUNTS, "quick", ())
    monkeypatch.setitem(filter_fits.CLEAN_IMAGES, "quick", 20)
    setting = setting_in(tmp_path, sample)
    sheet = filter_fits.sheet_of("quick")
    assert sheet.keys == ("none", "paper", "filter", "first 1", "without noise")
    sheet.begin(setting).add("filter", made_up(95, 20))  # it is there already
    run_all(table.jobs(setting), setting)
    values = sheet.shown(setting)
    assert values["filter"] == made_up(95, 20)
    assert {len(value["shifted"]) for value in values.values()} == {len(NAMES)}
    assert values["without noise"]["layers"] >= 0
    probe = Probe("resnet18", "cifar10", sample)
    right, _ = probe.tally(probe.model, abrupt(probe.cells, 1, seed=0))
    assert int(table._shifted(values["none"]).sum()) == right
    assert table.page(setting).lacking == []


def made_up(right: int, clean: int) -> dict[str, Any]:
    """Return a value of 95 shifted images, the first so many right, and of 20 clean ones."""
    marks = np.arange(95) < right
    return {
        "shifted": {name: filter_fits.packed(marks[5 * i : 5 * i + 5]) for i, name in enumerate(NAMES)},
        "clean": filter_fits.packed(np.arange(20) < clean),
        "layers": 3,
        "expected_gain_known": [0.05, 0.01],
        "expected_gain_unknown": [0.02, 0.01],
        "expected_cost": [0.003, 0.001],
    }


def test_a_page_of_known_values(tmp_path: Path, sample: Path) -> None:
    setting = setting_in(tmp_path, sample)
    notebook = filter_fits.sheet_of("quick").begin(setting)
    for key, right, clean in (("none", 57, 19), ("paper", 60, 19), ("filter", 76, 18), ("50 images", 57, 19)):
        notebook.add(key, made_up(right, clean))
    notebook.add("first 1", {**made_up(66, 19), "layers": 1})
    page = table.page(setting)
    assert page.lacking == ["resnet18 cifar10, without noise: not measured yet"]
    kinds, counts, layers, promises = (part for part in page.parts if isinstance(part, Table))
    assert [row[0] for row in layers.rows] == ["0", "1", "3"]
    assert layers.rows[1][1].startswith("+9.5 [")  # 66 - 57 of 95
    assert layers.rows[2][1:3] == counts.rows[1][2:]
    assert {row[3:] for row in layers.rows} == {("-", "-")}  # no times
    few, usual = counts.rows
    assert few[:2] == ("50", "3")
    assert usual[2].startswith("+20.0 [")  # 76 - 57 of 95
    assert usual[3].startswith("-5.0 [")  # one of 20
    [promised] = promises.rows
    assert promised[:4] == ("resnet18 cifar10", "3", "+5.0 [+4.0, +6.0]", "+2.0 [+1.0, +3.0]")
    assert promised[4:] == (usual[2], "-0.3 [-0.4, -0.2]", usual[3], "-")
    [noise] = kinds.rows
    assert noise[0] == "noise"
    assert noise[5:] == ("-", "-", "-")


def test_a_page_without_measurements_says_what_lacks(tmp_path: Path, sample: Path) -> None:
    page = table.page(setting_in(tmp_path, sample))
    assert page.parts == ()
    assert "not measured yet" in page.lacking[0]
