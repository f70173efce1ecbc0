from pathlib import Path

import numpy as np
import pytest

from leantta.data.npz import read_arrays
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
