"""The corpora for development: in miniature, and the real ones where they are on the machine."""

from pathlib import Path

import pytest

from leantta.errors import DataError, MissingFileError, SettingError
from leantta_lab.datasets.bird_lists import BACKGROUNDS, LISTED, TEST_FOLDS, TRAIN_FOLDS, find_listed
from leantta_lab.datasets.birds import batches

BIRDS = Path(__file__).resolve().parents[3] / "../shared/data/birds"
TABLE = "file,fold,category,bird\nesc50/a.ogg,1,crow,1\nesc50/b.ogg,5,rain,0\nesc50/c.ogg,2,rain,0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "esc50.csv").write_text(TABLE)
    (tmp_path / "esc50").mkdir()
    for name in "abc":
        (tmp_path / "esc50" / f"{name}.ogg").touch()
    return tmp_path


def test_all_or_those_asked_for(folder: Path) -> None:
    clips = find_listed(folder, "esc50")
    assert [path.stem for path in clips.paths] == ["a", "b", "c"]
    assert clips.labels.tolist() == [1, 0, 0]
    assert [path.stem for path in find_listed(folder, "esc50", folds=TRAIN_FOLDS).paths] == ["a", "c"]
    assert [path.stem for path in find_listed(folder, "esc50", folds=TEST_FOLDS).paths] == ["b"]
    assert [path.stem for path in find_listed(folder, "esc50", categories=["rain"]).paths] == ["b", "c"]


def test_requests_that_make_no_sense(folder: Path) -> None:
    with pytest.raises(SettingError, match="unknown corpus 'owls'; known: esc50, capuchin"):
        find_listed(folder, "owls")
    with pytest.raises(SettingError, match="capuchin has no folds"):
        find_listed(folder, "capuchin", folds=[1])
    with pytest.raises(SettingError, match="no clip with fold in"):
        find_listed(folder, "esc50", folds=[9])


def test_missing_parts(folder: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no table of clips .*capuchin\.csv.* columns file,bird"):
        find_listed(folder, "capuchin")
    (folder / "esc50" / "b.ogg").unlink()
    with pytest.raises(
        MissingFileError, match=r"1 of the 3 clips of esc50\.csv are missing, e\.g\. .*b\.ogg"
    ):
        find_listed(folder, "esc50")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("category", "kind", r"has no column category; it has \['file'"),
        ("crow,1", "crow,2", "line 2 of"),
        ("b.ogg,5", "b.ogg,five", "line 3 of"),
        ("esc50/c.ogg", "", "line 4 of"),
    ],
)
def test_a_damaged_table(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "esc50.csv").write_text(TABLE.replace(old, new))
    with pytest.raises(DataError, match=message):
        find_listed(folder, "esc50")


def test_a_table_that_is_no_text(folder: Path) -> None:
    (folder / "esc50.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read as a table"):
        find_listed(folder, "esc50")


@pytest.mark.skipif(not BIRDS.exists(), reason="the bird clips for development are not on this machine")
def test_the_real_corpora() -> None:
    train, test = (find_listed(BIRDS, "esc50", folds=folds) for folds in (TRAIN_FOLDS, TEST_FOLDS))
    assert len(train) + len(test) == len(find_listed(BIRDS, "esc50")) == 620
    assert not {path.name for path in train.paths} & {path.name for path in test.paths}
    assert 0.2 < test.labels.mean() < 0.4
    assert len(find_listed(BIRDS, "capuchin")) == 434
    assert find_listed(BIRDS, "esc50", categories=BACKGROUNDS).labels.sum() == 0
    for corpus in LISTED:
        features, _ = next(batches(find_listed(BIRDS, corpus), size=2))
        assert features.shape == (2, 1, 240, 64)
