"""The adaptive normalization as ONNX functions: one body in standard operators for each form of it.

A node of the domain `leantta` calls a function that the file itself carries, so any ONNX runtime executes it,
and a runtime that has a kernel of that name may run the kernel instead. Two gates times two forms:

    AdaptiveNorm, CalibratedNorm                  float32, (n, c, positions...)
    QLinearAdaptiveNorm, QLinearCalibratedNorm    bytes in and out, channels last: (n, positions..., c)

The int8 forms may do what follows in the same pass, as their names end: `Add` adds a second map of bytes,
`HardSwish` is the activation (ReLU and ReLU6 need nothing: the range of y clips). u has one scale and zero
point, or those of each channel. `native/` has the kernel.

Inputs are u, already normalised by the source statistics (see `leantta.export.prepare`), and constants per
channel; outputs are y and, for each sample, the distance S before the gate saturates it, (n, 1). The weight
of the sample is

    a = low + room * exp(rate * S)           low = (1 - tau)(1 - lambda), room = (1 - tau) lambda,
                                             rate = -(1 - tau)^2: the paper's gate
    a = low + max(0, room - room / S)        low = floor, room = ceiling - floor: the calibrated one

Every operator of a body costs start-up time and memory once per layer, so a body has as few as possible:
constants come in the shape in which they are used, and a product with `average`, (1, L) filled with 1 / L, is
the fastest mean over channels-last positions.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from leantta.graph import depthwise
from leantta.graph.ir import LOCAL, OPSET, Array, Node

_OPEN_FLOAT = """
    mean = ReduceMean (u, positions)
    square = Mul (u, u)
    mean_square = ReduceMean (square, positions)
    channels = Constant <value_ints = [1]> ()
"""
_OPEN_INT8 = """
    x = DequantizeLinear <axis = -1> (u, u_scale, u_zero)
    rows = Reshape (x, flat)
    mean = MatMul (average, rows)
    square = Mul (rows, rows)
    mean_square = MatMul (average, square)
"""
_SHIFT = """
    squared_mean = Mul (mean, mean)
    raw_var = Sub (mean_square, squared_mean)
    var = Relu (raw_var)
    excess = Sub (var, ratio)
"""
_MEAN_FLOAT = """
    mean_terms = Mul (mean_weight, squared_mean)
    total = ReduceSum (mean_terms, channels)
"""
_MEAN_INT8 = """
    total = MatMul (squared_mean, mean_weight)
"""
_BOTH_FLOAT = """
    mean_terms = Mul (mean_weight, squared_mean)
    squared_excess = Mul (excess, excess)
    var_terms = Mul (var_weight, squared_excess)
    terms = Add (mean_terms, var_terms)
    total = ReduceSum (terms, channels)
"""
_BOTH_INT8 = """
    mean_total = MatMul (squared_mean, mean_weight)
    squared_excess = Mul (excess, excess)
    var_total = MatMul (squared_excess, var_weight)
    total = Add (mean_total, var_total)
"""
_PAPER = """
    low_value = Constant <value_float: float = @low> ()
    room_value = Constant <value_float: float = @room> ()
    rate_value = Constant <value_float: float = @rate> ()
    exponent = Mul (total, rate_value)
    near = Exp (exponent)
    part = Mul (room_value, near)
    weight = Add (low_value, part)
"""
_CALIBRATED = """
    low_value = Constant <value_float: float = @low> ()
    room_value = Constant <value_float: float = @room> ()
    least = Constant <value_float = 1e-30> ()
    safe_total = Max (total, least)
    shrunk = Div (room_value, safe_total)
    rest = Sub (room_value, shrunk)
    part = Relu (rest)
    weight = Add (low_value, part)
"""
_CLOSE = """
    moved_var = Mul (weight, excess)
    one = Constant <value_float = 1.0> ()
    new_var = Add (one, moved_var)
    deviation = Sqrt (new_var)
    scale = Div (gamma, deviation)
    moved_mean = Mul (weight, mean)
    drop = Mul (scale, moved_mean)
    offset = Sub (beta, drop)
    scaled = Mul (x, scale)
    distance = Flatten <axis = 1> (total)
"""
_END_FLOAT = """
    y = Add (scaled, offset)
"""
_NORMAL = """
    normal = Add (scaled, offset)
"""
_ADD = """
    other = DequantizeLinear (r, r_scale, r_zero)
    summed = Add (normal, other)
"""
_HARD_SWISH = """
    active = HardSwish ({0})
"""
_END_INT8 = """
    y = QuantizeLinear ({0}, y_scale, y_zero)
