"""What stays in float32 is told with its reason: all of it, and nothing else."""

import numpy as np
import pytest

from leantta.graph.ir import Graph
from leantta.quantize.calibrate import calibrate
from leantta.quantize.lowering import MOVES, InFloat, Int8Graph
from leantta.quantize.nhwc import write_nhwc
from leantta.quantize.qdq import write_qdq
from quantize.graphs import CASES, SEQUENCE, Case, built, inputs_of, node, weight

ROUNDINGS = ("QuantizeLinear", "DequantizeLinear")
FLOATS = np.dtype(np.float32)

MORE: dict[str, Case] = {
    "conv with computed weights": Case(
        nodes=[node("Exp", "w", out="e"), node("Conv", "x", "e")], constants={"w": weight(2, 4, 3, 3)}
    ),
    "average of a cut window": Case(
        nodes=[node("AveragePool", "x", kernel_shape=[2, 2], ceil_mode=1, count_include_pad=1)]
    ),
    "largest of floats": Case(
        nodes=[node("Exp", "x", out="e"), node("ReduceMax", "e", "axes", keepdims=1)],
        constants={"axes": np.array([2, 3])},
    ),
    "concat with a constant": Case(
        nodes=[node("Concat", "x", "c", axis=2)], constants={"c": np.ones((8, 4, 1, 6), np.float32)}
    ),
}


def written(name: str, *, portable: bool) -> tuple[Graph, Int8Graph]:
    case = {**CASES, **MORE}[name]
    graph, inputs = built(case), inputs_of(case)
    ranges = calibrate(graph, inputs)
    return graph, write_qdq(graph, ranges) if portable else write_nhwc(graph, ranges, last=False)


@pytest.mark.parametrize("name", CASES)
def test_exactly_what_is_computed_in_float_is_told(name: str) -> None:
    _, int8 = written(name, portable=False)
    computed = {
        node.op
        for node in int8.graph.nodes
        if not (node.domain or node.name.endswith("/float"))  # a guard computes nothing
        and node.op not in (*ROUNDINGS, *MOVES)
        and int8.graph.tensors[node.outputs[0]].dtype == FLOATS
    }
    assert {each.op for each in int8.in_float} == computed
    if CASES[name].int8:
        assert not int8.in_float


@pytest.mark.parametrize("portable", [False, True], ids=["nhwc", "portable"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_told_is_in_the_graph_and_has_a_reason(name: str, portable: bool) -> None:
    graph, int8 = written(name, portable=portable)
    by_name = {node.name: node for node in graph.nodes}
    told = [each.name for each in int8.in_float]
    assert len(set(told)) == len(told) <= int8.operators <= len(graph.nodes)
    for each in int8.in_float:
        assert by_name[each.name].op == each.op
        assert each.op not in MOVES
        assert each.reason


@pytest.mark.parametrize(
    ("name", "op", "reason"),
    [
        ("conv 3d", "Conv", "int8 convolutions have one or two axes of positions"),
        ("conv with computed weights", "Conv", "its weights are computed"),
        ("conv, clip above zero", "Clip", "no int8 rule"),
        ("mul", "Mul", "no int8 product of two maps"),
        ("sum with a constant, relu, exp", "Add", "one side is a constant"),
        ("sum of bytes and floats, relu, exp", "Add", "reads float32"),
        ("max pool 1d", "MaxPool", "int8 pools have two axes of positions"),
        ("average pool 1d", "AveragePool", "int8 pools have two axes of positions"),
        ("average of a cut window", "AveragePool", "divides the last window by another number"),
        ("mean of channels", "ReduceMean", "int8 means are over all positions"),
        ("largest of channels", "ReduceMax", "not over positions alone"),
        ("largest of floats", "ReduceMax", "reads float32"),
        ("concat with a constant", "Concat", "joins a constant"),
        ("linear with a factor, relu", "Gemm", "transposes or scales what it multiplies"),
        ("product of two tensors", "MatMul", "its weights are computed"),
        ("softmax", "Softmax", "no int8 rule"),
    ],
)
def test_reasons_of_files_for_onnx_runtime(name: str, op: str, reason: str) -> None:
    assert reason in reason_of(op, written(name, portable=False)[1])


@pytest.mark.parametrize(
    ("name", "op", "reason"),
    [
        ("conv with computed weights", "Conv", "its weights are computed"),
        ("mul", "Mul", "no int8 rule"),
        ("sum with a constant, relu, exp", "Add", "one side is a constant"),
        ("sum of bytes and floats, relu, exp", "Add", "reads float32"),
        ("max pool", "MaxPool", "is read as float32"),
        ("mean", "ReduceMean", "no int8 rule"),
        ("linear with a factor, relu", "Gemm", "transposes or scales what it multiplies"),
        ("product of two tensors", "MatMul", "its weights are computed"),
        ("softmax", "Softmax", "no int8 rule"),
    ],
)
def test_reasons_of_portable_files(name: str, op: str, reason: str) -> None:
    assert reason in reason_of(op, written(name, portable=True)[1])


def reason_of(op: str, int8: Int8Graph) -> str:
    (reason,) = {each.reason for each in int8.in_float if each.op == op}
    return reason


@pytest.mark.parametrize("portable", [False, True], ids=["nhwc", "portable"])
@pytest.mark.parametrize("name", ["conv, relu", "conv, relu6", "add, relu", "norm, add, relu", "linear"])
def test_activations_inside_of_their_makers_are_not_told(name: str, portable: bool) -> None:
    _, int8 = written(name, portable=portable)
    assert not {"Relu", "Clip", "Conv", "Gemm"} & {each.op for each in int8.in_float}


def test_names_are_those_of_the_model() -> None:
    case = Case(
        nodes=[node("Softmax", "x", out="attention", axis=1), node("Conv", "attention", "w")],
        constants={"w": weight(6, 4, 3)},
        shape=SEQUENCE,
    )
    graph, inputs = built(case), inputs_of(case)
    int8 = write_nhwc(graph, calibrate(graph, inputs), last=False)
    assert int8.in_float == (InFloat("Softmax", "attention", "no int8 rule"),)
    assert int8.operators == 3  # with the copy of the input; to flatten computes nothing
