"""The native depthwise convolution gives the bytes of ONNX Runtime's own, and refuses what it cannot do."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leantta.graph.depthwise import DEPTHWISE, FUNCTION, INPUTS
from leantta.graph.ir import CONTRIB, LOCAL, Graph, Node, Tensor, write_graph
from leantta.runtime.kernel import library, paths, register

pytestmark = pytest.mark.skipif(library() is None, reason="this installation has no native kernel")

Array = NDArray[Any]
Bytes = NDArray[np.uint8]
OWN = "ONNX Runtime's own"
PATHS = tuple(path for path in paths() if path != "neon")
"""NEON has no such operator: it was not measured to be faster than ONNX Runtime's own."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A convolution and what goes into it; seeds stand for arrays."""

    channels: int = 16
    positions: tuple[int, ...] = (6, 6)
    batch: int = 1
    kernel: tuple[int, ...] = (3, 3)
    strides: tuple[int, ...] = (1, 1)
    pads: tuple[int, ...] = (1, 1, 1, 1)
    x_zero: int = 117
    y_zero: int = 101
    scale: float = 1e-3  # of the sums, in steps of y
    extreme: bool = False  # only the largest weights and inputs
    seed: int = 0
    changed: Mapping[str, Array] = field(default_factory=dict)  # constants
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def constants(self) -> dict[str, Array]:
        """All inputs but x."""
        random = np.random.default_rng(self.seed)
        weights = random.integers(-127, 128, (self.channels, 1, *self.kernel), np.int8)
        spread = random.uniform(0.5, 2, self.channels)
        made: dict[str, Array] = {
            "x_scale": np.asarray(0.02, np.float32),
            "x_zero": np.asarray(self.x_zero, np.uint8),
            "w": np.where(weights < 0, np.int8(-127), np.int8(127)) if self.extreme else weights,
            "w_scale": np.asarray(self.scale * spread * (0.03 / 0.02), np.float32),
            "w_zero": np.asarray(0, np.int8),
            "y_scale": np.asarray(0.03, np.float32),
            "y_zero": np.asarray(self.y_zero, np.uint8),
            "bias": random.integers(-20000, 20000, self.channels).astype(np.int32),
        }
        return made | dict(self.changed)

    @property
    def x(self) -> Bytes:
        """The input."""
        shape = (self.batch, *self.positions, self.channels)
        x = np.random.default_rng(self.seed + 1).integers(0, 256, shape).astype(np.uint8)
        return np.where(x < 128, np.uint8(0), np.uint8(255)) if self.extreme else x

    def opened(self, path: str, *, threads: int = 1, carries_function: bool = False) -> ort.InferenceSession:
        """Return a session with the layer, computed in one of the ways of PATHS or by ONNX Runtime."""
        domain, op = (CONTRIB, "QLinearConv") if path == OWN else (LOCAL, DEPTHWISE)
        attributes = {
            "kernel_shape": list(self.kernel),
            "strides": list(self.strides),
            "pads": list(self.pads),
            "group": self.channels,
            **({"channels_last": 1} if path == OWN else {}),
            **self.attributes,
        }
        constants = {name: value for name, value in self.constants.items() if value.size}
        axes = ("n", *(f"d{i}" for i in range(len(self.kernel) + 1)))
        tensors = {"x": Tensor(np.dtype(np.uint8), axes), "y": Tensor(np.dtype(np.uint8), None)}
        inputs = ["x"]
        for name in INPUTS[1:]:
            if name not in constants:  # changed to nothing: it is given at run time
                tensors[name] = Tensor(np.dtype(np.int8), None)
                inputs.append(name)
        node = Node(op, INPUTS, ("y",), attributes, "layer", domain)
        graph = Graph((node,), constants, tensors, tuple(inputs), ("y",))
        model = write_graph(graph, "layer", [FUNCTION] if carries_function else [])
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads
        if path != OWN:
            with mock.patch.dict(os.environ, {"LEANTTA_PATH": path}):
                assert register(options)
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def result(self, path: str, *, threads: int = 1) -> Bytes:
        """Return y."""
        y: Bytes = self.opened(path, threads=threads).run(["y"], {"x": self.x})[0]
        return y


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    usual = draw(st.booleans())  # has vectors
    size = draw(st.sampled_from([3, 5]))
    kernel = (size, size) if usual else draw(st.tuples(*[st.integers(1, 6)] * 2))
    stride = draw(st.integers(1, 2))
    strides = (stride, stride) if usual else draw(st.tuples(*[st.integers(1, 4)] * 2))
    pads = draw(st.one_of(st.just((size // 2,) * 4), st.tuples(*[st.integers(0, 4)] * 4)))
    least = [max(1, k - before - after) for k, before, after in zip(kernel, pads[:2], pads[2:], strict=True)]
    return Layer(
        channels=draw(st.sampled_from([1, 3, 15, 16, 17, 32, 40, 144])),
        positions=tuple(draw(st.integers(low, low + 10)) for low in least),
        batch=draw(st.sampled_from([1, 3])),
        kernel=kernel,
        strides=strides,
        pads=pads,
        x_zero=draw(st.sampled_from([0, 1, 117, 255])),
        y_zero=draw(st.sampled_from([0, 101, 255])),
        scale=10 ** draw(st.floats(-6, 4)),
        extreme=draw(st.booleans()),
        seed=draw(st.integers(0, 10**6)),
    )


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=100, deadline=None)
@given(layer=layers())
@example(layer=Layer(extreme=True, x_zero=0, kernel=(5, 5), pads=(2, 2, 2, 2), scale=1e-4))
@example(layer=Layer(positions=(1, 1), channels=144))
@example(layer=Layer(positions=(1, 9), strides=(2, 2)))
@example(layer=Layer(positions=(9, 1), pads=(0, 1, 0, 1)))
@example(layer=Layer(scale=1e8))
@example(layer=Layer(scale=1e-12))
@example(layer=Layer(changed={"x_scale": np.asarray(1e-30, np.float32)}, scale=1e-20))
def test_bytes_are_those_of_onnx_runtime(path: str, layer: Layer) -> None:
    np.testing.assert_array_equal(layer.result(path), layer.result(OWN))


def test_results_say_something() -> None:
    for layer in (Layer(), Layer(extreme=True, scale=2e-4), Layer(kernel=(5, 5), pads=(2, 2, 2, 2))):
        assert len(np.unique(layer.result(OWN))) > 50


@pytest.mark.parametrize("path", PATHS)
def test_sequences(path: str) -> None:
    layer = Layer(channels=24, positions=(20,), kernel=(5,), strides=(2,), pads=(2, 1))
    np.testing.assert_array_equal(layer.result(path), layer.result(OWN))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_large_maps_in_threads(path: str, batch: int, stride: int) -> None:
    layer = Layer(channels=40, positions=(61, 70), batch=batch, strides=(stride, stride))
    np.testing.assert_array_equal(layer.result(path, threads=3), layer.result(OWN))


@pytest.mark.parametrize("path", PATHS)
def test_an_empty_batch(path: str) -> None:
    assert Layer(batch=0, strides=(2, 2)).result(path).shape == (0, 3, 3, 16)


@pytest.mark.parametrize("path", PATHS)
def test_one_scale_for_all_channels(path: str) -> None:
    layer = Layer(changed={"w_scale": np.asarray(0.002, np.float32)})
    np.testing.assert_array_equal(layer.result(path), layer.result(OWN))


@pytest.mark.parametrize("path", PATHS)
def test_a_channel_of_zeros_may_have_any_scale(path: str) -> None:
    weights, scale = Layer(channels=32).constants["w"].copy(), np.full(32, 1e-3, np.float32)
    weights[5], scale[5] = 0, 1e6
    layer = Layer(channels=32, changed={"w": weights, "w_scale": scale})
    np.testing.assert_array_equal(layer.result(path), layer.result(OWN))


@pytest.mark.parametrize("path", [path for path in paths() if path not in PATHS])  # arm64 alone has one
def test_paths_that_were_not_measured_leave_the_layer_to_onnx_runtime(path: str) -> None:
    with pytest.raises(Exception, match=DEPTHWISE):
        Layer().opened(path)
    y = Layer().opened(path, carries_function=True).run(["y"], {"x": Layer().x})[0]
    np.testing.assert_array_equal(y, Layer().result(OWN))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Layer(changed={"w": np.zeros((16, 2, 3, 3), np.int8)}), r"w has the shape \(16, 2, 3, 3\)"),
        (Layer(changed={"w": np.zeros((0, 1, 3, 3), np.int8)}), "w is not a constant"),
        (Layer(changed={"w_zero": np.asarray(3, np.int8)}), "w_zero is not 0"),
        (Layer(changed={"bias": np.zeros(15, np.int32)}), "bias has 15 values; w has 16 channels"),
        (Layer(changed={"bias": np.zeros((16, 1), np.int32)}), r"bias has the shape \(16, 1\)"),
        (Layer(changed={"w_scale": np.ones(3, np.float32)}), "w_scale has 3 values"),
        (Layer(changed={"x_zero": np.zeros(2, np.uint8)}), "x_zero has 2 values"),
        (Layer(changed={"y_scale": np.asarray(0, np.float32)}), "not finite for channel 0"),
        (Layer(changed={"x_scale": np.asarray(np.nan, np.float32)}), "not finite for channel 0"),
        (Layer(changed={"bias": np.zeros(16, np.int64)}), "INVALID_GRAPH.*bias"),
        (Layer(attributes={"dilations": [2, 2]}), "dilations is not 1"),
        (Layer(attributes={"strides": [0, 1]}), "strides has a 0"),
        (Layer(attributes={"strides": [1]}), "strides has 1 values, not 2"),
        (Layer(attributes={"pads": [-1, 0, 0, 0]}), "pads is out of range"),
        (Layer(attributes={"pads": [2**40, 0, 0, 0]}), "pads is out of range"),
        (Layer(attributes={"kernel_shape": [5, 5]}), "kernel_shape is not the shape of w"),
        (Layer(attributes={"group": 1}), "group is 1; w has 16 channels"),
    ],
)
def test_wrong_nodes_are_refused(wrong: Layer, message: str) -> None:
    with pytest.raises(Exception, match=message):
        wrong.opened("scalar")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 6, 6, 15), r"\(1, 6, 6, 15\).*16 channels are needed"),
        ((1, 6, 6, 17), "16 channels are needed"),
        ((1, 0, 0, 16), "smaller than the kernel"),
        ((1, 2, 6, 16), "smaller than the kernel"),
    ],
)
def test_wrong_inputs_are_refused(path: str, shape: tuple[int, ...], message: str) -> None:
    session = replace(Layer(), pads=(0, 0, 0, 0)).opened(path)
    with pytest.raises(Exception, match=f"{DEPTHWISE}: .*{message}"):
        session.run(["y"], {"x": np.zeros(shape, np.uint8)})


def test_wrong_types_of_inputs_are_refused() -> None:
    with pytest.raises(Exception, match="Unexpected input data type"):
        Layer().opened("scalar").run(["y"], {"x": np.zeros((1, 6, 6, 16), np.int8)})
