import numpy as np
import onnx
import pytest

from export.models import MEAN, SIZE, STD, given, pixels
from leantta.export.preprocessing import normalized, with_preprocessing
from leantta.graph.ir import BATCH, Graph, Node, Tensor, write_graph
from leantta.graph.run import run_graph
from reference import assert_close

REAL = np.dtype(np.float32)


def test_images_are_normalised_by_the_usual_formula() -> None:
    found = normalized(pixels(4), MEAN, STD)
    assert (found.dtype, found.shape) == (REAL, (4, 3, SIZE, SIZE))
    assert found.flags.c_contiguous
    assert_close(found, given(pixels(4)), atol=1e-6)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_graph_may_take_pixels(last: bool, batch: int) -> None:
    shape = (BATCH, SIZE, SIZE, 3) if last else (BATCH, 3, SIZE, SIZE)
    whole = Tensor(REAL, shape)
    nodes = (Node("Identity", ("input",), ("logits",)),)
    plain = Graph(nodes, {}, {"input": whole, "logits": whole}, ("input",), ("logits",))
    graph = with_preprocessing(plain, MEAN, STD, last=last)
    assert graph.tensors["input"] == Tensor(np.dtype(np.uint8), (BATCH, SIZE, SIZE, 3))
    onnx.checker.check_model(write_graph(graph, "g"), full_check=True)
    wanted = given(pixels(batch)).numpy()
    found = run_graph(graph, pixels(batch), ["logits"])[0]
    assert_close(found, np.moveaxis(wanted, 1, -1) if last else wanted, atol=1e-6)
    assert plain.tensors["input"] == whole  # the graph given is as it was
