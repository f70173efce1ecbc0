"""UCI HAR as a file and as the official folder; the split is by person."""

from pathlib import Path

import numpy as np
import pytest

from leantta.errors import DataError, MissingFileError, SettingError
from leantta.modalities.datasets import load_data
from leantta_lab.datasets.har import FIRST_TEST_PERSON, SIGNALS, load_windows
from leantta_lab.datasets.table import DATASETS
from motion_files import REAL, made_up, write_har


@pytest.fixture(scope="module")
def har(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_har(tmp_path_factory.mktemp("har") / "har.npz")


def folder_of(path: Path, people: dict[str, list[int]]) -> dict[str, np.ndarray]:
    """Write a small official folder; return the windows of each part."""
    written = {}
    for part, persons in people.items():
        labels = np.arange(2 * len(persons)) % 6
        windows = made_up(labels, seed=len(part))
        inside = path / "UCI HAR Dataset" / part / "Inertial Signals"
        inside.mkdir(parents=True)
        for channel, name in enumerate(SIGNALS):
            np.savetxt(inside / f"{name}_{part}.txt", windows[:, channel], fmt="%16.7e")
        np.savetxt(inside.parent / f"y_{part}.txt", labels + 1, fmt="%d")
        np.savetxt(inside.parent / f"subject_{part}.txt", np.repeat(persons, 2), fmt="%d")
        written[part] = windows
    return written


def rows_of(windows: np.ndarray) -> set[bytes]:
    return {np.round(window, 4).tobytes() for window in windows}


def test_people_are_split_and_nobody_is_lost(har: Path) -> None:
    with np.load(har) as stored:
        windows, people = stored["x"], stored["subject"]
    train, test = load_windows(har, split="train"), load_windows(har, split="test")
    assert (len(train), len(test)) == (20 * 12, 10 * 12)
    assert train.samples.shape[1:] == (9, 128)
    assert rows_of(train.samples) == rows_of(windows[people < FIRST_TEST_PERSON])
    assert rows_of(test.samples) == rows_of(windows[people >= FIRST_TEST_PERSON])
    place = {window.tobytes(): i for i, window in enumerate(windows)}
    with np.load(har) as stored:
        found = [stored["y"][place[window.tobytes()]] for window in test.samples]
    assert found == test.labels.tolist()
    assert len(set(people[[place[window.tobytes()] for window in train.samples[:60]]])) > 10


def test_the_order_is_fixed(har: Path) -> None:
    one, other = load_windows(har, split="train"), load_data(har, "har", "train")
    np.testing.assert_array_equal(one.samples, other.samples)


def test_the_official_folder_is_read_by_its_people(tmp_path: Path) -> None:
    written = folder_of(tmp_path, {"train": [1, 3, 30], "test": [2, 25]})
    everything = np.concatenate([written["train"], written["test"]])
    train, test = load_windows(tmp_path, split="train"), load_windows(tmp_path, split="test")
    np.testing.assert_allclose(
        np.sort(train.samples.ravel()), np.sort(everything[[0, 1, 2, 3, 6, 7]].ravel()), rtol=1e-5
    )
    np.testing.assert_allclose(
        np.sort(test.samples.ravel()), np.sort(everything[[4, 5, 8, 9]].ravel()), rtol=1e-5
    )
    assert sorted(test.labels.tolist()) == [2, 3, 4, 5]
    inside = load_windows(tmp_path / "UCI HAR Dataset", split="test")
    np.testing.assert_array_equal(inside.samples, test.samples)


def test_mistakes_are_explained(tmp_path: Path, har: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no motion windows at .*UCI HAR Dataset"):
        load_windows(tmp_path / "absent")
    with pytest.raises(DataError, match="neither it nor a folder in it has 'train/Inertial Signals'"):
        load_windows(tmp_path)
    with pytest.raises(SettingError, match="cifar10 has no motion windows"):
        load_windows(har, "cifar10")
    with pytest.raises(SettingError, match="unknown split 'validation'"):
        load_windows(har, "har", "validation")  # type: ignore[arg-type]  # what a caller may pass
    labels = np.arange(12) % 6
    np.savez(tmp_path / "train.npz", x=made_up(labels), y=labels, subject=np.zeros(12, int))
    with pytest.raises(DataError, match="nobody to test with: people 20 to 29"):
        load_windows(tmp_path / "train.npz", split="test")
    np.savez(tmp_path / "seven.npz", x=made_up(labels), y=labels + 1, subject=np.zeros(12, int))
    with pytest.raises(DataError, match="labels must lie between 0 and 5"):
        load_windows(tmp_path / "seven.npz", split="train")


def test_a_damaged_folder_is_explained(tmp_path: Path) -> None:
    folder_of(tmp_path, {"train": [1, 2]})
    inside = tmp_path / "UCI HAR Dataset" / "train"
    gyro = inside / "Inertial Signals" / "body_gyro_y_train.txt"
    whole = gyro.read_text()
    gyro.write_text(whole.splitlines()[0])
    with pytest.raises(DataError, match=r"different numbers of rows: \[1, 4\]"):
        load_windows(tmp_path, split="train")
    gyro.write_text("1 2 3\n")
    with pytest.raises(DataError, match=r"must have 128 numbers a row; it has the shape \(1, 3\)"):
        load_windows(tmp_path, split="train")
    gyro.write_text("one two\n")
    with pytest.raises(DataError, match="as rows of numbers"):
        load_windows(tmp_path, split="train")
    gyro.unlink()
    with pytest.raises(MissingFileError, match="body_gyro_y_train"):
        load_windows(tmp_path, split="train")


@pytest.mark.skipif(not REAL.exists(), reason="UCI HAR is not on this machine")
def test_the_statistics_and_units_are_those_of_the_real_windows() -> None:
    train = load_windows(REAL, split="train")
    assert len(train) == 6531
    np.testing.assert_allclose(train.samples.mean((0, 2), dtype=np.float64), DATASETS["har"].mean, atol=6e-5)
    np.testing.assert_allclose(train.samples.std((0, 2), dtype=np.float64), DATASETS["har"].std, atol=6e-5)
    gravity = np.linalg.norm(train.samples[:, 6:].mean(2), axis=1)  # in g
    assert np.median(gravity) == pytest.approx(1, abs=0.05)
    assert np.abs(train.samples[:, :3].mean(2)).mean() < 0.02  # the body's acceleration has none
    lying = train.samples[train.labels == DATASETS["har"].classes.index("laying")]
    assert lying[:, 6].mean() < 0.2 < lying[:, 7].mean()
