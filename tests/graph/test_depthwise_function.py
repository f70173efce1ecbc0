"""The function of the depthwise convolution is ONNX Runtime's operator, with the library and without."""

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from leantta.graph.depthwise import DEPTHWISE, FUNCTION, INPUTS, depthwise_attributes, is_fast
from leantta.graph.ir import CONTRIB, LOCAL, Graph, Node, Tensor, write_graph
from leantta.runtime.kernel import register

GIVEN: dict[str, Any] = {"group": 16, "kernel_shape": [3, 3]}


def model(attributes: dict[str, Any]) -> onnx.ModelProto:
    """One depthwise convolution of 16 channels and nothing else."""
    random = np.random.default_rng(0)
    constants: dict[str, NDArray[Any]] = {
        "x_scale": np.asarray(0.02, np.float32),
        "x_zero": np.asarray(117, np.uint8),
        "w": random.integers(-127, 128, (16, 1, *attributes["kernel_shape"]), np.int8),
        "w_scale": random.uniform(1e-3, 2e-3, 16).astype(np.float32),
        "w_zero": np.asarray(0, np.int8),
        "y_scale": np.asarray(0.03, np.float32),
        "y_zero": np.asarray(101, np.uint8),
        "bias": random.integers(-9999, 9999, 16).astype(np.int32),
    }
    shape = Tensor(np.dtype(np.uint8), ("n", "h", "w", 16))
    ours = Node(DEPTHWISE, INPUTS, ("y",), depthwise_attributes(attributes), "layer", LOCAL)
    graph = Graph((ours,), constants, {"x": shape, "y": shape}, ("x",), ("y",))
    return write_graph(graph, "layer", [FUNCTION])


def plain(made: onnx.ModelProto) -> onnx.ModelProto:
    """The same with ONNX Runtime's own operator."""
    made = onnx.ModelProto.FromString(made.SerializeToString())
    del made.functions[:]
    node = made.graph.node[0]
    node.domain, node.op_type = CONTRIB, "QLinearConv"
    node.attribute.append(onnx.helper.make_attribute("channels_last", 1))
    made.opset_import.append(onnx.helper.make_opsetid(CONTRIB, 1))
    return made


def run(made: onnx.ModelProto, *, native: bool) -> NDArray[np.uint8]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if native:
        register(options)
    session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).integers(0, 256, (2, 9, 8, 16)).astype(np.uint8)
    y: NDArray[np.uint8] = session.run(["y"], {"x": x})[0]
    return y


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"strides": [1, 2], "pads": [0, 1, 2, 3]},
        {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]},
    ],
)
def test_the_function_is_that_operator(more: dict[str, Any], native: bool) -> None:
    made = model(GIVEN | more)
    onnx.checker.check_model(made, full_check=True)
    found, wanted = run(made, native=native), run(plain(made), native=False)
    assert len(np.unique(wanted)) > 50
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("more", "fast"),
    [
        ({}, True),
        ({"kernel_shape": [5, 5], "strides": [2, 2], "dilations": [1, 1], "auto_pad": "NOTSET"}, True),
        ({"group": 15}, False),
        ({"kernel_shape": [3]}, False),
        ({"kernel_shape": [7, 7]}, False),
        ({"strides": [1, 2]}, False),
        ({"dilations": [2, 2]}, False),
        ({"auto_pad": "SAME_UPPER"}, False),
    ],
)
def test_what_the_kernel_has_vectors_for(more: dict[str, Any], fast: bool) -> None:
    assert is_fast(GIVEN | more) is fast
