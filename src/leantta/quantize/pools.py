"""Int8, channels last: pools, reductions over positions, and joining along channels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from leantta.graph.ir import CONTRIB, Node, Tensor
from leantta.quantize.lowering import INT, INT_LAST, REAL_LAST, Edges, last_axis, shared_attributes


def max_pool(edges: Edges, node: Node, out: str) -> bool:
    """Write a max-pool; the bytes keep their meaning."""
    (x,) = node.inputs
    if not edges.is_int(x) or len(edges.shape(x)) != 4 or len(node.outputs) > 1:
        return False
    edges.same_bytes(out, x)
    made = edges.emit(
        "NhwcMaxPool",
        [edges.get(x, INT_LAST)],
        edges.slot(out, INT_LAST),
        shared_attributes(node),
        domain=CONTRIB,
    )
    edges.put(out, INT_LAST, made)
    return True


def average_pool(edges: Edges, node: Node, out: str) -> bool:
    """Write an average pool."""
    (x,) = node.inputs
    given = node.attributes
    if not edges.is_int(x) or len(edges.shape(x)) != 4 or given.get("dilations", [1, 1]) != [1, 1]:
        return False
    if given.get("ceil_mode", 0) and given.get("count_include_pad", 0):
        return False  # ONNX Runtime's integer operator divides the last window by another number
    attributes = {k: v for k, v in shared_attributes(node).items() if k != "dilations"} | {"channels_last": 1}
    _pooled(edges, "QLinearAveragePool", x, out, attributes)
    return True


def mean_over_positions(edges: Edges, node: Node, out: str) -> bool:
    """Write a mean over all positions; others are left to `reduce`."""
    x = node.inputs[0]
    rank = len(edges.shape(x))
    if rank < 3 or not edges.is_int(x) or _axes(edges, node, rank) != list(range(2, rank)):
        return False
    if len(edges.shape(out)) == rank:
        _pooled(edges, "QLinearGlobalAveragePool", x, out, {"channels_last": 1})
        return True
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
    edges.put(out, INT, edges.emit("Reshape", [pooled, target], edges.slot(out, INT)))
    return True


def _pooled(edges: Edges, op: str, x: str, out: str, attributes: Mapping[str, Any]) -> None:
    inputs = [edges.get(x, INT_LAST), *edges.affine_names(x), *edges.affine_names(out)]
    made = edges.emit(op, inputs, edges.slot(out, INT_LAST), attributes, domain=CONTRIB)
    edges.put(out, INT_LAST, made)


def reduce(edges: Edges, node: Node, out: str) -> bool:
    """Write a reduction over positions where the tensor lies; the largest of bytes is a byte."""
    x = node.inputs[0]
    rank = len(edges.shape(x))
    axes = _axes(edges, node, rank)
    if not edges.is_last(x) or not axes or min(axes) < 2:
        return False
    integer = node.op == "ReduceMax" and edges.is_int(x)
    form = INT_LAST if integer else REAL_LAST
    if integer:
        edges.same_bytes(out, x)
    moved = np.array([last_axis(axis, rank) for axis in axes], np.int64)
    attributes = {"keepdims": int(node.attributes.get("keepdims", 1))}
    made = edges.emit(
        node.op,
        [edges.get(x, form), edges.constant(f"{out}/axes", moved)],
        edges.slot(out, form),
        attributes,
    )
    edges.put(out, form, made)
    return True


def concat(edges: Edges, node: Node, out: str) -> bool:
    """Write several maps side by side."""
    rank = len(edges.shape(out))
    if any(name in edges.graph.constants for name in node.inputs) or not all(map(edges.is_int, node.inputs)):
        return False
    axis = last_axis(int(node.attributes["axis"]) % rank, rank)
    inputs = list(edges.affine_names(out))
    for name in node.inputs:
        inputs += [edges.get(name, INT_LAST), *edges.affine_names(name)]
    made = edges.emit("QLinearConcat", inputs, edges.slot(out, INT_LAST), {"axis": axis}, domain=CONTRIB)
    edges.put(out, INT_LAST, made)
    return True


def _axes(edges: Edges, node: Node, rank: int) -> list[int]:
    if node.op == "GlobalAveragePool":
        return list(range(2, rank))
    if len(node.inputs) < 2 or node.inputs[1] not in edges.graph.constants:
        return []
    return sorted(int(axis) % rank for axis in edges.graph.constants[node.inputs[1]].reshape(-1))
