"""Channels last: sums, products, functions of each value, changes of shape; in int8 or else in float32."""

import numpy as np

from leantta.graph.ir import CONTRIB, Node, Tensor
from leantta.quantize.lowering import (
    FLOAT,
    INT_LAST,
    NO_RULE,
    READS_CONSTANT,
    READS_FLOAT,
    REAL,
    REAL_LAST,
    Edges,
    Form,
    Refused,
)

UNARY = (
    *("Relu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Neg"),
    *("Abs", "Elu", "LeakyRelu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "Gelu", "Reciprocal"),
)
CHANNELS_SECOND = Refused("is written for channels second")
WEIGHED = ("Conv", "ConvTranspose", "Gemm")
BINARY = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow")


def sum_or_product(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a sum of two maps, or a product of a map with one value per channel."""
    a, b = node.inputs
    if a in edges.graph.constants or b in edges.graph.constants:
        return READS_CONSTANT
    shapes = edges.shape(a), edges.shape(b)
    if len(shapes[0]) != len(shapes[1]):
        return Refused("its sides have different ranks")
    if shapes[0] == shapes[1] and node.op == "Mul":
        return Refused("no int8 product of two maps")
    enough = all if shapes[0] == shapes[1] else any
    if not enough(map(edges.is_int, (a, b))):
        return READS_FLOAT
    inputs = [
        *(edges.get(a, INT_LAST), *edges.affine_names(a)),
        *(edges.get(b, INT_LAST), *edges.affine_names(b)),
        *edges.affine_names(out),
    ]
    edges.write(f"QLinear{node.op}", inputs, out, INT_LAST, domain=CONTRIB)
    return None


def move(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a change of shape: in bytes if they are bytes, and transposed only where that is needed."""
    x = node.inputs[0]
    if edges.graph.tensors[out].dtype != FLOAT or x in edges.graph.constants:
        return Refused("moves sizes or constants")
    quantized = edges.is_int(x)
    before, after = edges.shape(x), edges.shape(out)
    flattens = node.op in ("Reshape", "Flatten") and all(d == 1 for d in before[2:]) and len(after) == 2
    source = Form(quantized, flattens and edges.is_last(x))
    if quantized:
        edges.same_bytes(out, x)
    inputs = [edges.get(x, source), *(edges.get(name, REAL) for name in node.inputs[1:])]
    edges.write(node.op, inputs, out, Form(quantized, False), node.attributes)
    return None


def elementwise(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a function of each value in float32, in the layout that the values have."""
    constants = edges.graph.constants
    if node.op not in (*UNARY, *BINARY):
        return NO_RULE
    rank = len(edges.shape(out))
    moving = [name for name in node.inputs if name and name not in constants]
    if any(len(edges.shape(name)) != rank for name in moving) or not any(map(edges.is_last, moving)):
        return CHANNELS_SECOND
    inputs = []
    for name in node.inputs:
        if not name or name not in constants:
            inputs.append(name and edges.get(name, REAL_LAST))
            continue
        value = constants[name]
        if value.ndim > 1:  # (c, 1, 1) and the like
            value = np.moveaxis(value.reshape((1,) * (rank - value.ndim) + value.shape), 1, -1)
        elif value.size > 1:
            return CHANNELS_SECOND
        inputs.append(edges.constant(f"{name}/last", value))
    edges.write(node.op, inputs, out, REAL_LAST, node.attributes)
    return None


def batch_of(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a question about the size of the batch, which every form answers."""
    if (node.attributes.get("start", 0), node.attributes.get("end")) != (0, 1):
        return CHANNELS_SECOND
    held = next(iter(edges.forms[node.inputs[0]].values()))
    edges.write("Shape", [held], out, REAL, node.attributes)
    return None


def guarded(edges: Edges, real: str, tensor: Tensor) -> str:
    """Return floats behind an operation that does nothing, so that weights which multiply them stay floats.

    ONNX Runtime rounds the weights of a layer between two roundings of its own accord, one scale for all.
    """
    name = f"{real}/float"
    if name in edges.tensors:  # another layer reads it, too
        return name
    least = edges.constant("least", np.asarray(np.finfo(np.float32).min, np.float32))
    return edges.emit("Max", [real, least], (name, tensor))


def as_it_was(edges: Edges, node: Node) -> None:
    """Write a node in float32, channels second, as it was in the graph."""
    inputs = [name and edges.get(name, REAL) for name in node.inputs]
    if node.op in WEIGHED and node.inputs[1] in edges.graph.constants:
        inputs[0] = guarded(edges, inputs[0], edges.graph.tensors[node.inputs[0]])
    edges.nodes.append(Node(node.op, tuple(inputs), node.outputs, node.attributes, node.name, node.domain))
    for name in node.outputs:
        if name:
            edges.tensors[name] = edges.graph.tensors[name]
            edges.put(name, REAL, name)
