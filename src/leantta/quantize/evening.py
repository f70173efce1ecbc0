"""Let every channel that enters an adaptive normalization use all of its bytes.

One range for a whole tensor is that of its widest channel, and the others get few of its 256 steps. Weights
have a scale for each output channel, so a convolution can put out `u / f`, with factors f per channel such
that all channels reach equally far; the normalization behind it has a scale for each channel of u, and undoes
them. No integer weight changes: dividing a channel's weights and bias by f divides its scale.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leantta.graph.functions import is_norm
from leantta.graph.ir import Array, Graph, Node
from leantta.quantize.calibrate import Ranges
from leantta.quantize.params import LEAST, Range

LEAST_REACH = 4.0
"""How many standard deviations of the source a channel reaches at least, if any does: shifted inputs go
further than those that were seen."""

BELOW, ABOVE = 128, 127  # steps below and above zero

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Evened:
    """A graph with factors per channel inside of it, what ranges it has then, and the factors by tensor."""

    graph: Graph
    spans: dict[str, Range]
    factors: dict[str, Floats]


def evened(graph: Graph, ranges: Ranges) -> Evened:
    """Return the graph with u / f for each u that a convolution makes and a normalization alone reads."""
    uses, makers = graph.uses(), graph.producers()
    read = [node.inputs[0] for node in graph.nodes if is_norm(node)]
    spans, constants = dict(ranges.spans), dict(graph.constants)
    factors: dict[str, Floats] = {}
    changed: dict[str, Node] = {}
    for u in read:
        maker = makers.get(u)
        if maker is None or uses[u] != 1 or not _is_constant_conv(maker, graph):
            continue
        whole = float(_step(*spans[u]))
        if whole < LEAST:
            continue
        each = np.clip(_step(*ranges.channels[u]), min(LEAST_REACH / ABOVE, whole), whole)
        factors[u] = (each / whole).astype(np.float32)
        spans[u] = (-BELOW * whole, ABOVE * whole)
        values = {f"{u}/{part}": constants[name] for part, name in zip("wb", maker.inputs[1:], strict=False)}
        constants |= {name: _divided(value, factors[u]) for name, value in values.items()}
        changed[u] = replace(maker, inputs=(maker.inputs[0], *values))
    nodes = tuple(changed.get(node.outputs[0], node) for node in graph.nodes)
    return Evened(replace(graph, nodes=nodes, constants=constants), spans, factors)


def _step(low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the step with which bytes around zero cover a range, or each of several."""
    needed: npt.NDArray[np.float64] = np.maximum(-np.asarray(low) / BELOW, np.asarray(high) / ABOVE)
    return needed


def _is_constant_conv(node: Node, graph: Graph) -> bool:
    return node.op == "Conv" and all(name in graph.constants for name in node.inputs[1:])


def _divided(values: Array, factors: Floats) -> Array:
    """Return weights (out, ...) or a bias (out,), each output channel divided by its factor."""
    return (values / factors.reshape(-1, *(1,) * (values.ndim - 1))).astype(values.dtype)
