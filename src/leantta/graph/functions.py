"""The adaptive normalization as ONNX functions: one body in standard operators for each form of it.

A node of the domain `leantta` calls a function that the file itself carries, so any ONNX runtime executes it,
and a runtime that has a kernel of that name may run the kernel instead. Each gate brings its own operator
(see `leantta.gates.gate.Operator`), and each operator has two forms. Those of our gates:

    AdaptiveNorm, CalibratedNorm                  float32, (n, c, positions...)
    QLinearAdaptiveNorm, QLinearCalibratedNorm    bytes in and out, channels last: (n, positions..., c)

The int8 forms may do what follows in the same pass, as their names end: `Add` adds a second map of bytes,
`HardSwish` is the activation (ReLU and ReLU6 need nothing: the range of y clips). u has one scale and zero
point, or those of each channel. `native/` has the kernel.

Inputs are u, already normalised by the source statistics (see `leantta.export.prepare`), and constants per
channel; outputs are y and, for each sample, the distance S before the gate saturates it, (n, 1).

A channel whose `ratio` is 0 is dead (see `leantta.functional.alive`): its mean and variance count as those of
the source. Only functions that are called with such channels have operators for it.

Every operator of a body costs start-up time and memory once per layer, so a body has as few as possible:
constants come in the shape in which they are used, and a product with `average`, (1, L) filled with 1 / L, is
the fastest mean over channels-last positions.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import onnx
from onnx import parser

from leantta.gates.gate import Gate, Operator
from leantta.gates.table import GATES
from leantta.graph import depthwise
from leantta.graph.ir import LOCAL, OPSET, Array, Node
from leantta.graph.shift import CONSTANTS, SHIFT_OF_DISTANCES, shift_function

_OPEN_FLOAT = """
    {mean} = ReduceMean (u, positions)
    square = Mul (u, u)
    mean_square = ReduceMean (square, positions)
    channels = Constant <value_ints = [1]> ()
"""
_OPEN_INT8 = """
    x = DequantizeLinear <axis = -1> (u, u_scale, u_zero)
    rows = Reshape (x, flat)
    {mean} = MatMul (average, rows)
    square = Mul (rows, rows)
    mean_square = MatMul (average, square)
"""
_SHIFT = """
    squared_mean = Mul (mean, mean)
    raw_var = Sub (mean_square, squared_mean)
    {var} = Relu (raw_var)
"""
_EXCESS = """
    excess = Sub (var, ratio)
"""
_ALIVE_MEAN = """
    is_alive = Cast <to = 9> (ratio)
    nothing = Constant <value_float = 0.0> ()
    mean = Where (is_alive, any_mean, nothing)
"""
_ALIVE_VAR = """
    var = Where (is_alive, any_var, nothing)
"""
_SCALE = """
    deviation = Sqrt (new_var)
    scale = Div (gamma, deviation)
"""
_CLOSE = """
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


def function(
    name: str, attributes: Sequence[str], inputs: Sequence[str], outputs: str, *parts: str
) -> onnx.FunctionProto:
    """Return the function whose body is these parts, in ONNX's own text."""
    head = f'<domain: "{LOCAL}", opset_import: ["" : {OPSET}]> {name} <{", ".join((*attributes, "layer"))}>'
    return parser.parse_function(f"{head} ({', '.join(inputs)}) => ({outputs}) {{ {''.join(parts)} }}")


def _shift(opening: str, has_dead: bool) -> str:
    """Return the pieces that set mean and variance; with dead channels, those of the source there."""
    if not has_dead:
        return opening.format(mean="mean") + _SHIFT.format(var="var") + _EXCESS
    any_var = opening.format(mean="any_mean") + _ALIVE_MEAN + _SHIFT.format(var="any_var")
    return any_var + _ALIVE_VAR + _EXCESS


def _float_function(operator: Operator, attributes: Sequence[str], *, has_dead: bool) -> onnx.FunctionProto:
    opening = _shift(_OPEN_FLOAT, has_dead)
    parts = (opening, operator.in_float, *_normalizing(operator, _CLOSE_FLOAT), _END_FLOAT)
    inputs = ["u", "positions", *SHARED, *operator.constants]
    return function(operator.name, attributes, *_ends(operator, inputs), *parts)


def _int8_function(
    operator: Operator, attributes: Sequence[str], *, adds: bool, hard_swish: bool, has_dead: bool
) -> onnx.FunctionProto:
    inputs = ["u", "u_scale", "u_zero", "y_scale", "y_zero", "average", "flat", *SHARED, *operator.constants]
    opening = _shift(_OPEN_INT8, has_dead)
    parts = [opening, operator.in_int8, *_normalizing(operator, _CLOSE), _NORMAL]
    end = "normal"
    if adds:
        inputs += ["r", "r_scale", "r_zero"]
        parts.append(_ADD)
        end = "summed"
    if hard_swish:
        parts.append(_HARD_SWISH.format(end))
        end = "active"
    name = int8_name(operator.name, adds=adds, hard_swish=hard_swish)
    return function(name, attributes, *_ends(operator, inputs), *parts, _END_INT8.format(end))


