"""Int8, channels last: pools, reductions over positions, and joining along channels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from leantta.graph.ir import CONTRIB, Node, Tensor
from leantta.quantize.lowering import (
    INT,
    INT_LAST,
    READS_FLOAT,
    REAL_LAST,
    Edges,
    Form,
    Refused,
    last_axis,
    shared_attributes,
)

ONE_OR_THREE = Refused("int8 pools have two axes of positions")


def max_pool(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a max-pool; the bytes keep their meaning."""
    (x,) = node.inputs
    if not edges.is_int(x):
        return READS_FLOAT
    if len(edges.shape(x)) != 4:
        return ONE_OR_THREE
    if len(node.outputs) > 1:
        return Refused("also gives places")
    edges.same_bytes(out, x)
    edges.write(
        "NhwcMaxPool", [edges.get(x, INT_LAST)], out, INT_LAST, shared_attributes(node), domain=CONTRIB
    )
    return None


def average_pool(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write an average pool."""
    (x,) = node.inputs
    given = node.attributes
    if not edges.is_int(x):
        return READS_FLOAT
    if len(edges.shape(x)) != 4:
        return ONE_OR_THREE
    if given.get("dilations", [1, 1]) != [1, 1]:
        return Refused("int8 averages have no dilation")
    if given.get("ceil_mode", 0) and given.get("count_include_pad", 0):
        return Refused("the int8 operator divides the last window by another number")
    attributes = {k: v for k, v in shared_attributes(node).items() if k != "dilations"} | {"channels_last": 1}
    _pooled(edges, "QLinearAveragePool", x, out, attributes)
    return None


def mean_over_positions(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a mean over all positions."""
    x = node.inputs[0]
    rank = len(edges.shape(x))
    if not edges.is_int(x):
        return READS_FLOAT
    if rank < 3 or _axes(edges, node, rank) != list(range(2, rank)):
        return Refused("int8 means are over all positions")
    if len(edges.shape(out)) == rank:
        _pooled(edges, "QLinearGlobalAveragePool", x, out, {"channels_last": 1})
        return None
    shape = edges.shape(x)
    flat = f"{out}/pooled"
    ones = (1,) * (rank - 2)
    inputs = [edges.get(x, INT_LAST), *edges.affine_names(x), *edges.affine_names(out)]
    pooled = edges.emit(
        "QLinearGlobalAveragePool",
        inputs,
        (flat, Tensor(edges.slot(out, INT)[1].dtype, (shape[0], *ones, shape[1]))),
        {"channels_last": 1},
        domain=CONTRIB,
    )
    target = edges.constant(f"to_{shape[1]}", np.array([-1, int(shape[1])], np.int64))
    edges.write("Reshape", [pooled, target], out, INT)
    return None


def _pooled(edges: Edges, op: str, x: str, out: str, attributes: Mapping[str, Any]) -> None:
    inputs = [edges.get(x, INT_LAST), *edges.affine_names(x), *edges.affine_names(out)]
    edges.write(op, inputs, out, INT_LAST, attributes, domain=CONTRIB)


def largest(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write the largest value over positions: that of bytes is a byte."""
    x = node.inputs[0]
    if not edges.is_int(x):
        return READS_FLOAT
    refused = _reduced(edges, node, out, INT_LAST)
    if refused is None:
        edges.same_bytes(out, x)
    return refused


def reduce(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a reduction over positions in float32, in the layout that the values have."""
    return _reduced(edges, node, out, REAL_LAST)


def _reduced(edges: Edges, node: Node, out: str, form: Form) -> Refused | None:
    x = node.inputs[0]
    rank = len(edges.shape(x))
    axes = _axes(edges, node, rank)
    if not edges.is_last(x) or not axes or min(axes) < 2:
        return Refused("not over positions alone")
    moved = np.array([last_axis(axis, rank) for axis in axes], np.int64)
    inputs = [edges.get(x, form), edges.constant(f"{out}/axes", moved)]
    edges.write(node.op, inputs, out, form, {"keepdims": int(node.attributes.get("keepdims", 1))})
    return None


def concat(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write several maps side by side."""
    rank = len(edges.shape(out))
    if any(name in edges.graph.constants for name in node.inputs):
        return Refused("joins a constant")
    if not all(map(edges.is_int, node.inputs)):
        return READS_FLOAT
    axis = last_axis(int(node.attributes["axis"]) % rank, rank)
    inputs = list(edges.affine_names(out))
    for name in node.inputs:
        inputs += [edges.get(name, INT_LAST), *edges.affine_names(name)]
    edges.write("QLinearConcat", inputs, out, INT_LAST, {"axis": axis}, domain=CONTRIB)
    return None


def _axes(edges: Edges, node: Node, rank: int) -> list[int]:
    if node.op == "GlobalAveragePool":
        return list(range(2, rank))
    if len(node.inputs) < 2 or node.inputs[1] not in edges.graph.constants:
        return []
    return sorted(int(axis) % rank for axis in edges.graph.constants[node.inputs[1]].reshape(-1))
