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
