"""Write a graph in int8 with channels last, for ONNX Runtime: the fastest form on its CPU provider.

Convolutions, sums, pools and linear layers work on bytes through ONNX Runtime's own operators; elementwise
functions are computed in float32 between two roundings; whatever else a model has runs as it did, in float32.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from leantta.graph.functions import NORMS, distances
from leantta.graph.ir import Graph, Node
from leantta.quantize.calibrate import Ranges
from leantta.quantize.elementwise import as_it_was, batch_of, elementwise, move, sum_or_product
from leantta.quantize.evening import evened
from leantta.quantize.lowering import REAL, REAL_LAST, Edges, fused_activations, to_last
from leantta.quantize.pools import average_pool, concat, max_pool, mean_over_positions, reduce
from leantta.quantize.products import conv, linear, matrix_product, norm

MOVES = ("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Identity")
"""Operations that only move values: bytes stay what they are."""


Rule = Callable[[Edges, Node, str], bool]
"""Writes a node whose result is the given tensor and returns True, or changes nothing and returns False."""


RULES: Mapping[str, tuple[Rule, ...]] = {
    "Conv": (conv,),
    **dict.fromkeys(NORMS, (norm,)),
    "Add": (sum_or_product, elementwise),
    "Mul": (sum_or_product, elementwise),
    "MaxPool": (max_pool,),
    "AveragePool": (average_pool,),
    "GlobalAveragePool": (mean_over_positions,),
    "ReduceMean": (mean_over_positions, reduce),
    **{f"Reduce{kind}": (reduce,) for kind in ("Max", "Min", "Sum", "L2", "SumSquare")},
    "Concat": (concat,),
    "Gemm": (linear,),
    "MatMul": (matrix_product,),
    **dict.fromkeys(MOVES, (move,)),
    "Shape": (batch_of,),
}


def write_nhwc(graph: Graph, ranges: Ranges, *, last: bool) -> Graph:
    """Return the graph in int8; `last`: its input is given with channels last."""
    even = evened(graph, ranges)
    graph = even.graph
    edges = Edges(graph, even.spans, even.factors)
    fused = fused_activations(graph)
    source = graph.inputs[0]
    edges.put(source, REAL_LAST if last else REAL, source)
    for node in graph.nodes:
        if edges.is_done(node.outputs[0]):
            continue
        for rule in RULES.get(node.op, (elementwise,)):
            out = node.outputs[0] if rule is elementwise else fused.get(node.outputs[0], node.outputs[0])
            if rule(edges, node, out):
                break
        else:
            as_it_was(edges, node)
    for name in graph.outputs:
        edges.get(name, REAL)
    written = edges.finished(graph.inputs, (*graph.outputs, *distances(graph.nodes)))
    if not last:
        return written
    given = replace(graph.tensors[source], shape=to_last(edges.shape(source)))
    return replace(written, tensors={**written.tensors, source: given})
