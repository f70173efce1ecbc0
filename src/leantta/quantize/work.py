"""How many products a graph computes for one input, counted from shapes."""

import math
from collections.abc import Collection

from leantta.graph.ir import Graph, Node


def multiply_adds(graph: Graph) -> dict[str, int]:
    """Return the multiply-adds of each convolution, linear layer and product of matrices, by its output."""
    return {
        node.outputs[0]: _of(node, graph) for node in graph.nodes if node.op in ("Conv", "Gemm", "MatMul")
    }


def share_of_work(graph: Graph, names: Collection[str]) -> float:
    """Return the share of all multiply-adds that these nodes, by their outputs, compute."""
    work = multiply_adds(graph)
    return sum(work.get(name, 0) for name in set(names)) / max(sum(work.values()), 1)


def _of(node: Node, graph: Graph) -> int:
    values = _size(node.outputs[0], graph)
    if node.op == "Conv":
        weight = _shape(node.inputs[1], graph)
        return values * math.prod(weight[1:])
    first = _shape(node.inputs[0], graph)
    summed = first[-2] if node.attributes.get("transA", 0) else first[-1]
    return values * summed


def _size(name: str, graph: Graph) -> int:
    return math.prod(_shape(name, graph)[1:])


def _shape(name: str, graph: Graph) -> tuple[int, ...]:
    """Return a shape, 1 for a size that is free or not known."""
    if name in graph.constants:
        return graph.constants[name].shape
    known = graph.tensors[name].shape if name in graph.tensors else None
    return tuple(size if isinstance(size, int) else 1 for size in known or (1, 1))
