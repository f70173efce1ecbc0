"""Files of values: gone on with after a stop, and not mistaken for those of another recipe."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from leantta.errors import RecordError
from leantta_lab.reproduce.measurement import Sheet, sha256_of, sheet_jobs
from leantta_lab.reproduce.target import Setting
from reproduce.figure_setting import setting_in

SHEET = Sheet(
    name="made-up",
    job="made up",
    model="resnet18",
    dataset="cifar10",
    settings={"seed": 0},
    keys=("a", "b"),
    measure=lambda probe, settings: lambda key: [key, settings["seed"], len(probe.layers())],
    seconds=1,
)


@pytest.fixture
def setting(tmp_path: Path, sample: Path) -> Setting:
    own = tmp_path / "images.npz"
    shutil.copy(sample, own)
    return setting_in(tmp_path, own)


def test_values_are_kept_one_by_one_until_the_sheet_is_whole(setting: Setting) -> None:
    assert not SHEET.is_done(setting)
    SHEET.begin(setting).add("a", [1, 2])
    assert not SHEET.is_done(setting)
    again = SHEET.begin(setting)
    assert again.values == {"a": [1, 2]}
    again.add("b", {"c": 0.5})
    assert SHEET.is_done(setting)
    assert SHEET.shown(setting) == {"a": [1, 2], "b": {"c": 0.5}}
    content = json.loads(SHEET.path(setting).read_text())
    assert content["recipe"]["weights_sha256"]
    assert content["machine"]["cpu"]
    assert list(setting.folder.iterdir()) == [SHEET.path(setting)]


def test_a_job_measures_what_is_not_there_and_tells_how_far_it_is(setting: Setting) -> None:
    SHEET.begin(setting).add("a", "was there")
    told: list[tuple[int, int]] = []
    [job] = sheet_jobs([SHEET], setting)
    job.run(setting, lambda done, total: told.append((done, total)))
    assert job.done(setting)
    assert SHEET.shown(setting) == {"a": "was there", "b": ["b", 0, 20]}
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert sheet_jobs([SHEET], replace(setting, images={})) == []


def whole(setting: Setting) -> None:
    notebook = SHEET.begin(setting)
    for key in SHEET.keys:
        notebook.add(key, 1)
    assert SHEET.is_done(setting)


def test_another_setting_is_not_done(setting: Setting) -> None:
    whole(setting)
    other = replace(SHEET, settings={"seed": 1})
    assert not other.is_done(setting)
    assert other.shown(setting) == {}
    assert other.begin(setting).values == {}


def test_other_images_are_not_done(setting: Setting) -> None:
    whole(setting)
    path = setting.images["cifar10"]
    path.write_bytes(path.read_bytes() + b"x")
    assert not SHEET.is_done(setting)
    assert SHEET.shown(setting) == {}


def test_another_checkpoint_is_not_done(
    setting: Setting, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole(setting)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / weights.name).write_bytes(weights.read_bytes() + b"x")
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path / "weights"))
    assert not SHEET.is_done(setting)
    assert SHEET.shown(setting) == {}


def test_values_are_shown_where_the_images_are_not(setting: Setting) -> None:
    whole(setting)
    bare = replace(setting, images={})
    assert SHEET.shown(bare) == {"a": 1, "b": 1}
    assert not SHEET.is_done(bare)
    assert "no cifar10 images" in SHEET.why(bare)


def test_what_is_missing_is_named(setting: Setting) -> None:
    assert SHEET.lack(setting) is None
    assert SHEET.why(setting) == "not measured yet"
    vggish = replace(SHEET, model="vggish")
    assert "leantta train vggish --dataset cifar10" in (vggish.lack(setting) or "")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"kind": "leantta bench", "format": 1}'])
def test_a_file_of_another_kind_is_refused(setting: Setting, text: str) -> None:
    SHEET.path(setting).parent.mkdir(parents=True)
    SHEET.path(setting).write_text(text)
    with pytest.raises(RecordError, match=r"made-up\.json is no measurement of `leantta reproduce`"):
        SHEET.is_done(setting)


def test_a_folder_is_known_by_the_names_and_bytes_of_its_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.bin").write_bytes(b"1")
    assert sha256_of(tmp_path / "a") == sha256_of(tmp_path / "b")
    (tmp_path / "b" / "more.bin").write_bytes(b"")
    assert sha256_of(tmp_path / "a") != sha256_of(tmp_path / "b")
