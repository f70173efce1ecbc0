"""The native end of a file gives what its standard operators give, and refuses what it cannot do."""

import os
from collections.abc import Mapping
from unittest import mock

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from leantta.graph.ir import BATCH, LOCAL, Graph, Node, Tensor, write_graph
from leantta.graph.shift import CONSTANTS, SHIFT_OF_DISTANCES, shift_function
from leantta.runtime.kernel import library, paths, register
from reference import assert_close

pytestmark = pytest.mark.skipif(library() is None, reason="this installation has no native kernel")

Floats = NDArray[np.float32]
FLOATS = np.dtype(np.float32)


def opened(
    layers: int, path: str | None, *, distances: int | None = None, constants: Mapping[str, object] = {}
) -> ort.InferenceSession:
    """A session for so many layers with the kernel of a path, or with the function in standard operators."""
    random = np.random.default_rng(layers)
    made = {"unit": random.uniform(0.1, 1, layers), "middle": np.asarray(0.7 * layers)} | dict(constants)
    names = tuple(f"d{i}" for i in range(layers if distances is None else distances))
    node = Node(SHIFT_OF_DISTANCES, (*CONSTANTS, *names), ("distances", "shift"), {}, "end", LOCAL)
    tensors = dict.fromkeys(names, Tensor(FLOATS, (BATCH, "one")))
    tensors |= dict.fromkeys(("distances", "shift"), Tensor(FLOATS, None))
    arrays = {name: np.asarray(value, np.float32) for name, value in made.items()}
    graph = Graph((node,), arrays, tensors, names, ("distances", "shift"))
    model = write_graph(graph, "end", [shift_function(len(names))])
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if path is not None:
        with mock.patch.dict(os.environ, {"LEANTTA_PATH": path}):
            assert register(options)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def columns(count: int, layers: int) -> dict[str, Floats]:
    random = np.random.default_rng(count)
    return {f"d{i}": random.chisquare(2, (count, 1)).astype(np.float32) for i in range(layers)}


@pytest.mark.parametrize("path", paths())
@pytest.mark.parametrize("layers", [1, 2, 11, 52])
@pytest.mark.parametrize("count", [1, 5, 64])
def test_it_is_its_function(path: str, layers: int, count: int) -> None:
    given = columns(count, layers)
    ours, portable = (opened(layers, each).run(None, given) for each in (path, None))
    np.testing.assert_array_equal(ours[0], portable[0])
    assert ours[1].shape == (count,)
    assert_close(ours[1], portable[1], atol=1e-5 * layers)


def test_an_empty_batch() -> None:
    distances, shift = opened(3, paths()[0]).run(None, columns(0, 3))
    assert (distances.shape, shift.shape) == ((0, 3), (0,))


def test_some_inputs_have_a_shift_and_some_have_none() -> None:
    shift = opened(11, paths()[0]).run(["shift"], columns(64, 11))[0]
    assert 0 < (shift == 0).sum() < 64


def test_what_is_not_a_number_stays_so() -> None:
    given = columns(3, 2)
    given["d1"][1] = np.nan
    for path in (paths()[0], None):
        shift = opened(2, path).run(["shift"], given)[0]
        assert np.isnan(shift).tolist() == [False, True, False]


def test_the_kernel_runs_it_in_one_node() -> None:
    options = ort.SessionOptions()
    assert register(options)
    node = Node(SHIFT_OF_DISTANCES, (*CONSTANTS, "d0"), ("distances", "shift"), {}, "end", LOCAL)
    tensors = dict.fromkeys(("d0", "distances", "shift"), Tensor(FLOATS, None))
    ones = {name: np.ones(1, np.float32) for name in CONSTANTS}
    graph = Graph((node,), ones, tensors, ("d0",), node.outputs)
    without_body = write_graph(graph, "end").SerializeToString()
    session = ort.InferenceSession(without_body, options, providers=["CPUExecutionProvider"])
    assert session.run(["shift"], {"d0": np.full((1, 1), 3, np.float32)})[0] == 2


@pytest.mark.parametrize(
    ("distances", "constants", "message"),
    [
        (2, {}, "unit has 3 values for 2 distances"),
        (4, {}, "unit has 3 values for 4 distances"),
        (3, {"middle": [1, 2]}, "middle has 2 values, not 1"),
        (3, {"middle": [[1]]}, r"middle has the shape \(1, 1\)"),
        (3, {"unit": [[1, 2, 3]]}, r"unit has the shape \(1, 3\)"),
    ],
)
def test_wrong_nodes_are_refused(distances: int, constants: dict[str, object], message: str) -> None:
    with pytest.raises(Exception, match=message):
        opened(3, paths()[0], distances=distances, constants=constants)


@pytest.mark.parametrize("shape", [(2, 1), (5,), (5, 2), (0, 1)])
def test_wrong_inputs_are_refused(shape: tuple[int, ...]) -> None:
    given = columns(5, 3) | {"d1": np.zeros(shape, np.float32)}
    with pytest.raises(Exception, match=r"must be \(5, 1\)|Invalid rank"):
        opened(3, paths()[0]).run(None, given)
