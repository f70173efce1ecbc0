"""Write a graph in int8 with standard operators only: roundings to bytes and back around float32 operators.

Every runtime reads this form, and those that know integers (ONNX Runtime, OpenVINO, TensorRT) merge each
operator with the roundings around it.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from leantta.graph.functions import distances, is_norm, kind_of
from leantta.graph.inline import inline
from leantta.graph.ir import LOCAL, Array, Graph, Node, Tensor
from leantta.quantize.calibrate import Ranges
from leantta.quantize.elementwise import guarded
from leantta.quantize.lowering import (
    BYTES,
    FLOAT,
    NO_RULE,
    ON_PURPOSE,
    QUANTIZED_MAKERS,
    READS_CONSTANT,
    READS_FLOAT,
    Edges,
    InFloat,
    Int8Graph,
    Refused,
    computes,
    fused_activations,
)
from leantta.quantize.params import Weights, is_depthwise, quantize_bias, quantize_weights
from leantta.quantize.products import COMPUTED, NO_MATRIX, SCALED

READERS = ("Conv", "Gemm", "MatMul")
"""Operations that read bytes, beside normalizations."""

KEEPERS = ("MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity")
"""Operations whose output is made of the very values that they read."""


def write_qdq(graph: Graph, ranges: Ranges, *, left: Collection[str] = ()) -> Int8Graph:
    """Return the graph in int8 with the operators of the ONNX standard alone; `left` as for `write_nhwc`."""
    edges = Edges(graph, ranges.spans)
    fused = fused_activations(graph)
    rounded = _rounded(graph, fused, left)
    in_float: list[InFloat] = []
    where: dict[str, str] = {}
    source = graph.inputs[0]
    where[source] = _round(edges, source, source) if source in rounded else source
    for node in graph.nodes:
        out = node.outputs[0]
        inputs = [where.get(name, name) for name in node.inputs]
        if node.op in READERS and out in left:
            inputs[0] = guarded(edges, inputs[0], graph.tensors[node.inputs[0]])
        elif node.op in READERS and not isinstance(rows := _rows(graph, node), Refused):
            inputs[1:] = _weight_inputs(edges, node, _weights(edges, node, rows))
        refused = ON_PURPOSE if out in left else _refused(graph, node, fused, rounded)
        if computes(graph, node) and refused is not None:
            in_float.append(InFloat(node.op, node.name, refused.reason))
        for name in inputs:
            if name in graph.constants:
                edges.constant(name, graph.constants[name])
        if node.op in KEEPERS and node.inputs[0] in rounded:
            edges.same_bytes(out, node.inputs[0])
        target = f"{out}/exact" if out in rounded else out
        edges.nodes.append(replace(node, inputs=tuple(inputs), outputs=(target, *node.outputs[1:]), name=out))
        edges.tensors.update({target: graph.tensors[out]})
        edges.tensors.update({name: graph.tensors[name] for name in node.outputs[1:] if name})
        where[out] = _round(edges, out, target) if out in rounded else out
    written = edges.finished(graph.inputs, (*graph.outputs, *distances(graph.nodes)))
    return Int8Graph(written, tuple(in_float), sum(computes(graph, node) for node in graph.nodes))


def inlined(graph: Graph) -> Graph:
    """Return the graph with each node of ours as a group of standard operators named after it."""
    nodes: list[Node] = []
    constants: dict[str, Array] = dict(graph.constants)
    for node in graph.nodes:
        inner, values = inline(node, graph.constants) if node.domain == LOCAL else ([node], {})
        nodes += inner
        constants |= values
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _rounded(graph: Graph, fused: Mapping[str, str], left: Collection[str]) -> set[str]:
    """Return the tensors that become bytes: what readers read, and what makers make, activation included."""
    rounded_at_once = {
        fused.get(n.outputs[0], n.outputs[0])
        for n in graph.nodes
        if kind_of(n) in QUANTIZED_MAKERS and n.outputs[0] not in left
    }
    read = {
        node.inputs[0]
        for node in graph.nodes
        if is_norm(node)
        or (
            node.op in READERS and node.outputs[0] not in left and not isinstance(_rows(graph, node), Refused)
        )
    }
    able = {
        name
        for name in rounded_at_once | read
        if graph.tensors[name].dtype == FLOAT and name not in graph.constants
    }
    return able - set(graph.outputs) - set(fused)


def _round(edges: Edges, tensor: str, exact: str) -> str:
    """Round a tensor to bytes and back; return the name of the result."""
    scale, zero = edges.affine_names(tensor)
    shape = edges.graph.tensors[tensor].shape
    held = edges.emit("QuantizeLinear", [exact, scale, zero], (f"{tensor}/u8", Tensor(BYTES, shape)))
    return edges.emit("DequantizeLinear", [held, scale, zero], (f"{tensor}/real", Tensor(FLOAT, shape)))


def _refused(graph: Graph, node: Node, fused: Mapping[str, str], rounded: set[str]) -> Refused | None:
    """Return why no engine can merge an operator with roundings around it; None if one can."""
    if is_norm(node) or node.outputs[0] in fused.values():
        return None
    if node.op in READERS:
        rows = _rows(graph, node)
        return rows if isinstance(rows, Refused) else None
    if node.op not in ("Add", *KEEPERS):
        return NO_RULE
    if any(name in graph.constants for name in node.inputs):
        return READS_CONSTANT
    if any(name not in rounded for name in node.inputs):
        return READS_FLOAT
    out = fused.get(node.outputs[0], node.outputs[0])
    return None if out in rounded else Refused("is read as float32")


def _rows(graph: Graph, node: Node) -> Array | Refused:
    """Return the constant weights of a node, output channels first, or why it has none that can be bytes."""
    value = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    if value is None:
        return COMPUTED
    if node.op == "MatMul" and value.ndim != 2:
        return NO_MATRIX
    if node.op == "Gemm" and (node.attributes.get("transA", 0) or node.attributes.get("alpha", 1.0) != 1.0):
        return SCALED
    return value if _rows_first(node) else value.T


def _rows_first(node: Node) -> bool:
    return node.op == "Conv" or bool(node.attributes.get("transB", 0))


def _weights(edges: Edges, node: Node, rows: Array) -> Weights:
    depthwise = node.op == "Conv" and is_depthwise(rows, int(node.attributes.get("group", 1)))
    return quantize_weights(
        rows,
        summed_in_pairs=not depthwise,
        bias=_bias(edges, node),
        input_scale=edges.affine(node.inputs[0]).scale,
    )


def _bias(edges: Edges, node: Node) -> Array | None:
    """Return the constant bias (out,) of a node; None if it has none that can be whole numbers."""
    bias = edges.graph.constants.get(node.inputs[2]) if len(node.inputs) > 2 else None
    return bias if bias is not None and bias.ndim == 1 and node.attributes.get("beta", 1.0) == 1.0 else None


def _weight_inputs(edges: Edges, node: Node, weights: Weights) -> list[str]:
    """Return the names of weights and bias, turned from integers into reals."""
    name = node.inputs[1]
    first = _rows_first(node)
    values = weights.values if first else np.ascontiguousarray(weights.values.T)
    inputs = [
        edges.constant(f"{name}/s8", values),
        edges.constant(f"{name}/scale", weights.scale),
        edges.constant(f"{name}/zeros", np.zeros(len(weights.scale), np.int8)),
    ]
    out = node.outputs[0]
    real = (f"{out}/weight", Tensor(FLOAT, values.shape))
    weight = edges.emit("DequantizeLinear", inputs, real, {"axis": 0 if first else 1})
    bias = _bias(edges, node)
    if bias is None:
        return [weight, *node.inputs[2:]]
    scale = edges.affine(node.inputs[0]).scale
    inputs = [
        edges.constant(f"{out}/bias", quantize_bias(bias, scale, weights)),
        edges.constant(f"{out}/bias_scale", (np.float32(scale) * weights.scale).astype(np.float32)),
    ]
    return [
        weight,
        edges.emit("DequantizeLinear", inputs, (f"{out}/bias_real", Tensor(FLOAT, bias.shape)), {"axis": 0}),
    ]