def _ends(operator: Operator, inputs: Sequence[str]) -> tuple[list[str], str]:
    """Return inputs and outputs of a form; one with a memory takes and returns it, as the last of each."""
    if operator.streams:
        return [*inputs, "before"], "y, distance, after"
    return [*inputs], "y, distance"


def _normalizing(operator: Operator, close: str) -> tuple[str, ...]:
    """Return the pieces from the raw distance to the scaled u."""
    return operator.after, operator.new_var, _SCALE, operator.moved_mean, close


def int8_name(norm: str, *, adds: bool = False, hard_swish: bool = False) -> str:
    """Return the int8 form of a normalization.

    >>> int8_name("AdaptiveNorm", adds=True)
    'QLinearAdaptiveNormAdd'
    """
    return f"QLinear{norm}{'Add' if adds else ''}{'HardSwish' if hard_swish else ''}"


SHARED = ("gamma", "beta", "ratio")
"""What every layer has per channel; the constants of its gate come behind, in the order of the operator's."""


LENGTH = "length"
"""The attribute of a form with a memory that says how many inputs it counts for, at most."""


def functions_of(gate: Gate, *, has_dead: bool = False) -> Mapping[str, onnx.FunctionProto]:
    """Return all forms of a gate's operator by name, the float form first; with or without dead channels."""
    forms = _forms(gate.operator, tuple(gate.attributes()), has_dead)
    if gate.stream_operator is None:
        return forms
    return {**forms, **_forms(gate.stream_operator, (*gate.attributes(), LENGTH), has_dead)}


@cache
def _forms(operator: Operator, attributes: tuple[str, ...], has_dead: bool) -> dict[str, onnx.FunctionProto]:
    forms = [
        _float_function(operator, attributes, has_dead=has_dead),
        *(
            _int8_function(operator, attributes, adds=adds, hard_swish=hard_swish, has_dead=has_dead)
            for adds in (False, True)
            for hard_swish in (False, True)
        ),
    ]
    return {form.name: form for form in forms}


_DEFAULTS = [kind.default() for kind in GATES.values()]
_GATE_OF: Mapping[str, Gate] = {name: gate for gate in _DEFAULTS for name in functions_of(gate)}

FUNCTIONS: Mapping[str, onnx.FunctionProto] = {n: functions_of(gate)[n] for n, gate in _GATE_OF.items()}
"""All forms of the gates in the table, for layers without dead channels."""

NORM = "Norm"


def kind_of(node: Node) -> str:
    """Return what rules know a node by: its operator, or `NORM` for an adaptive normalization of any gate."""
    return NORM if is_norm(node) else node.op


def float_constants(rank: int, values: Sequence[Array]) -> list[Array]:
    """Return `positions` and a layer's constants as the float forms take them, for u of that rank."""
    per_channel, column = values[0].shape, (-1, *(1,) * (rank - 2))
    # A matrix is none per channel, however many values it has: one of (c, 1) may have a row per direction.
    return [np.arange(2, rank), *(v.reshape(column) if v.shape == per_channel else v for v in values)]


def int8_constants(shape: Sequence[int], values: Sequence[Array]) -> list[Array]:
    """Return `average`, `flat` and a layer's constants as the int8 forms take them.

    `shape` is that of u without the batch, channels first; `values` are as the float forms take them.
    """
    channels, *positions = shape
    count = int(np.prod(positions))
    flat = np.array([0, *(1,) * (len(positions) - 1), count, channels])
    rows = [value.reshape(-1) for value in values[: len(SHARED)]]
    others = [v.reshape(-1, 1) if v.size == channels else v for v in values[len(SHARED) :]]
    return [np.full((1, count), 1 / count, np.float32), flat, *rows, *others]


def is_norm(node: Node) -> bool:
    """Tell whether the node is an adaptive normalization."""
    return node.domain == LOCAL and node.op not in (depthwise.DEPTHWISE, SHIFT_OF_DISTANCES)


def distances(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the tensors with the distances of the normalizations, in the order of the nodes."""
    return tuple(node.outputs[1] for node in nodes if is_norm(node))


def called(nodes: Sequence[Node], constants: Mapping[str, Array]) -> list[onnx.FunctionProto]:
    """Return the functions that the nodes call; `constants` are the graph's.

    Nodes of one name share a function, so one that has dead channels decides for all of them.
    """
    ours = [node for node in nodes if node.domain == LOCAL]
    with_dead = {node.op for node in ours if has_dead_channels(node, constants)}
    functions = {node.op: function_of(node, node.op in with_dead) for node in ours}
    return [functions[name] for name in sorted(functions)]


def function_of(node: Node, has_dead: bool) -> onnx.FunctionProto:
    """Return the function that a node of ours calls; with or without dead channels."""
    if node.op == depthwise.DEPTHWISE:
        return depthwise.FUNCTION
    if node.op == SHIFT_OF_DISTANCES:
        return shift_function(len(node.inputs) - len(CONSTANTS))
    return functions_of(node.gate or _GATE_OF[node.op], has_dead=has_dead)[node.op]


def has_dead_channels(node: Node, constants: Mapping[str, Array]) -> bool:
    """Tell whether a node of ours has dead channels, those with a ratio of zero."""
    if not is_norm(node):
        return False
    ratio = constants.get(node.inputs[list(function_of(node, False).input).index("ratio")])
    return ratio is not None and not ratio.all()
