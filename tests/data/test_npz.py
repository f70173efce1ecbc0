from pathlib import Path

import numpy as np
import pytest

from leantta.data.npz import read_array, read_arrays
from leantta.errors import DataError


def test_arrays_come_in_the_order_asked_for(tmp_path: Path) -> None:
    np.savez(tmp_path / "set.npz", a=np.arange(2), b=np.arange(3))
    first, second = read_arrays(tmp_path / "set.npz", ["b", "a"])
    assert (first.tolist(), second.tolist()) == ([0, 1, 2], [0, 1])


def test_other_files_are_explained(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.arange(3))
    with pytest.raises(DataError, match="holds one array"):
        read_arrays(tmp_path / "one.npy", ["x_test"])
    np.savez(tmp_path / "set.npz", images=np.arange(3))
    with pytest.raises(DataError, match="no array x_test and y_test; it has images"):
        read_arrays(tmp_path / "set.npz", ["x_test", "y_test"])
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match="cannot read"):
        read_arrays(tmp_path / "text.npz", ["x_test"])
    with pytest.raises(DataError, match="cannot read"):
        read_arrays(tmp_path, ["x_test"])


def test_one_array_comes_as_it_was_saved(tmp_path: Path) -> None:
    saved = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.save(tmp_path / "one.npy", saved)
    found = read_array(tmp_path / "one.npy")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, saved)


def test_files_that_are_no_single_array_are_explained(tmp_path: Path) -> None:
    np.savez(tmp_path / "several.npy.npz", a=np.arange(2))
    with pytest.raises(DataError, match="it holds several arrays"):
        read_array(tmp_path / "several.npy.npz")
    np.save(tmp_path / "whole.npy", np.arange(1000))
    raw = (tmp_path / "whole.npy").read_bytes()
    broken = {"empty": b"", "text": b"hello", "cut": raw[:500], "cut in its header": raw[:20]}
    for name, content in broken.items():
        (tmp_path / f"{name}.npy").write_bytes(content)
        with pytest.raises(DataError, match=f"cannot read .*{name}"):
            read_array(tmp_path / f"{name}.npy")
    for place in (tmp_path, tmp_path / "nowhere.npy"):
        with pytest.raises(DataError, match="cannot read"):
            read_array(place)


class Boom:
    """Would make a file when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.place,))


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    np.save(tmp_path / "evil.npy", np.array([Boom(tmp_path / "owned")], object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot read"):
        read_array(tmp_path / "evil.npy")
    assert not (tmp_path / "owned").exists()
