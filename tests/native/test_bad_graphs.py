"""Graphs that the kernel cannot run: ONNX Runtime raises what is wrong, and nothing crashes."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import onnxruntime
import pytest

from leantta.graph.ir import Graph, Tensor
from leantta.runtime import kernel
from native.nodes import Array, Layer, inputs_of, native

PATHS = kernel.paths()
SUM = Layer("QLinearAdaptiveNormAdd", np.uint8, (3, 5, 7))
FLOAT = Layer("CalibratedNorm", np.float32, (7, 3, 5))
FILTER = Layer("QLinearFilterNorm", np.uint8, (3, 5, 7))
PER_CHANNEL = ("gamma", "beta", "ratio", "mean_weight", "var_weight")

pytestmark = pytest.mark.skipif(not PATHS, reason="this installation has no kernel: there was no compiler")

Change = Callable[[Graph, dict[str, Array]], tuple[Graph, dict[str, Array]]]


class Bad(NamedTuple):
    """What is done to a good graph and its inputs, and what must be said of it."""

    says: str
    change: Change
    layer: Layer = SUM


def constant(name: str, value: object, dtype: type = np.float32) -> Change:
    return lambda graph, inputs: (
        replace(graph, constants={**graph.constants, name: np.asarray(value, dtype)}),
        inputs,
    )


def attributes(**changes: object) -> Change:
    def change(graph: Graph, inputs: dict[str, Array]) -> tuple[Graph, dict[str, Array]]:
        (node,) = graph.nodes
        kept = {name: value for name, value in {**node.attributes, **changes}.items() if value is not None}
        return replace(graph, nodes=(replace(node, attributes=kept),)), inputs

    return change


def reshaped(**shapes: tuple[int, ...]) -> Change:
    """Other inputs, and a graph that says nothing of shapes, so that the kernel has to look."""

    def change(graph: Graph, inputs: dict[str, Array]) -> tuple[Graph, dict[str, Array]]:
        given = {name: np.zeros(shapes.get(name, x.shape), x.dtype) for name, x in inputs.items()}
        free = {
            name: replace(tensor, shape=tuple(f"{name}{i}" for i in range(given[name].ndim)))
            for name, tensor in graph.tensors.items()
            if name in given
        }
        like_u = replace(free["u"], shape=tuple(f"y{i}" for i in range(given["u"].ndim)))
        return replace(graph, tensors={**graph.tensors, **free, "y": like_u}), given

    return change


def eight_channels(graph: Graph, inputs: dict[str, Array]) -> tuple[Graph, dict[str, Array]]:
    given = graph.constants
    ones = {name: np.ones((8, *given[name].shape[1:]), np.float32) for name in PER_CHANNEL if name in given}
    if "flat" in given:
        ones["flat"] = np.array([*given["flat"][:-1], 8])
    return replace(graph, constants={**given, **ones}), inputs


def gamma_given(graph: Graph, inputs: dict[str, Array]) -> tuple[Graph, dict[str, Array]]:
    constants = dict(graph.constants)
    gamma = constants.pop("gamma")
    tensors = {**graph.tensors, "gamma": Tensor(gamma.dtype, gamma.shape)}
    changed = replace(graph, constants=constants, tensors=tensors, inputs=(*graph.inputs, "gamma"))
    return changed, {**inputs, "gamma": gamma}


def typed(name: str, dtype: type) -> Change:
    return lambda graph, inputs: (
        replace(graph, tensors={**graph.tensors, name: replace(graph.tensors[name], dtype=np.dtype(dtype))}),
        {**inputs, name: inputs[name].astype(dtype)},
    )


def node_inputs(cut: slice, *more: str) -> Change:
    def change(graph: Graph, inputs: dict[str, Array]) -> tuple[Graph, dict[str, Array]]:
        (node,) = graph.nodes
        return replace(graph, nodes=(replace(node, inputs=(*node.inputs[cut], *more)),)), inputs

    return change


BAD = {
    "u of another type": Bad(r"tensor\(float\).*\(u\)", typed("u", np.float32)),
    "u and r of two types": Bad("no kernel def ma", typed("r", np.int8)),
    "u of halves": Bad(r"tensor\(float16\).*\(u\)", typed("u", np.float16), FLOAT),
    "gamma of another type": Bad(r"tensor\(double\).*\(gamma\)", constant("gamma", np.ones(7), np.float64)),
    "a zero point of another type": Bad("no kernel def ma", constant("u_zero", 3, np.int8)),
    "two axes": Bad(r"u has the shape \(15, 7\); a batch, positions", reshaped(u=(15, 7), r=(15, 7))),
    "two axes of floats": Bad(r"u has the shape \(15, 7\); a batch", reshaped(u=(15, 7)), FLOAT),
    "seventeen axes": Bad("more than 16 axes", reshaped(u=(1,) * 16 + (7,), r=(1,) * 16 + (7,))),
    "no positions": Bad(r"\(1, 0, 5, 7\): no positions", reshaped(u=(1, 0, 5, 7), r=(1, 0, 5, 7))),
    "no positions of floats": Bad(r"\(1, 7, 0\): no positions", reshaped(u=(1, 7, 0)), FLOAT),
    "channels that are not those of gamma": Bad("with 7 channels; gamma has 8", eight_channels),
    "the same of floats": Bad("with 7 channels; gamma has 8", eight_channels, FLOAT),
    "other channels at run time": Bad(
        "with 6 channels; gamma has 7", reshaped(u=(1, 3, 5, 6), r=(1, 3, 5, 6))
    ),
    "beta that is not as long as gamma": Bad("beta has 8 values; gamma has 7", constant("beta", np.ones(8))),
    "gamma with one more axis": Bad(
        r"gamma has the shape \(7, 1\); .* column with 1", constant("gamma", [[1]] * 7)
    ),
    "weights without an axis": Bad(
        r"mean_weight has the shape \(7\); .* column with 2 axes", constant("mean_weight", [1] * 7)
    ),
    "gamma of floats with one axis less": Bad(
        r"gamma has the shape \(7, 1\); .* column with 3 axes", constant("gamma", [[1]] * 7), FLOAT
    ),
    "another shape of rows": Bad("its input flat is not", constant("flat", [0, 1, 7, 15], np.int64)),
    "rows of another rank": Bad(
        r"u has the shape \(1, 3, 5, 7\); its input flat has 3 axes", constant("flat", [0, 15, 7], np.int64)
    ),
    "an average that is a column": Bad(
        "average has the shape", constant("average", np.full((15, 1), 1 / 15))
    ),
    "axes in two rows": Bad(
        "its input positions is not a row", constant("positions", [[2, 3]], np.int64), FLOAT
    ),
    "a filter with one more axis": Bad(
        r"into has the shape \(14, 14, 1\)", constant("into", np.ones((14, 14, 1))), FILTER
    ),
    "weights of a filter in a row": Bad(
        r"weight has the shape \(14\)", constant("weight", np.ones(14)), FILTER
    ),
    "a constant that is NaN": Bad("one of its constants is not finite", constant("beta", [np.nan] * 7)),
    "an infinite weight": Bad("is not finite", constant("mean_weight", [[np.inf]] * 7)),
    "a scale whose squares overflow": Bad(
        "its r_scale is not between 1e-15 and 1e15", constant("r_scale", 1e30)
    ),
    "a constant whose squares overflow": Bad("or above 1e15", constant("gamma", [1e30] * 7)),
    "a scale that makes all infinite": Bad("its y_scale is not between", constant("y_scale", 1e-30)),
    "a ratio above 1": Bad("ratio is not between 0 and 1", constant("ratio", [2.9] * 7)),
    "a negative floor": Bad("attribute low is out of range", attributes(low=-1.0)),
    "a room without end": Bad("attribute room is out of range", attributes(room=1e30)),
    "steps of u that are too large": Bad("a step of u is too many of y", constant("u_scale", 1e4)),
    "steps of r that are too large": Bad("a step of r is too many of y", constant("r_scale", 1e4)),
    "a scale in a matrix": Bad("r must have one scale", constant("r_scale", [[0.1]])),
    "weights that are not as long": Bad(
        "var_weight has 1 values; gamma has 7", constant("var_weight", [1]), FLOAT
    ),
    "an average that is none": Bad(
        "its input average is not 1 / 15 everywhere", constant("average", np.full((1, 15), 2 / 15))
    ),
    "an average with one value off": Bad(
        "its input average is not", constant("average", [[1 / 15] * 14 + [0.5]])
    ),
    "an average of NaN": Bad("its input average is not", constant("average", np.full((1, 15), np.nan))),
    "an average of other positions": Bad(
        "its input flat is not the shape", constant("average", np.full((1, 16), 1 / 16))
    ),
    "other positions at run time": Bad(
        "whose means are not those of its input average", reshaped(u=(1, 4, 5, 7), r=(1, 4, 5, 7))
    ),
    "means over fewer axes": Bad(
        "it must be a column with 2 axes", constant("positions", [2], np.int64), FLOAT
    ),
    "fewer axes at run time": Bad(
        "whose means are not those of its input positions", reshaped(u=(1, 7, 3)), FLOAT
    ),
    "means over the channels": Bad(
        "its input positions is not all axes", constant("positions", [1, 2], np.int64), FLOAT
    ),
    "no channels": Bad("gamma has no channels", constant("gamma", [])),
    "gamma that is not a constant": Bad("its input gamma is not a constant", gamma_given),
    "a scale of 0": Bad("its u_scale is not above 0", constant("u_scale", 0)),
    "a negative scale": Bad("its y_scale is not above 0", constant("y_scale", -0.1)),
    "a scale that is no number": Bad("its r_scale is not above 0", constant("r_scale", np.nan)),
    "an infinite scale": Bad("its u_scale is not above 0", constant("u_scale", np.inf)),
    "scales per channel, but one zero point": Bad(
        "u must have one scale and one zero point, or 7", constant("u_scale", np.ones(7))
    ),
    "scales of other channels": Bad("u must have one scale", constant("u_scale", np.ones(5))),
    "a scale per channel of the residual": Bad("r must have one scale", constant("r_scale", np.ones(7))),
    "no scale": Bad("r must have one scale and one zero point", constant("r_scale", [])),
    "no zero point": Bad("y must have one scale and one zero point", constant("y_zero", [], np.uint8)),
    "a residual of another shape": Bad(
        r"r has the shape \(1, 2, 5, 7\) and u \(1, 3, 5, 7\)", reshaped(r=(1, 2, 5, 7))
    ),
    "a residual of another batch": Bad(r"r has the shape \(0, 3, 5, 7\)", reshaped(r=(0, 3, 5, 7))),
    "a residual of another rank": Bad(r"r has the shape \(1, 15, 7\)", reshaped(r=(1, 15, 7))),
    "an attribute that is missing": Bad("its attribute low is not a number", attributes(low=None)),
    "an attribute that is a text": Bad("its attribute room is not a number", attributes(room="much")),
    "an attribute that is NaN": Bad("its attribute rate is not a number", attributes(rate=float("nan"))),
    "an input too few": Bad("QLinearAdaptiveNormAdd", node_inputs(slice(None, -1))),
    "an input too many": Bad("QLinearAdaptiveNormAdd", node_inputs(slice(None), "gamma")),
    "an input that is left out": Bad("QLinearAdaptiveNormAdd", node_inputs(slice(None, -1), "")),
}


@pytest.mark.parametrize("body", [False, True], ids=["kernel alone", "with the body"])
@pytest.mark.parametrize("name", BAD)
def test_onnx_runtime_says_what_is_wrong(name: str, body: bool) -> None:
    bad = BAD[name]
    graph, inputs = bad.change(bad.layer.graph(), inputs_of(bad.layer, 1))
    for path in PATHS:
        with pytest.raises(Exception, match=rf"(?s)ONNXRuntimeError.*{bad.says}"):  # its errors have no base
            native(graph, path, body=body).run(None, inputs)


def test_an_error_leaves_the_session_usable() -> None:
    graph, wrong = reshaped(r=(1, 2, 5, 7))(SUM.graph(), inputs_of(SUM, 1))
    session = native(graph, PATHS[0])
    right = inputs_of(SUM, 2)
    before = session.run(None, right)
    with pytest.raises(Exception, match="they must be the same"):
        session.run(None, wrong)
    for one, other in zip(session.run(None, right), before, strict=True):
        assert one.tobytes() == other.tobytes()


def test_an_unknown_path_is_refused_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEANTTA_PATH", "mmx")
    with pytest.raises(Exception, match=f"LEANTTA_PATH asks for the path 'mmx'; .* {','.join(PATHS)}"):
        onnxruntime.SessionOptions().register_custom_ops_library(str(kernel.library()))


def test_an_unknown_path_falls_back_to_standard_operators(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LEANTTA_PATH", "sse9")
    assert not kernel.register(onnxruntime.SessionOptions())
    assert "asks for the path 'sse9'" in caplog.text
