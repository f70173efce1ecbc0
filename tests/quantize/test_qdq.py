"""The same graphs with the operators of the standard alone."""

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from leantta.graph.ir import BATCH, Graph, write_graph
from leantta.graph.run import run_graph
from leantta.quantize.calibrate import calibrate
from leantta.quantize.elementwise import BINARY, UNARY
from leantta.quantize.params import affine_of
from leantta.quantize.qdq import KEEPERS, READERS, inlined, write_qdq
from quantize.graphs import CASES, Case, built, elementwise, inputs_of, of_two
from reference import assert_close

ALL: dict[str, Case] = {
    **CASES,
    **{op: elementwise(op) for op in UNARY if op != "Gelu"},
    **{f"{op} with {second}": of_two(op, second) for op in BINARY for second in ("tensor", "channels")},
}
Made = dict[str, tuple[Graph, Graph, NDArray[np.float32], float]]


@pytest.fixture(scope="module")
def portable() -> Made:
    made = {}
    for name, case in ALL.items():
        graph, inputs = built(case), inputs_of(case)
        ranges = calibrate(graph, inputs)
        written = inlined(write_qdq(graph, ranges).graph)
        made[name] = graph, written, inputs, affine_of(ranges.spans["logits"]).scale
    return made


@pytest.mark.parametrize("name", ALL)
def test_bytes_say_what_floats_say(name: str, portable: Made) -> None:
    graph, written, inputs, step = portable[name]
    (wanted,) = run_graph(graph, inputs, ["logits"])
    for batch in (1, 3):
        (found,) = run_graph(written, inputs[:batch], ["logits"])
        steps = ALL[name].portable_steps or ALL[name].steps
        assert_close(found, wanted[:batch], atol=steps * step)


@pytest.mark.parametrize("name", ALL)
def test_operators_are_of_the_standard_and_types_are_right(name: str, portable: Made) -> None:
    _, written, inputs, _ = portable[name]
    assert {node.domain for node in written.nodes} == {""}
    model = write_graph(written, "portable")
    assert [opset.domain for opset in model.opset_import] == [""]
    onnx.checker.check_model(model, full_check=True)
    made = [out for node in written.nodes for out in node.outputs if out in written.tensors]
    shown = Graph(written.nodes, written.constants, written.tensors, written.inputs, tuple(made))
    for tensor, value in zip(made, run_graph(shown, inputs[:3], made), strict=True):
        said = written.tensors[tensor]
        assert said.dtype == value.dtype, tensor
        assert said.shape is not None, tensor
        assert tuple(3 if size == BATCH else size for size in said.shape) == value.shape, tensor


@pytest.mark.parametrize("name", ALL)
def test_readers_read_bytes_and_integer_weights(name: str, portable: Made) -> None:
    graph, _, inputs, _ = portable[name]
    written = write_qdq(graph, calibrate(graph, inputs)).graph
    behind = written.producers()
    for node in written.nodes:
        fixed = node.op in READERS and graph.producers().get(node.inputs[1]) is None
        if not fixed or "alpha" in node.attributes:
            continue
        assert behind[node.inputs[0]].op == "DequantizeLinear", node
        if node.domain:
            continue
        weights = behind[node.inputs[1]]
        assert weights.op == "DequantizeLinear"
        assert written.constants[weights.inputs[0]].dtype == np.int8
        if len(node.inputs) > 2:
            assert written.constants[behind[node.inputs[2]].inputs[0]].dtype == np.int32


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].nodes[-1].op in KEEPERS])
def test_operators_that_only_move_values_keep_their_scale(name: str, portable: Made) -> None:
    """Two roundings with different scales around a pool would lose half a step for nothing."""
    graph, written, inputs, _ = portable[name]
    (wanted,) = run_graph(graph, inputs, ["logits"])
    if not any(node.op in ("GlobalAveragePool", "ReduceMean") for node in graph.nodes):
        assert_close(run_graph(written, inputs, ["logits"])[0], wanted, atol=1e-5)  # exact inputs stay exact


def test_scores_are_not_rounded(portable: Made) -> None:
    written = portable["linear"][1]
    assert written.producers()["logits"].op == "Gemm"
