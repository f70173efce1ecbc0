"""Spread the channels of linear maps evenly over their bytes, at the cost of the weights behind them.

A map that convolutions write, sums add up and other convolutions read may have any scale per channel: the
writers' rows are multiplied with s and the readers' columns divided by it. A ReLU lets s > 0 through, a ReLU6
does not. Weights have a scale for each row, so rows are free, and columns share one. With r the reach of a
channel and w that of its columns, s = sqrt(w / r) gives both the same reach, as in Nagel et al. (2019).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leantta.graph.ir import Array, Graph, Node
from leantta.quantize.calibrate import ChannelRange

LEAST_REACH = 1e-2
"""Of a channel, as a share of the widest: what a channel hardly uses is not blown up."""

Floats = npt.NDArray[np.float32]


def equalised(graph: Graph, channels: Mapping[str, ChannelRange]) -> Graph:
    """Return a graph that computes the same, with channels that reach equally far."""
    constants = dict(graph.constants)
    factors: dict[str, Floats] = {}
    for maps in _groups(graph):
        reach = np.max([_share(np.maximum(-channels[m].low, channels[m].high)) for m in maps], axis=0)
        columns = np.max(
            [
                _share(np.abs(constants[node.inputs[1]]).max(axis=(0, *range(2, _rank(node, constants)))))
                for node in graph.nodes
                if node.op == "Conv" and node.inputs[0] in maps
            ],
            axis=0,
        )
        even = np.sqrt(np.maximum(columns, LEAST_REACH) / np.maximum(reach, LEAST_REACH))
        factors |= dict.fromkeys(maps, (even / np.exp(np.log(even).mean())).astype(np.float32))
    nodes = tuple(_scaled(node, factors, constants) for node in graph.nodes)
    return replace(graph, nodes=nodes, constants=constants).without_unused_constants()


def _scaled(node: Node, factors: Mapping[str, Floats], constants: dict[str, Array]) -> Node:
    """Return a convolution with weights of its own for scaled maps, which are added to the constants."""
    rows, columns = factors.get(node.outputs[0]), factors.get(node.inputs[0])
    if node.op != "Conv" or (rows is None and columns is None):
        return node
    weight, out = constants[node.inputs[1]], node.outputs[0]
    positions = (1,) * (weight.ndim - 2)
    if columns is not None:
        weight = weight / columns.reshape(1, -1, *positions)
    if rows is not None:
        weight = weight * rows.reshape(-1, 1, *positions)
    names = [f"{out}/w_even"]
    constants[names[0]] = weight.astype(np.float32)
    if len(node.inputs) > 2:
        names.append(node.inputs[2])
        if rows is not None:
            names[1] = f"{out}/b_even"
            constants[names[1]] = (constants[node.inputs[2]] * rows).astype(np.float32)
    return replace(node, inputs=(node.inputs[0], *names))


def _groups(graph: Graph) -> list[set[str]]:
    """Return groups of maps that must have one scale per channel, if they may have any."""
    group: dict[str, set[str]] = {}
    for node in graph.nodes:
        joined = {*node.inputs, node.outputs[0]} if node.op in ("Add", "Relu") else {node.outputs[0]}
        whole = set().union(joined, *(group[name] for name in joined if name in group))
        group |= dict.fromkeys(whole, whole)
    different = {id(maps): maps for maps in group.values()}.values()
    return [maps for maps in different if _is_free(maps, graph)]


def _is_free(maps: set[str], graph: Graph) -> bool:
    """Tell whether convolutions with plain weights alone write the maps, and such alone read them."""
    if maps & {*graph.constants, *graph.inputs, *graph.outputs}:
        return False
    inside = ("Add", "Relu")
    read = False
    for node in graph.nodes:
        writes, reads = node.outputs[0] in maps, any(name in maps for name in node.inputs)
        if writes and node.op not in inside and not _is_plain(node, graph):
            return False
        if reads and node.op not in inside:
            if not _is_plain(node, graph) or int(node.attributes.get("group", 1)) != 1:
                return False
            read = True
    return read


def _is_plain(node: Node, graph: Graph) -> bool:
    return node.op == "Conv" and all(name in graph.constants for name in node.inputs[1:])


def _share(values: Array) -> Array:
    largest = values.max(initial=0)
    return np.asarray(values / largest) if largest > 0 else np.ones_like(values)


def _rank(node: Node, constants: Mapping[str, Array]) -> int:
    return constants[node.inputs[1]].ndim
