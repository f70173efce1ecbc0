"""The reader of CIFAR's pickles runs nothing that is in them."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leantta.errors import DataError
from leantta_lab.datasets.cifar_pickle import read_batch

GOOD = pickle.dumps({"data": np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072), "labels": [3, 5]}, 2)


class Runs:
    """What pickles of an attacker look like: loading one calls a function."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call


def attacks(marker: Path) -> dict[str, object]:
    return {
        "shell": Runs(os.system, f"touch {marker}"),
        "builtin": Runs(eval, f"open({str(marker)!r}, 'w')"),
        "inside a batch": {"data": Runs(open, str(marker), "w"), "labels": [1]},
        "numpy's own": Runs(np.save, str(marker), [1]),
        "object array": {"data": np.array([Runs(open, str(marker), "w")], dtype=object), "labels": [1]},
    }


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", attacks(Path("any")))
def test_nothing_is_run(name: str, protocol: int, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    path = tmp_path / "test_batch"
    path.write_bytes(pickle.dumps(attacks(marker)[name], protocol))
    with pytest.raises(DataError, match="is not a CIFAR batch"):
        read_batch(path, "labels")
    assert not marker.exists()
    if name == "shell":  # the attack is real: the ordinary reader falls for it
        pickle.loads(path.read_bytes())
        assert marker.exists()


def test_stand_ins_cannot_be_changed(tmp_path: Path) -> None:
    """BUILD on an admitted name would otherwise set attributes of a class that later reads use."""
    path = tmp_path / "test_batch"
    for name in (b"cnumpy\nndarray\n", b"cnumpy\ndtype\n", b"c_codecs\nencode\n"):
        path.write_bytes(b"\x80\x02" + name + b"}X\x04\x00\x00\x00fillNsb.")
        with pytest.raises(DataError):
            read_batch(path, "labels")
    path.write_bytes(GOOD)
    assert read_batch(path, "labels")[1].tolist() == [3, 5]


CONTENTS: dict[str, tuple[object, str]] = {
    "not a dictionary": ([1, 2], "it holds a list"),
    "no data": ({"labels": [1]}, "no 'data' array"),
    "no labels": ({"data": np.zeros((1, 3072), np.uint8)}, "whole numbers as 'labels'"),
    "labels of text": (
        {"data": np.zeros((1, 3072), np.uint8), "labels": ["cat"]},
        "whole numbers as 'labels'",
    ),
    "floats": ({"data": np.zeros((1, 3072)), "labels": [1]}, "unexpected array type 'f8'"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_other_content_is_explained(name: str, tmp_path: Path) -> None:
    content, message = CONTENTS[name]
    (tmp_path / "test_batch").write_bytes(pickle.dumps(content, 4))
    with pytest.raises(DataError, match=message):
        read_batch(tmp_path / "test_batch", "labels")


def test_labels_may_be_an_array(tmp_path: Path) -> None:
    rows = np.zeros((2, 3072), np.uint8)
    (tmp_path / "train").write_bytes(pickle.dumps({"data": rows, "fine_labels": np.array([7, 99])}, 4))
    assert read_batch(tmp_path / "train", "fine_labels")[1].tolist() == [7, 99]


def test_column_major_arrays_keep_their_order(tmp_path: Path) -> None:
    rows = np.asfortranarray(np.random.default_rng(0).integers(0, 256, (4, 3072), dtype=np.uint8))
    for protocol in (2, 4, 5):
        (tmp_path / "train").write_bytes(pickle.dumps({"data": rows, "labels": [0, 1, 2, 3]}, protocol))
        np.testing.assert_array_equal(read_batch(tmp_path / "train", "labels")[0], rows)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_errors_of_ours(data: st.DataObject, tmp_path: Path) -> None:
    head = 200  # the interesting opcodes; the rest is pixels
    at = data.draw(st.integers(0, head))
    patch = data.draw(st.binary(min_size=1, max_size=3))
    damaged = bytearray(GOOD)
    damaged[at : at + len(patch)] = patch
    cut = data.draw(st.sampled_from([None, 10, 100, -1, -30]))
    (tmp_path / "test_batch").write_bytes(bytes(damaged[:cut]))
    try:
        rows, labels = read_batch(tmp_path / "test_batch", "labels")
    except DataError:
        return
    assert isinstance(rows, np.ndarray)
    assert isinstance(labels, np.ndarray)
