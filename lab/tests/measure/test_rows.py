"""The table of rows: each can be named, says what it is, and whether it is available."""

import subprocess
import sys

import pytest

from leantta.errors import SettingError
from leantta_lab.measure.analytic import Footprint
from leantta_lab.measure.networks import list_rows
from leantta_lab.measure.rows import ROWS, choose_rows


def test_rows_are_chosen_by_name_and_glob_in_the_order_of_the_table() -> None:
    assert choose_rows(["*"]) == list(ROWS)
    assert next(iter(ROWS)) == "ours-none"
    assert choose_rows(["ours-all", "ours-none"]) == ["ours-none", "ours-all"]
    assert choose_rows(["torch-x86-*"]) == ["torch-x86-none", "torch-x86-half", "torch-x86-all"]


def test_an_unknown_row_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(SettingError, match=r"no row is called 'tent'; the rows are ours-none, .*--list"):
        choose_rows(["ours-none", "tent"])


METHODS = {"torch-realistic-tta": 400, "torch-tent": 548, "torch-eata": 536}
METHODS |= dict.fromkeys(("torch-cotta", "torch-cotta-4"), 2580)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_what_it_is(name: str) -> None:
    row = ROWS[name]
    assert row.summary
    assert row.adapts in ((None,) if name in METHODS else ("none", "sixteen", "half", "all"))
    plain = 100 * (4 if "fp32" in name or name == "torch-compiled" else 1)
    tiny = Footprint(parameters=100, norms=3, last_norm=1, layers=5)
    assert row.memory(tiny, 7) == METHODS.get(name, plain)
    assert row.missing() is None or isinstance(row.missing(), str)


def test_every_engine_of_the_plot_has_all_three_bars() -> None:
    series = {row.series for row in ROWS.values() if row.series}
    assert len(series) == 5
    for each in series:
        assert {row.adapts for row in ROWS.values() if row.series == each} == {"none", "half", "all"}


def test_the_list_has_every_row() -> None:
    assert [row[0] for row in list_rows().rows] == list(ROWS)


def test_without_torch_every_row_says_what_brings_it() -> None:
    code = (
        "import sys, importlib.util\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'torch' else real(name, *rest)\n"
        "from leantta_lab.measure.networks import list_rows\n"
        "print({row[2] for row in list_rows().rows}, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == (
        """{"this needs the package 'torch': pip install 'leantta[convert]'"} False"""
    )
