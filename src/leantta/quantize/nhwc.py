"""Write a graph in int8 with channels last, for ONNX Runtime: the fastest form on its CPU provider.

Convolutions, sums, pools and linear layers work on bytes through ONNX Runtime's own operators; elementwise
functions are computed in float32 between two roundings; whatever else a model has runs as it did, in float32.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from leantta.graph.functions import NORM, distances, kind_of
from leantta.graph.ir import Graph, Node
from leantta.quantize.calibrate import Ranges
from leantta.quantize.elementwise import as_it_was, batch_of, elementwise, move, sum_or_product
from leantta.quantize.evening import evened
from leantta.quantize.lowering import (
    MOVES,
    NO_RULE,
    ON_PURPOSE,
    REAL,
    REAL_LAST,
    Edges,
    InFloat,
    Int8Graph,
    Refused,
    computes,
    fused_activations,
    to_last,
)
from leantta.quantize.pools import average_pool, concat, largest, max_pool, mean_over_positions, reduce
from leantta.quantize.products import conv, linear, matrix_product, norm
from leantta.quantize.resizing import pad, resize, split, transposed_conv

Rule = Callable[[Edges, Node, str], Refused | None]
"""Writes a node whose result is the given tensor, or changes nothing and says why."""

RULES: Mapping[str, Rule] = {
    "Conv": conv,
    NORM: norm,
    "Add": sum_or_product,
    "Mul": sum_or_product,
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": mean_over_positions,
    "ReduceMean": mean_over_positions,
    "ReduceMax": largest,
    "Concat": concat,
    "ConvTranspose": transposed_conv,
    "Resize": resize,
    "Pad": pad,
    "Split": split,
    "Gemm": linear,
    "MatMul": matrix_product,
    **dict.fromkeys(MOVES, move),
    "Shape": batch_of,
}
"""In int8."""

FLOAT_RULES: Mapping[str, Rule] = {
    f"Reduce{kind}": reduce for kind in ("Mean", "Max", "Min", "Sum", "L2", "SumSquare")
}
"""In float32, channels last; all others are tried as functions of each value."""


def write_nhwc(graph: Graph, ranges: Ranges, *, last: bool, left: Collection[str] = ()) -> Int8Graph:
    """Return the graph in int8; `last`: its input is given with channels last.

    The nodes that make the tensors `left` are left in float32.
    """
    even = evened(graph, ranges)
    graph = even.graph
    edges = Edges(graph, even.spans, even.factors)
    fused = fused_activations(graph)
    source = graph.inputs[0]
    edges.put(source, REAL_LAST if last else REAL, source)
    in_float: list[InFloat] = []
    for node in graph.nodes:
        out = node.outputs[0]
        if edges.is_done(out):
            continue
        refused: Refused | None = ON_PURPOSE if out in left else NO_RULE
        if out not in left and (rule := RULES.get(kind_of(node))):
            refused = rule(edges, node, fused.get(out, out))
        if refused is None:
            continue
        if computes(graph, node):
            in_float.append(InFloat(node.op, node.name, refused.reason))
        if FLOAT_RULES.get(node.op, elementwise)(edges, node, out) is not None:
            as_it_was(edges, node)
    for name in graph.outputs:
        edges.get(name, REAL)
    written = edges.finished(graph.inputs, (*graph.outputs, *distances(graph.nodes)))
    if last:
        given = replace(graph.tensors[source], shape=to_last(edges.shape(source)))
        written = replace(written, tensors={**written.tensors, source: given})
    return Int8Graph(written, tuple(in_float), sum(computes(graph, node) for node in graph.nodes))