"""
_CLOSE_FLOAT = _CLOSE.replace("Mul (x, scale)", "Mul (u, scale)")


class _Gate(NamedTuple):
    attributes: str
    weights: str
    distance_float: str
    distance_int8: str
    weight: str


_GATES = {
    "Adaptive": _Gate("low, room, rate, layer", "mean_weight", _MEAN_FLOAT, _MEAN_INT8, _PAPER),
    "Calibrated": _Gate("low, room, layer", "mean_weight, var_weight", _BOTH_FLOAT, _BOTH_INT8, _CALIBRATED),
}


def _function(name: str, inputs: str, attributes: str, *parts: str) -> onnx.FunctionProto:
    head = f'<domain: "{LOCAL}", opset_import: ["" : {OPSET}]>'
    return parser.parse_function(
        f"{head} {name} <{attributes}> ({inputs}) => (y, distance) {{ {''.join(parts)} }}"
    )


def _float_function(name: str, gate: _Gate) -> onnx.FunctionProto:
    parts = (_OPEN_FLOAT, _SHIFT, gate.distance_float, gate.weight, _CLOSE_FLOAT, _END_FLOAT)
    inputs = f"u, positions, gamma, beta, ratio, {gate.weights}"
    return _function(f"{name}Norm", inputs, gate.attributes, *parts)


def _int8_function(name: str, gate: _Gate, *, adds: bool, hard_swish: bool) -> onnx.FunctionProto:
    inputs = f"u, u_scale, u_zero, y_scale, y_zero, average, flat, gamma, beta, ratio, {gate.weights}"
    parts = [_OPEN_INT8, _SHIFT, gate.distance_int8, gate.weight, _CLOSE, _NORMAL]
    end = "normal"
    if adds:
        inputs += ", r, r_scale, r_zero"
        parts.append(_ADD)
        end = "summed"
    if hard_swish:
        parts.append(_HARD_SWISH.format(end))
        end = "active"
    ends = int8_name(f"{name}Norm", adds=adds, hard_swish=hard_swish)
    return _function(ends, inputs, gate.attributes, *parts, _END_INT8.format(end))


def int8_name(norm: str, *, adds: bool = False, hard_swish: bool = False) -> str:
    """Return the int8 form of a normalization.

    >>> int8_name("AdaptiveNorm", adds=True)
    'QLinearAdaptiveNormAdd'
    """
    return f"QLinear{norm}{'Add' if adds else ''}{'HardSwish' if hard_swish else ''}"


FUNCTIONS: Mapping[str, onnx.FunctionProto] = {
    function.name: function
    for name, gate in _GATES.items()
    for function in (
        _float_function(name, gate),
        *(
            _int8_function(name, gate, adds=adds, hard_swish=hard_swish)
            for adds in (False, True)
            for hard_swish in (False, True)
        ),
    )
}

CONSTANTS = ("gamma", "beta", "ratio", "mean_weight", "var_weight")
"""What a layer has per channel, in the order of the functions' inputs; the last is the calibrated gate's."""

NORMS = ("AdaptiveNorm", "CalibratedNorm")
"""The float forms, as the exporter writes them."""


def float_constants(rank: int, values: Sequence[Array]) -> list[Array]:
    """Return `positions` and the constants per channel as the float forms take them, for u of that rank."""
    column = (-1, *(1,) * (rank - 2))
    return [np.arange(2, rank), *(value.reshape(column) for value in values)]


def int8_constants(shape: Sequence[int], values: Sequence[Array]) -> list[Array]:
    """Return `average`, `flat` and the constants per channel as the int8 forms take them.

    `shape` is that of u without the batch, channels first; `values` are as the float forms take them.
    """
    channels, *positions = shape
    count = int(np.prod(positions))
    gamma, beta, ratio, *weights = (value.reshape(-1) for value in values)
    flat = np.array([0, *(1,) * (len(positions) - 1), count, channels])
    columns = [weight.reshape(-1, 1) for weight in weights]
    return [np.full((1, count), 1 / count, np.float32), flat, gamma, beta, ratio, *columns]


def is_norm(node: Node) -> bool:
    """Tell whether the node is an adaptive normalization."""
    return node.domain == LOCAL and node.op != depthwise.DEPTHWISE


def distances(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the tensors with the distances of the normalizations, in the order of the nodes."""
    return tuple(node.outputs[1] for node in nodes if is_norm(node))


def called(nodes: tuple[Node, ...]) -> list[onnx.FunctionProto]:
    """Return the functions that the nodes call."""
    known = {**FUNCTIONS, depthwise.DEPTHWISE: depthwise.FUNCTION}
    return [known[name] for name in sorted({node.op for node in nodes if node.domain == LOCAL})]


def inline(node: Node) -> tuple[list[Node], dict[str, Array]]:
    """Return the standard operators that a node of ours stands for, named after it, and their constants."""
    function = FUNCTIONS[node.op]
    group = f"{node.name}/{node.op}"
    names = dict(zip(function.input, node.inputs, strict=True))
    names |= dict(zip(function.output, node.outputs, strict=True))
    nodes: list[Node] = []
    constants: dict[str, Array] = {}

    def outer(name: str) -> str:
        return str(names.setdefault(name, f"{group}/{name}"))

    for proto in function.node:
        if proto.op_type == "Constant":
            constants[outer(proto.output[0])] = _value(proto.attribute[0], node.attributes)
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        nodes.append(
            Node(
                proto.op_type,
                tuple(outer(name) for name in proto.input),
                tuple(outer(name) for name in proto.output),
                attributes,
                f"{group}/{proto.output[0]}",
            )
        )
    return nodes, constants


def _value(attribute: onnx.AttributeProto, given: Mapping[str, Any]) -> Array:
    """Return the value of a Constant in a body, where it may stand for an attribute of the calling node."""
    if attribute.ref_attr_name:
        return np.asarray(given[attribute.ref_attr_name], np.float32)
    if attribute.name == "value_float":
        return np.asarray(attribute.f, np.float32)
    if attribute.name == "value_ints":
        return np.asarray(attribute.ints, np.int64)
    return numpy_helper.to_array(attribute.t)
