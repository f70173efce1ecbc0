"""Files of motion windows: every form gives the same windows, and every mistake its message."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantta.data.windows import CHANNELS, SAMPLES, as_windows, find_window_files, in_order, read_windows
from leantta.errors import DataError, MissingFileError
from motion_files import made_up

WINDOWS = made_up(np.arange(24) % 6)


def interleaved(windows: np.ndarray) -> np.ndarray:
    """The values of (n, 128, 9) under the shape (n, 9, 128), as some files have them."""
    return windows.transpose(0, 2, 1).reshape(windows.shape)


def test_every_form_is_the_same_windows(tmp_path: Path) -> None:
    np.save(tmp_path / "many.npy", WINDOWS)
    np.save(tmp_path / "last.npy", WINDOWS.transpose(0, 2, 1))
    np.savez(tmp_path / "many.npz", x=WINDOWS, y=np.arange(24))
    for name in ("many.npy", "last.npy", "many.npz"):
        np.testing.assert_array_equal(read_windows(tmp_path / name), WINDOWS)
    np.save(tmp_path / "one.npy", WINDOWS[0])
    np.savetxt(tmp_path / "one.csv", WINDOWS[0].T, delimiter=",")
    names = ",".join(f"channel {i}" for i in range(CHANNELS))
    np.savetxt(tmp_path / "named.csv", WINDOWS[0].T, delimiter=",", header=names, comments="")
    for name in ("one.npy", "one.csv", "named.csv"):
        np.testing.assert_allclose(read_windows(tmp_path / name), WINDOWS[:1], rtol=1e-6)
    found = find_window_files(tmp_path)
    assert [file.name for file in found] == [
        *("last.npy", "many.npy", "many.npz", "named.csv", "one.csv", "one.npy")
    ]


def test_values_of_a_moment_side_by_side_are_put_in_order(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(in_order(interleaved(WINDOWS), "a.npz"), WINDOWS)
    assert "a.npz says (n, 9, 128) but holds (n, 128, 9)" in caplog.text


@pytest.mark.parametrize("kind", ["usual", "white noise", "still", "shaking", "few"])
def test_others_stay_as_they_are(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(1)
    windows = {
        "usual": WINDOWS,
        "white noise": rng.normal(size=WINDOWS.shape).astype(np.float32),
        "still": np.ones_like(WINDOWS),
        "shaking": made_up(np.full(20, 1)) + rng.normal(0, 0.5, (20, 9, 128)).astype(np.float32),
        "few": interleaved(WINDOWS)[:3],  # too few to tell
    }[kind]
    np.testing.assert_array_equal(in_order(windows, kind), windows)
    assert not caplog.records


NAN = WINDOWS.copy()
NAN[3, 2, 1] = np.nan

REFUSED: dict[str, tuple[Any, str]] = {
    "another length": (WINDOWS[:, :, :100], r"holds the shape \(24, 9, 100\)"),
    "six channels": (WINDOWS[:, :6], r"holds the shape \(24, 6, 128\)"),
    "none": (WINDOWS[:0], r"n > 0.*\(0, 9, 128\)"),
    "one axis": (np.zeros(128), r"holds the shape \(128,\)"),
    "not a number": (NAN, "window 3 of the file has NaN or infinite"),
    "too large": (np.full((1, 9, 128), 1e300), "window 0 of the file has NaN or infinite"),
    "words": (np.full((1, 9, 128), "a"), "it holds <U1"),
    "complex": (WINDOWS.astype(np.complex64), "it holds complex64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_window_is_refused(name: str) -> None:
    values, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        as_windows(values, "the file")


def test_files_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no file of motion windows at"):
        read_windows(tmp_path / "absent.npy")
    for name, content, message in (
        ("a.txt", "1", r"Known endings: \.csv, \.npy, \.npz"),
        ("a.csv", "1,2\nx,4\n", "cannot read .* as a table of numbers"),
        ("b.csv", "", "has no rows of numbers"),
        ("c.csv", "1,2,3\n" * SAMPLES, r"holds the shape \(128, 3\)"),
        ("d.csv", ",".join(["nan"] * CHANNELS) + "\n" + "0,0,0,0,0,0,0,0,0\n" * (SAMPLES - 1), "has NaN"),
        ("a.npy", "no numpy", "as .npy"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=message):
            read_windows(tmp_path / name)
    np.savez(tmp_path / "a.npz", windows=WINDOWS)
    with pytest.raises(DataError, match="has no array x; it has windows"):
        read_windows(tmp_path / "a.npz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no windows in"):
        find_window_files(tmp_path / "empty")
