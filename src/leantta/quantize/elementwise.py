"""Int8, channels last: sums, products, functions of each value, and changes of shape."""

import numpy as np

from leantta.graph.ir import CONTRIB, Node
from leantta.quantize.lowering import FLOAT, INT_LAST, REAL, REAL_LAST, Edges, Form

UNARY = (
    *("Relu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Neg"),
    *("Abs", "Elu", "LeakyRelu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "Gelu", "Reciprocal"),
)
BINARY = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow")


def sum_or_product(edges: Edges, node: Node, out: str) -> bool:
    """Write a sum of two maps, or a product of a map with one value per channel."""
    a, b = node.inputs
    if a in edges.graph.constants or b in edges.graph.constants:
        return False
    shapes = edges.shape(a), edges.shape(b)
    if len(shapes[0]) != len(shapes[1]):
        return False
    if shapes[0] == shapes[1]:
        if node.op == "Mul" or not (edges.is_int(a) and edges.is_int(b)):
            return False
    elif not (edges.is_int(a) or edges.is_int(b)):
        return False
    inputs = [
        *(edges.get(a, INT_LAST), *edges.affine_names(a)),
        *(edges.get(b, INT_LAST), *edges.affine_names(b)),
        *edges.affine_names(out),
    ]
    made = edges.emit(f"QLinear{node.op}", inputs, edges.slot(out, INT_LAST), domain=CONTRIB)
    edges.put(out, INT_LAST, made)
    return True


def move(edges: Edges, node: Node, out: str) -> bool:
    """Write a change of shape: in bytes if they are bytes, and transposed only where that is needed."""
    x = node.inputs[0]
    if edges.graph.tensors[out].dtype != FLOAT or x in edges.graph.constants:
        return False
    quantized = edges.is_int(x)
    before, after = edges.shape(x), edges.shape(out)
    flattens = node.op in ("Reshape", "Flatten") and all(d == 1 for d in before[2:]) and len(after) == 2
    source = Form(quantized, flattens and edges.is_last(x))
    if quantized:
        edges.same_bytes(out, x)
    inputs = [edges.get(x, source), *(edges.get(name, REAL) for name in node.inputs[1:])]
    form = Form(quantized, False)
    edges.put(out, form, edges.emit(node.op, inputs, edges.slot(out, form), node.attributes))
    return True


def elementwise(edges: Edges, node: Node, out: str) -> bool:
    """Write a function of each value in float32, in the layout that the values have."""
    constants = edges.graph.constants
    if node.op not in (*UNARY, *BINARY):
        return False
    rank = len(edges.shape(out))
    moving = [name for name in node.inputs if name and name not in constants]
    if any(len(edges.shape(name)) != rank for name in moving) or not any(map(edges.is_last, moving)):
        return False
    inputs = []
    for name in node.inputs:
        if not name or name not in constants:
            inputs.append(name and edges.get(name, REAL_LAST))
            continue
        value = constants[name]
        if value.ndim > 1:  # (c, 1, 1) and the like
            value = np.moveaxis(value.reshape((1,) * (rank - value.ndim) + value.shape), 1, -1)
        elif value.size > 1:
            return False
        inputs.append(edges.constant(f"{name}/last", value))
    made = edges.emit(node.op, inputs, edges.slot(out, REAL_LAST), node.attributes)
    edges.put(out, REAL_LAST, made)
    return True


def batch_of(edges: Edges, node: Node, out: str) -> bool:
    """Write a question about the size of the batch, which every form answers."""
    if (node.attributes.get("start", 0), node.attributes.get("end")) != (0, 1):
        return False
    held = next(iter(edges.forms[node.inputs[0]].values()))
    edges.put(out, REAL, edges.emit("Shape", [held], edges.slot(out, REAL), node.attributes))
    return True


def as_it_was(edges: Edges, node: Node) -> None:
    """Write a node in float32, channels second, as it was in the graph."""
    inputs = [name and edges.get(name, REAL) for name in node.inputs]
    edges.nodes.append(Node(node.op, tuple(inputs), node.outputs, node.attributes, node.name, node.domain))
    for name in node.outputs:
        if name:
            edges.tensors[name] = edges.graph.tensors[name]
            edges.put(name, REAL, name)
