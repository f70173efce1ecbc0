"""Graphs as values: what is read is what is written, and what cannot be read is refused."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from leantta.errors import UnsupportedModelError
from leantta.graph.functions import called, float_constants
from leantta.graph.ir import (
    BATCH,
    IR_VERSION,
    LOCAL,
    OPSET,
    Graph,
    Node,
    Tensor,
    full_shape,
    read_graph,
    write_graph,
)
from reference import assert_close

FLOAT = np.dtype(np.float32)
Array = np.ndarray[Any, np.dtype[Any]]


def small() -> Graph:
    """A convolution with a ReLU, and a constant that nothing reads."""
    random = np.random.default_rng(0)
    return Graph(
        nodes=(
            Node(
                "Conv", ("input", "kernel"), ("conv",), {"pads": [1, 1, 1, 1], "auto_pad": "NOTSET"}, "conv"
            ),
            Node("Clip", ("conv", "", "six"), ("logits",), {}, "clip"),
        ),
        constants={
            "kernel": random.normal(size=(4, 3, 3, 3)).astype(np.float32),
            "six": np.asarray(6, np.float32),
            "spare": np.arange(5),
        },
        tensors={
            "input": Tensor(FLOAT, (BATCH, 3, 5, 5)),
            "conv": Tensor(FLOAT, (BATCH, 4, 5, 5)),
            "logits": Tensor(FLOAT, (BATCH, 4, 5, 5)),
        },
        inputs=("input",),
        outputs=("logits",),
    )


def assert_same_arrays(found: Mapping[str, Array], wanted: Mapping[str, Array]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].dtype == value.dtype, name
        np.testing.assert_array_equal(found[name], value)


def test_a_graph_survives_writing_and_reading():
    graph = small()
    again = read_graph(write_graph(graph, "small"))
    assert again.nodes == graph.nodes
    assert dict(again.tensors) == dict(graph.tensors)
    assert (again.inputs, again.outputs) == (graph.inputs, graph.outputs)
    assert_same_arrays(again.constants, graph.constants)


def test_what_is_written_is_valid_and_runs():
    graph = small().without_unused_constants()
    model = write_graph(graph, "small", metadata={"colour": "green"})
    onnx.checker.check_model(model, full_check=True)
    assert (model.ir_version, {o.domain: o.version for o in model.opset_import}) == (IR_VERSION, {"": OPSET})
    assert {p.key: p.value for p in model.metadata_props} == {"colour": "green"}
    session = ort.InferenceSession(model.SerializeToString())
    for batch in (1, 3):
        assert session.run(None, {"input": np.ones((batch, 3, 5, 5), np.float32)})[0].shape == (
            batch,
            4,
            5,
            5,
        )


def test_transposed_constants_are_written_as_they_look():
    values = np.arange(6, dtype=np.float32).reshape(2, 3).T  # not in C order
    graph = Graph(
        (Node("Add", ("input", "values"), ("out",)),),
        {"values": values},
        {"input": Tensor(FLOAT, (BATCH, 2)), "out": Tensor(FLOAT, (3, 2))},
        ("input",),
        ("out",),
    )
    session = ort.InferenceSession(write_graph(graph, "g").SerializeToString())
    assert_close(session.run(None, {"input": np.zeros((3, 2), np.float32)})[0], values, atol=0)


def test_unused_constants_are_dropped_and_the_graph_stays():
    graph = small()
    assert list(graph.without_unused_constants().constants) == ["kernel", "six"]
    assert "spare" in graph.constants


def test_uses_and_producers_count_every_reader():
    graph = small()
    assert graph.uses() == {"input": 1, "kernel": 1, "conv": 1, "six": 1, "logits": 1}
    assert {name: node.op for name, node in graph.producers().items()} == {"conv": "Conv", "logits": "Clip"}


def test_constant_nodes_become_constants():
    floats = numpy_helper.from_array(np.array([[1.5]], np.float32))
    nodes = [
        helper.make_node("Constant", [], ["a"], value=floats),
        helper.make_node("Constant", [], ["b"], value_ints=[1, -1]),
        helper.make_node("Constant", [], ["c"], value_float=0.25),
        helper.make_node("Constant", [], ["d"], value_floats=[1.0, 2.0]),
        helper.make_node("Reshape", ["input", "b"], ["out"]),
    ]
    graph = read_graph(_model(nodes))
    assert [node.op for node in graph.nodes] == ["Reshape"]
    wanted = {
        "a": np.array([[1.5]], np.float32),
        "b": np.array([1, -1]),
        "c": np.asarray(0.25, np.float32),
        "d": np.array([1, 2], np.float32),
    }
    assert_same_arrays(graph.constants, wanted)


def test_initializers_listed_as_inputs_are_no_inputs():
    model = _model([helper.make_node("Add", ["input", "w"], ["out"])])
    model.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    assert read_graph(model).inputs == ("input",)


def test_a_graph_that_decides_at_run_time_is_refused():
    branch = helper.make_graph(
        [helper.make_node("Identity", ["input"], ["y"])],
        "branch",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    node = helper.make_node("If", ["condition"], ["out"], then_branch=branch, else_branch=branch)
    with pytest.raises(UnsupportedModelError, match=r"decides at run time .*\(If\)"):
        read_graph(_model([node]))


def test_functions_are_written_with_the_graph_that_calls_them():
    shaped = float_constants(4, [np.ones(3, np.float32)] * 4)
    constants = dict(zip(("positions", "gamma", "beta", "ratio", "mean_weight"), shaped, strict=True))
    graph = Graph(
        (
            Node(
                "AdaptiveNorm",
                ("input", *constants),
                ("y", "y.distance"),
                {"low": 0.01, "room": 0.09, "rate": -0.01, "layer": "bn"},
                "bn",
                LOCAL,
            ),
        ),
        constants,
        {
            "input": Tensor(FLOAT, (BATCH, 3, 2, 2)),
            "y": Tensor(FLOAT, (BATCH, 3, 2, 2)),
            "y.distance": Tensor(FLOAT, (BATCH, 1)),
        },
        ("input",),
        ("y", "y.distance"),
    )
    model = write_graph(graph, "g", called(graph.nodes, graph.constants))
    onnx.checker.check_model(model, full_check=True)
    assert [f.name for f in model.functions] == ["AdaptiveNorm"]
    assert {o.domain: o.version for o in model.opset_import} == {"": OPSET, LOCAL: 1}
    again = read_graph(model)
    assert again.nodes[0].attributes["layer"] == "bn"  # text, not bytes
    assert again.nodes[0].attributes["room"] == pytest.approx(0.09)


def test_a_first_axis_becomes_the_batch():
    assert full_shape((2, 3, 4)) == (BATCH, 3, 4)


def _model(nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [BATCH, 2])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
