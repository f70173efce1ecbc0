"""Every operation that the int8 form knows computes, on bytes, what the float graph computes."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from leantta.gates.table import GATES
from leantta.graph.depthwise import DEPTHWISE
from leantta.graph.functions import called, distances, kind_of
from leantta.graph.ir import BATCH, CONTRIB, Graph, write_graph
from leantta.graph.run import run_graph
from leantta.quantize.calibrate import calibrate
from leantta.quantize.elementwise import BINARY, UNARY
from leantta.quantize.lowering import MOVES
from leantta.quantize.nhwc import FLOAT_RULES, RULES, write_nhwc
from leantta.quantize.params import affine_of
from quantize.graphs import CASES, Case, built, elementwise, inputs_of, of_two
from reference import assert_close

OPSET_18 = [op for op in UNARY if op != "Gelu"]  # which came with opset 20
SECONDS = ("tensor", "number", "channels", "full", "columns")
ALL: dict[str, Case] = {
    **CASES,
    **{op: elementwise(op) for op in OPSET_18},
    **{f"{op} with {second}": of_two(op, second) for op in BINARY for second in SECONDS},
}
MOVERS = {"QuantizeLinear", "DequantizeLinear", "Transpose", "ReduceMax", "Resize", "Pad", "Split", *MOVES}


@pytest.fixture(scope="module")
def int8() -> dict[str, tuple[Graph, Graph, NDArray[np.float32], float]]:
    """By case: float graph, int8 graph, inputs, and what a step of the scores is."""
    made = {}
    for name, case in ALL.items():
        graph, inputs = built(case), inputs_of(case)
        ranges = calibrate(graph, inputs)
        made[name] = (
            graph,
            write_nhwc(graph, ranges, last=False).graph,
            inputs,
            affine_of(ranges.spans["logits"]).scale,
        )
    return made


Made = dict[str, tuple[Graph, Graph, NDArray[np.float32], float]]


def test_every_rule_has_a_case() -> None:
    nodes = [node for case in ALL.values() for node in case.nodes]
    tried = {kind_of(node) for node in nodes}
    assert {kind.operator.name for kind in GATES.values()} <= {node.op for node in nodes}
    assert {*RULES, *FLOAT_RULES} <= tried
    assert {*OPSET_18, *BINARY} <= tried


@pytest.mark.parametrize("name", ALL)
def test_bytes_say_what_floats_say(name: str, int8: Made) -> None:
    graph, written, inputs, step = int8[name]
    (wanted,) = run_graph(graph, inputs, ["logits"])
    assert np.ptp(wanted) > 20 * step  # else the bound would say nothing
    for batch in (1, 3):
        (found,) = run_graph(written, inputs[:batch], ["logits"])
        assert found.dtype == np.float32
        assert_close(found, wanted[:batch], atol=ALL[name].steps * step)


@pytest.mark.parametrize("name", [name for name, case in ALL.items() if case.int8])
def test_no_float_is_computed_where_bytes_will_do(name: str, int8: Made) -> None:
    _, written, _, _ = int8[name]
    for node in written.nodes:
        made = written.tensors[node.outputs[0]].dtype
        if node.outputs[0] == "logits" or made == np.int64:  # the scores; sizes
            continue
        assert made == np.uint8, f"{node.op} {node.outputs[0]} is {made}"
        assert node.domain == CONTRIB or node.op in (DEPTHWISE, *MOVERS), node.op
    assert sum(node.op == "QuantizeLinear" for node in written.nodes) == 1  # the input, and nothing again
    assert sum(node.op == "DequantizeLinear" for node in written.nodes) <= 1


@pytest.mark.parametrize("name", [name for name, case in ALL.items() if case.wants])
def test_int8_operators_are_used(name: str, int8: Made) -> None:
    assert set(ALL[name].wants) <= {node.op for node in int8[name][1].nodes}


@pytest.mark.parametrize("name", ALL)
def test_shapes_and_types_are_what_a_run_gives(name: str, int8: Made) -> None:
    _, written, inputs, _ = int8[name]
    onnx.checker.check_model(
        write_graph(written, "int8", called(written.nodes, written.constants)), full_check=True
    )
    made = [out for node in written.nodes for out in node.outputs if out]
    assert set(made) <= set(written.tensors)
    shown = replace(written, outputs=tuple(made))
    for tensor, value in zip(made, run_graph(shown, inputs[:3], made), strict=True):
        said = written.tensors[tensor]
        assert said.dtype == value.dtype, tensor
        assert said.shape is not None, tensor
        assert tuple(3 if size == BATCH else size for size in said.shape) == value.shape, tensor


@pytest.mark.parametrize("name", ["conv 3x3", "conv 1d", "adaptive norm", "max pool", "mean", "add", "mul"])
def test_inputs_may_come_with_channels_last(name: str, int8: Made) -> None:
    graph, first, inputs, _ = int8[name]
    last = write_nhwc(graph, calibrate(graph, inputs), last=True).graph
    said = last.tensors["input"].shape
    assert said == (BATCH, *inputs.shape[2:], inputs.shape[1])
    found = run_graph(last, np.ascontiguousarray(np.moveaxis(inputs, 1, -1)), ["logits"])[0]
    assert_close(found, run_graph(first, inputs, ["logits"])[0], atol=1e-6)
    transposed = [node.op for node in last.nodes].count("Transpose")
    assert transposed < [node.op for node in first.nodes].count("Transpose")


@pytest.mark.parametrize("name", [name for name in CASES if "norm" in name])
def test_distances_stay_outputs(name: str, int8: Made) -> None:
    graph, written, inputs, _ = int8[name]
    (distance,) = distances(graph.nodes)
    assert written.outputs == ("logits", distance)
    real = replace(graph, outputs=written.outputs)
    wanted, found = (run_graph(each, inputs, [distance])[0] for each in (real, written))
    assert_close(found, wanted, atol=1e-3 * (1 + float(wanted.max())))


@pytest.mark.parametrize("name", ["conv, relu", "conv, relu6", "add, relu"])
def test_activations_cost_nothing(name: str, int8: Made) -> None:
    assert not {"Relu", "Clip"} & {node.op for node in int8[name][1].nodes}


def test_values_beyond_the_range_are_clipped_and_do_not_wrap_round(int8: Made) -> None:
    graph, written, inputs, step = int8["conv 1x1"]
    far = 3 * inputs
    ranges = calibrate(graph, inputs)
    wanted = np.clip(
        run_graph(graph, np.clip(far, *ranges.spans["input"]), ["logits"])[0], *ranges.spans["logits"]
    )
    assert_close(run_graph(written, far, ["logits"])[0], wanted, atol=3 * step)


def test_a_tensor_read_in_two_forms_is_made_once() -> None:
    """A residual around an elementwise function: bytes for the sum, floats for the function."""
    case = CASES["mul of channels"]
    graph, inputs = built(case), inputs_of(case)
    written = write_nhwc(graph, calibrate(graph, inputs), last=False).graph
    names = [out for node in written.nodes for out in node.outputs]
    assert len(set(names)) == len(names)
    ops: list[Any] = [node.op for node in written.nodes]
    assert ops.count("Transpose") == 2  # the input to the stem, the scores to be flattened
