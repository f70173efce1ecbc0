"""One small graph for each operation, built so that what goes into the operation is exact in bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, shape_inference

from leantta.graph.depthwise import DEPTHWISE
from leantta.graph.functions import float_constants
from leantta.graph.ir import BATCH, IR_VERSION, LOCAL, OPSET, Graph, Node, Tensor, read_graph, write_graph

Array = NDArray[Any]

STEP = 1 / 64
"""Of the inputs: every value is a whole number of steps, and all 256 of them occur."""

MAP, SEQUENCE, VOLUME = (4, 6, 6), (4, 12), (4, 3, 4, 4)


@dataclass(frozen=True, kw_only=True)
class Case:
    """An operation on `x` (and its mirror image `-x` as `z`), ending in scores."""

    nodes: Sequence[Node]
    constants: Mapping[str, Array] = field(default_factory=dict)
    shape: tuple[int, ...] = MAP
    steps: float = 1.01  # allowed difference, in steps of the output's bytes
    portable_steps: float | None = None  # the same where each operation is rounded for itself
    int8: bool = True  # must be computed on bytes alone
    wants: tuple[str, ...] = ()  # operations that the int8 graph must have
    whole: bool = True  # "out" is flattened to be the scores


def weight(*shape: int, seed: int = 0) -> Array:
    scale = np.prod(shape[1:]) ** -0.5
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def node(op: str, *inputs: str, out: str = "out", **attributes: Any) -> Node:
    return Node(op, inputs, (out,), attributes, out)


def conv(*shape: int, bias: bool = True, **attributes: Any) -> dict[str, Any]:
    names = ("x", "w", "b") if bias else ("x", "w")
    constants = {"w": weight(*shape)}
    if bias:
        constants["b"] = np.linspace(-1, 1, shape[0], dtype=np.float32)
    return {
        "nodes": [node("Conv", *names, **attributes)],
        "constants": constants,
        "wants": ("QLinearConv",),
        "steps": 3,  # weights are rounded too, by up to a step
    }


def depthwise(**more: Any) -> dict[str, Any]:
    return {**conv(16, 1, 3, 3, group=16, **more), "shape": (16, 6, 6), "wants": (DEPTHWISE,)}


def normed(op: str, shape: tuple[int, ...] = MAP) -> dict[str, Any]:
    random = np.random.default_rng(3)
    each = 1.0 if op == "AdaptiveNorm" else 0.5
    values = [random.uniform(0.5, 1.5, 4), random.normal(size=4), np.full(4, 0.999), np.full(4, each)]
    names = ["positions", "gamma", "beta", "ratio", "mean_weight"]
    attributes: dict[str, Any] = {"low": 0.15, "room": 0.15, "rate": -0.09, "layer": "bn"}
    if op == "CalibratedNorm":
        values, names = [*values, np.full(4, 0.5)], [*names, "var_weight"]
        attributes = {"low": 0.1, "room": 0.5, "layer": "bn"}
    if op == "FilterNorm":
        into, back = random.normal(0, 0.3, (8, 3)), random.normal(0, 0.3, (3, 8))
        values, names = (
            [*values[:3], into, back, np.full((3, 1), 0.3)],
            [*names[:4], "into", "back", "weight"],
        )
        attributes = {"shrink": 0.1, "layer": "bn"}
    shaped = float_constants(len(shape) + 1, [value.astype(np.float32) for value in values])
    made = Node(op, ("x", *names), ("out", "out.distance"), attributes, "out", LOCAL)
    return {
        "nodes": [made],
        "constants": dict(zip(names, shaped, strict=True)),
        "shape": shape,
        "wants": (f"QLinear{op}",),
        "int8": False,
    }


def norm_then(*after: Node, wants: str, op: str = "AdaptiveNorm", **settings: Any) -> dict[str, Any]:
    """A normalization of x as "n", and what comes after it."""
    made = normed(op)
    (first,) = made["nodes"]
    nodes = [replace(first, outputs=("n", "n.distance"), name="n"), *after]
    return {**made, "nodes": nodes, "wants": (wants,), "portable_steps": 12, **settings}


def reduced(op: str, axes: Sequence[int], keepdims: int, **settings: Any) -> dict[str, Any]:
    made = node(op, "x", "axes", keepdims=keepdims)
    return {"nodes": [made], "constants": {"axes": np.array(axes)}, **settings}


AXIS_ONE: Mapping[str, Array] = {"axis": np.array([1])}
GATE = [node("GlobalAveragePool", "x", out="seen"), node("Sigmoid", "seen", out="gate")]

CASES: dict[str, Case] = {
    "conv 3x3": Case(**conv(6, 4, 3, 3)),
    "conv without bias": Case(**conv(6, 4, 3, 3, bias=False)),
    "conv 1x1": Case(**conv(6, 4, 1, 1)),
    "conv padded, strided": Case(**conv(6, 4, 3, 3, pads=[1, 0, 2, 1], strides=[2, 1])),
    "conv dilated": Case(**conv(6, 4, 3, 3, dilations=[2, 2], pads=[2, 2, 2, 2])),
    "conv grouped": Case(**conv(6, 2, 3, 3, group=2)),
    "conv depthwise": Case(**conv(4, 1, 3, 3, group=4, pads=[1, 1, 1, 1])),
    "conv of many channels, depthwise": Case(**depthwise(pads=[1, 1, 1, 1], strides=[2, 2])),
    "conv of many channels, depthwise, without bias": Case(**depthwise(bias=False)),
    "conv to one channel": Case(**conv(1, 4, 3, 3)),
    "conv 1d": Case(**conv(6, 4, 5, pads=[2, 2], strides=[2]), shape=SEQUENCE),
    "conv 1d depthwise": Case(**conv(4, 1, 5, group=4), shape=SEQUENCE),
    "conv 3d": Case(**{**conv(6, 4, 2, 2, 2), "wants": ()}, shape=VOLUME, int8=False),
    "conv, relu": Case(
        **{**conv(6, 4, 3, 3), "nodes": [node("Conv", "x", "w", "b", out="c"), node("Relu", "c")]}
    ),
    "conv, relu6": Case(
        nodes=[node("Conv", "x", "w", out="c"), node("Clip", "c", "low", "high")],
        constants={
            "w": 4 * weight(6, 4, 3, 3),
            "low": np.asarray(0, np.float32),
            "high": np.asarray(6, np.float32),
        },
        steps=3,
        wants=("QLinearConv",),
    ),
    "conv, clip above zero": Case(
        nodes=[node("Conv", "x", "w", out="c"), node("Clip", "c", "low")],
        constants={"w": weight(6, 4, 3, 3), "low": np.asarray(0.5, np.float32)},
        steps=3,
        int8=False,
    ),
    "adaptive norm": Case(**normed("AdaptiveNorm")),
    "adaptive norm 1d": Case(**normed("AdaptiveNorm", SEQUENCE)),
    "adaptive norm 3d": Case(**normed("AdaptiveNorm", VOLUME)),
    "calibrated norm": Case(**normed("CalibratedNorm")),
    "filter norm": Case(**normed("FilterNorm")),
    "filter norm 1d": Case(**normed("FilterNorm", SEQUENCE)),
    "filter norm, add": Case(
        **norm_then(node("Add", "n", "z"), op="FilterNorm", wants="QLinearFilterNormAdd")
    ),
    "norm, relu": Case(**norm_then(node("Relu", "n"), wants="QLinearAdaptiveNorm")),
    "norm, hard-swish": Case(**norm_then(node("HardSwish", "n"), wants="QLinearAdaptiveNormHardSwish")),
    "norm, add": Case(**norm_then(node("Add", "n", "z"), wants="QLinearAdaptiveNormAdd")),
    "norm, add, other order": Case(**norm_then(node("Add", "z", "n"), wants="QLinearAdaptiveNormAdd")),
    "norm, add, relu": Case(
        **norm_then(node("Add", "n", "z", out="s"), node("Relu", "s"), wants="QLinearAdaptiveNormAdd")
    ),
    "norm, add, hard-swish": Case(
        **norm_then(
            node("Add", "n", "x", out="s"), node("HardSwish", "s"), wants="QLinearAdaptiveNormAddHardSwish"
        )
    ),
    "calibrated norm, add": Case(
        **norm_then(node("Add", "n", "z"), op="CalibratedNorm", wants="QLinearCalibratedNormAdd")
    ),
    "norm, add to what comes later": Case(
        **norm_then(
            node("MaxPool", "z", out="p", kernel_shape=[1, 1]),
            node("Add", "n", "p"),
            wants="QLinearAdd",
            steps=2,
        )
    ),
    "norm, add to itself": Case(**norm_then(node("Add", "n", "n"), wants="QLinearAdd", steps=2)),
    "norm, add of channels": Case(
        **norm_then(
            node("GlobalAveragePool", "z", out="g"), node("Add", "n", "g"), wants="QLinearAdd", steps=2
        )
    ),
    "norm read twice": Case(
        **norm_then(node("Relu", "n", out="r"), node("Add", "n", "r"), wants="QLinearAdaptiveNorm", steps=2)
    ),
    "add": Case(
        nodes=[node("Add", "x", "z", out="s"), node("Add", "s", "x")], wants=("QLinearAdd",), steps=2
    ),
    "add 1d": Case(nodes=[node("Add", "x", "x")], wants=("QLinearAdd",), shape=SEQUENCE),
    "add, relu": Case(nodes=[node("Add", "x", "x", out="s"), node("Relu", "s")], wants=("QLinearAdd",)),
    "add of channels": Case(
        nodes=[node("GlobalAveragePool", "x", out="seen"), node("Add", "x", "seen")],
        wants=("QLinearAdd", "QLinearGlobalAveragePool"),
        steps=2,
    ),
    "mul of channels": Case(
        nodes=[*GATE, node("Mul", "x", "gate")], wants=("QLinearMul",), int8=False, steps=2
    ),
    "mul of channels, other order": Case(
        nodes=[*GATE, node("Mul", "gate", "x")], wants=("QLinearMul",), int8=False, steps=2
    ),
    "mul": Case(nodes=[node("Mul", "x", "z")], int8=False),
    "max pool": Case(
        nodes=[node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])], wants=("NhwcMaxPool",)
    ),
    "max pool padded": Case(
        nodes=[node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], storage_order=0)],
        wants=("NhwcMaxPool",),
    ),
    "max pool, odd size": Case(
        nodes=[node("MaxPool", "x", kernel_shape=[4, 4], strides=[3, 3], ceil_mode=1)], wants=("NhwcMaxPool",)
    ),
    "max pool 1d": Case(nodes=[node("MaxPool", "x", kernel_shape=[2])], shape=SEQUENCE, int8=False),
    "average pool": Case(
        nodes=[node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 1])], wants=("QLinearAveragePool",)
    ),
    "average pool padded": Case(
        nodes=[node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)],
        wants=("QLinearAveragePool",),
    ),
    "average pool padded, uncounted": Case(
        nodes=[node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=0)],
        wants=("QLinearAveragePool",),
    ),
    "average pool 1d": Case(nodes=[node("AveragePool", "x", kernel_shape=[2])], shape=SEQUENCE, int8=False),
    "global average": Case(nodes=[node("GlobalAveragePool", "x")], wants=("QLinearGlobalAveragePool",)),
    "global average 1d": Case(
        nodes=[node("GlobalAveragePool", "x")], wants=("QLinearGlobalAveragePool",), shape=SEQUENCE
    ),
    "mean": Case(**reduced("ReduceMean", [2, 3], 0, wants=("QLinearGlobalAveragePool",))),
    "mean, axes kept": Case(**reduced("ReduceMean", [-1, -2], 1, wants=("QLinearGlobalAveragePool",))),
    "mean 1d": Case(**reduced("ReduceMean", [2], 0, wants=("QLinearGlobalAveragePool",)), shape=SEQUENCE),
    "mean of rows": Case(**reduced("ReduceMean", [3], 0, int8=False)),
    "mean of channels": Case(**reduced("ReduceMean", [1], 1, int8=False)),
    "largest": Case(**reduced("ReduceMax", [2, 3], 0)),
    "largest, axes kept": Case(**reduced("ReduceMax", [2, 3], 1)),
    "largest of rows": Case(**reduced("ReduceMax", [-1], 0)),
    "largest of columns, then rows": Case(
        nodes=[
            node("ReduceMax", "x", "three", out="m", keepdims=0),
            node("ReduceMax", "m", "two", keepdims=0),
        ],
        constants={"three": np.array([3]), "two": np.array([2])},
    ),
    "largest of channels": Case(**reduced("ReduceMax", [1], 1, int8=False)),
    **{
        f"{op}, {'kept' if keepdims else 'dropped'}": Case(**reduced(op, [2, 3], keepdims, int8=False))
        for op in ("ReduceMin", "ReduceSum", "ReduceL2", "ReduceSumSquare")
        for keepdims in (0, 1)
    },
    "resize, nearest": Case(
        nodes=[node("Resize", "x", "", "s", mode="nearest", coordinate_transformation_mode="asymmetric")],
        constants={"s": np.array([1, 1, 2, 3], np.float32)},
        wants=("Resize",),
    ),
    "resize, linear": Case(
        nodes=[node("Resize", "x", "", "s", mode="linear", coordinate_transformation_mode="half_pixel")],
        constants={"s": np.array([1, 1, 2, 2], np.float32)},
        wants=("Resize",),
        steps=1.3,  # the fraction of a byte is cut off
    ),
    "resize, cubic": Case(
        nodes=[node("Resize", "x", "", "s", mode="cubic")],
        constants={"s": np.array([1, 1, 2, 2], np.float32)},
        int8=False,
    ),
    "pad": Case(
        nodes=[node("Pad", "x", "p")], constants={"p": np.array([0, 1, 2, 0, 0, 2, 1, 3])}, wants=("Pad",)
    ),
    "pad, reflected": Case(
        nodes=[node("Pad", "x", "p", mode="reflect")],
        constants={"p": np.array([0, 0, 2, 1, 0, 0, 1, 3])},
        wants=("Pad",),
    ),
    "split": Case(
        nodes=[
            Node("Split", ("x", "s"), ("a", "b"), {"axis": 1}, "a"),
            node("Concat", "b", "z", "a", axis=1),
        ],
        constants={"s": np.array([1, 3])},
        wants=("Split", "QLinearConcat"),
    ),
    "transposed conv": Case(
        nodes=[node("ConvTranspose", "x", "w", "b", strides=[2, 3], kernel_shape=[2, 3])],
        constants={"w": weight(4, 5, 2, 3), "b": np.linspace(-1, 1, 5, dtype=np.float32)},
        wants=("QLinearConv",),
        steps=3,
    ),
    "transposed conv, relu": Case(
        nodes=[
            node("ConvTranspose", "x", "w", out="c", strides=[2, 2], kernel_shape=[2, 2]),
            node("Relu", "c"),
        ],
        constants={"w": weight(4, 3, 2, 2)},
        wants=("QLinearConv",),
        steps=3,
    ),
    "transposed conv that overlaps": Case(
        nodes=[node("ConvTranspose", "x", "w", strides=[2, 2], kernel_shape=[3, 3])],
        constants={"w": weight(4, 3, 3, 3)},
        int8=False,
        steps=3,
    ),
    "concat": Case(nodes=[node("Concat", "x", "z", axis=1)], wants=("QLinearConcat",)),
    "concat of rows": Case(nodes=[node("Concat", "x", "z", axis=-1)], wants=("QLinearConcat",)),
    "concat of other ranges": Case(
        nodes=[node("Conv", "x", "w", out="c"), node("Concat", "c", "x", axis=1)],
        constants={"w": 3 * weight(2, 4, 1, 1)},
        wants=("QLinearConcat",),
        steps=2.5,
    ),
    "linear": Case(
        nodes=[
            node("GlobalAveragePool", "x", out="seen"),
            node("Flatten", "seen", out="flat", axis=1),
            node("Gemm", "flat", "w", "b", out="logits", transB=1),
        ],
        constants={"w": weight(5, 4), "b": np.linspace(-1, 1, 5, dtype=np.float32)},
        wants=("QGemm",),
        steps=3,
        whole=False,
    ),
    "linear, twice": Case(
        nodes=[
            node("Flatten", "x", out="flat", axis=1),
            node("Gemm", "flat", "w", "b", out="hidden", transB=1),
            node("Relu", "hidden", out="active"),
            node("Gemm", "active", "v", out="logits"),
        ],
        constants={"w": weight(7, 144), "b": np.linspace(-1, 1, 7, dtype=np.float32), "v": weight(7, 3)},
        wants=("QGemm",),
        steps=4,
        whole=False,
    ),
    "product": Case(
        nodes=[node("MatMul", "x", "w")],
        constants={"w": weight(12, 5)},
        shape=SEQUENCE,
        wants=("MatMulIntegerToFloat",),
        int8=False,
        steps=3,
    ),
    "product with a bias": Case(
        nodes=[
            node("Flatten", "x", out="flat", axis=1),
            node("MatMul", "flat", "w", out="p"),
            node("Add", "p", "b"),
        ],
        constants={"w": weight(144, 5), "b": np.linspace(-1, 1, 5, dtype=np.float32)},
        wants=("MatMulIntegerToFloat",),
        int8=False,
        steps=3,
    ),
    "product of two tensors": Case(
        nodes=[node("Transpose", "z", out="t", perm=[0, 2, 1]), node("MatMul", "x", "t")],
        shape=SEQUENCE,
        int8=False,
    ),
    "reshape": Case(nodes=[node("Reshape", "x", "to")], constants={"to": np.array([0, 2, -1])}),
    "reshape by the batch": Case(
        nodes=[
            node("Shape", "x", out="size", start=0, end=1),
            node("Concat", "size", "rest", out="to", axis=0),
            node("Reshape", "x", "to"),
        ],
        constants={"rest": np.array([144])},
    ),
    "flatten": Case(nodes=[node("Flatten", "x", axis=1)]),
    "flatten what is pooled": Case(
        nodes=[node("GlobalAveragePool", "x", out="p"), node("Flatten", "p", axis=1)]
    ),
    "transpose": Case(nodes=[node("Transpose", "x", perm=[0, 2, 3, 1])]),
    "squeeze": Case(
        nodes=[node("GlobalAveragePool", "x", out="p"), node("Squeeze", "p", "axes")],
        constants={"axes": np.array([2, 3])},
    ),
    "unsqueeze": Case(
        nodes=[node("Unsqueeze", "x", "axes")], constants={"axes": np.array([2])}, shape=SEQUENCE
    ),
    "slice": Case(
        nodes=[node("Slice", "x", "from", "to", "axes")],
        constants={"from": np.array([1]), "to": np.array([3]), "axes": np.array([1])},
    ),
    "identity": Case(nodes=[node("Identity", "x")]),
    "linear, relu": Case(
        nodes=[
            node("Flatten", "x", out="flat", axis=1),
            node("Gemm", "flat", "w", out="h", transB=1),
            node("Relu", "h", out="logits"),
        ],
        constants={"w": weight(5, 144)},
        wants=("QGemm",),
        int8=False,
        steps=3,
        whole=False,
    ),
    "linear with a factor, relu": Case(
        nodes=[
            node("Flatten", "x", out="flat", axis=1),
            node("Gemm", "flat", "w", out="h", transB=1, alpha=0.5),
            node("Relu", "h", out="active"),
            node("Gemm", "active", "v", out="logits"),
        ],
        constants={"w": weight(7, 144), "v": weight(7, 3)},
        int8=False,
        steps=4,
        whole=False,
    ),
    "product, sum, relu": Case(
        nodes=[
            node("Flatten", "x", out="flat", axis=1),
            node("MatMul", "flat", "w", out="p"),
            node("Add", "p", "b", out="s"),
            node("Relu", "s", out="active"),
            node("MatMul", "active", "v", out="logits"),
        ],
        constants={"w": weight(144, 7), "b": np.linspace(-1, 1, 7, dtype=np.float32), "v": weight(7, 3)},
        int8=False,
        steps=4,
        whole=False,
    ),
    "sum with a constant, relu, exp": Case(
        nodes=[node("Add", "x", "c", out="s"), node("Relu", "s", out="r"), node("Exp", "r")],
        constants={"c": np.asarray(0.5, np.float32)},
        int8=False,
    ),
    "sum of floats, relu, neg": Case(
        nodes=[
            node("Tanh", "x", out="a"),
            node("Erf", "z", out="b"),
            node("Add", "a", "b", out="s"),
            node("Relu", "s", out="r"),
            node("Neg", "r"),
        ],
        int8=False,
    ),
    "sum of bytes and floats, relu, exp": Case(
        nodes=[
            node("Sigmoid", "x", out="a"),
            node("Mul", "x", "a", out="m"),
            node("Add", "m", "x", out="s"),
            node("Relu", "s", out="r"),
            node("Exp", "r"),
        ],
        int8=False,
        steps=1.5,
    ),
    "conv 3d, relu": Case(
        nodes=[node("Conv", "x", "w", out="c"), node("Relu", "c")],
        constants={"w": weight(6, 4, 2, 2, 2)},
        shape=VOLUME,
        int8=False,
        steps=3.5,
    ),
    "softmax": Case(nodes=[node("Softmax", "x", axis=1)], int8=False),
}

POSITIVE = [node("Sigmoid", "x", out="p")]
"""Elementwise functions are tried on values between 0 and 1, where all of them are defined."""


def elementwise(op: str) -> Case:
    inputs = ("p", "low", "high") if op == "Clip" else ("p",)
    limits = {"low": np.asarray(0.2, np.float32), "high": np.asarray(0.7, np.float32)}
    return Case(
        nodes=[*POSITIVE, node(op, *inputs)],
        constants=limits if op == "Clip" else {},
        int8=False,
    )


def of_two(op: str, second: str) -> Case:
    values: dict[str, Array] = {
        "number": np.asarray(0.75, np.float32),
        "channels": np.linspace(0.5, 1.5, 4, dtype=np.float32).reshape(4, 1, 1),
        "full": np.random.default_rng(0).uniform(0.5, 1.5, (1, *MAP)).astype(np.float32),
        "columns": np.linspace(0.5, 1.5, 6, dtype=np.float32),
    }
    nodes = [*POSITIVE, node("Exp", "z", out="q"), node(op, "p", "q" if second == "tensor" else second)]
    return Case(nodes=nodes, constants=values if second != "tensor" else {}, int8=False)


def built(case: Case) -> Graph:
    """The graph of a case: exact copies x and z = -x of the input, the operation, flat scores."""
    channels, rank = case.shape[0], len(case.shape) + 1
    same = np.eye(channels, dtype=np.float32).reshape(channels, channels, *(1,) * (rank - 2))
    stem = [node("Conv", "input", "same", out="x"), node("Conv", "input", "mirror", out="z")]
    tail = [node("Flatten", "out", out="logits", axis=1)] if case.whole else []
    used = {name for each in case.nodes for name in each.inputs}
    nodes = [*(each for each in stem if each.outputs[0] in used), *case.nodes, *tail]
    constants = {"same": same, "mirror": -same, **case.constants}
    model = helper.make_model(
        helper.make_graph(
            [_proto(each) for each in nodes],
            "case",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, [BATCH, *case.shape])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)],
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(LOCAL, 1)],
        ir_version=IR_VERSION,
    )
    whole = Graph(tuple(nodes), constants, read_graph(model).tensors, ("input",), ("logits",))
    known = {**whole.tensors, **_norm_outputs(case)}
    inferred = shape_inference.infer_shapes(
        write_graph(Graph(tuple(nodes), constants, known, ("input",), ("logits",)), "case"), data_prop=True
    )
    graph = read_graph(inferred).without_unused_constants()
    tensors = {
        name: replace(each, shape=(BATCH, *each.shape[1:]))  # a resize gives the axis another name
        if each.shape and isinstance(each.shape[0], str)
        else each
        for name, each in graph.tensors.items()
    }
    return replace(graph, tensors=tensors)


def _norm_outputs(case: Case) -> dict[str, Tensor]:
    real = np.dtype(np.float32)
    found = {}
    for each in case.nodes:
        if each.domain == LOCAL:
            found[each.outputs[0]] = Tensor(real, (BATCH, *case.shape))
            found[each.outputs[1]] = Tensor(real, (BATCH, 1))
    return found


def _proto(each: Node) -> Any:
    return helper.make_node(
        each.op, each.inputs, each.outputs, name=each.name, domain=each.domain, **each.attributes
    )


def inputs_of(case: Case, count: int = 8) -> NDArray[np.float32]:
    """Inputs that bytes hold exactly, from the least to the largest."""
    random = np.random.default_rng(5)
    steps = random.normal(0, 40, (count, *case.shape)).round().clip(-128, 127)
    steps[0].reshape(case.shape[0], -1)[:, :2] = -128, 127  # every channel reaches both
    steps[1:].reshape(count - 1, -1)[:, :2] = -128, 127
    return (STEP * steps).astype(np.float32)
