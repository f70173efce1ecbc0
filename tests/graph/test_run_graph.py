import numpy as np
import pytest

from leantta.errors import ArtifactError
from leantta.graph.ir import BATCH, Graph, Node, Tensor
from leantta.graph.run import AT_ONCE, open_graph, run_graph
from reference import assert_close

ROW = Tensor(np.dtype(np.float32), (BATCH, 2))


def doubled(op: str = "Add") -> Graph:
    nodes = (Node(op, ("input", "input"), ("out",)),)
    return Graph(nodes, {}, {"input": ROW, "out": ROW}, ("input",), ("out",))


def test_many_inputs_are_run_batch_by_batch():
    inputs = np.random.default_rng(0).normal(size=(2 * AT_ONCE + 5, 2)).astype(np.float32)
    seen: list[tuple[int, int]] = []
    (found,) = run_graph(doubled(), inputs, ["out"], progress=lambda *done: seen.append(done))
    assert_close(found, 2 * inputs, atol=0)
    assert seen == [(AT_ONCE, len(inputs)), (2 * AT_ONCE, len(inputs)), (len(inputs), len(inputs))]


def test_a_graph_that_cannot_run_is_one_line():
    with pytest.raises(ArtifactError, match="ONNX Runtime cannot run the model") as caught:
        open_graph(doubled("Abracadabra"))
    assert "\n" not in str(caught.value)


def test_a_graph_that_a_kernel_keeps_from_running_runs_without_it():
    tried = []

    def spoilt(options):
        tried.append(options)
        options.optimized_model_filepath = "/nowhere/at/all.onnx"  # no session can be made with these
        return True

    inputs = np.ones((1, 2), np.float32)
    (found,) = run_graph(doubled(), inputs, ["out"], kernel=spoilt)
    assert len(tried) == 1
    assert_close(found, 2 * inputs, atol=0)


def test_without_a_kernel_standard_operators_run():
    inputs = np.ones((1, 2), np.float32)
    assert_close(run_graph(doubled(), inputs, ["out"], kernel=lambda _: False)[0], 2 * inputs, atol=0)
