"""Int8, channels last: what multiplies by weights, and the adaptive normalization behind it.

A normalization also does what follows it: a sum with another map, then an activation.
"""

import math
from typing import NamedTuple

import numpy as np

from leantta.graph.depthwise import DEPTHWISE, depthwise_attributes, is_fast
from leantta.graph.functions import int8_constants, int8_name
from leantta.graph.ir import CONTRIB, LOCAL, Graph, Node
from leantta.quantize.lowering import INT, INT_LAST, REAL, Edges, Refused, clips, shared_attributes
from leantta.quantize.params import is_depthwise, quantize_bias, quantize_weights

COMPUTED = Refused("its weights are computed")
SCALED = Refused("transposes or scales what it multiplies")
NO_MATRIX = Refused("its weights are no matrix")


def conv(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a convolution with constant weights."""
    x, weight, *rest = node.inputs
    constants = edges.graph.constants
    if any(name not in constants for name in (weight, *rest)):
        return COMPUTED
    if len(edges.shape(x)) not in (3, 4):
        return Refused("int8 convolutions have one or two axes of positions")
    values = constants[weight]
    group = int(node.attributes.get("group", 1))
    scale = edges.affine(x).scale
    bias = constants[rest[0]] if rest else None
    alone = is_depthwise(values, group)
    integers = quantize_weights(values, summed_in_pairs=not alone, bias=bias, input_scale=scale)
    inputs = [
        edges.get(x, INT_LAST),
        *edges.affine_names(x),
        edges.constant(f"{weight}/s8", integers.values),
        edges.constant(f"{weight}/scale", integers.scale),
        edges.constant("zero_s8", np.asarray(0, np.int8)),
        *edges.affine_names(out),
    ]
    attributes = {"kernel_shape": list(values.shape[2:]), **shared_attributes(node), "group": group}
    ours = alone and is_fast(attributes)
    if bias is not None:
        inputs.append(edges.constant(f"{out}/bias", quantize_bias(bias, scale, integers)))
    elif ours:
        inputs.append(edges.constant(f"{out}/bias", np.zeros(group, np.int32)))
    if ours:
        edges.write(DEPTHWISE, inputs, out, INT_LAST, depthwise_attributes(attributes), domain=LOCAL)
    else:
        edges.write("QLinearConv", inputs, out, INT_LAST, attributes | {"channels_last": 1}, domain=CONTRIB)
    return None


def norm(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write an adaptive normalization, bytes in and bytes out, with the sum and the activation behind it."""
    u, _, *names = node.inputs
    channels, *positions = (int(size) for size in edges.shape(u)[1:])
    rank, count = len(positions) + 2, math.prod(positions)
    average, flat, *values = int8_constants((channels, *positions), [edges.graph.constants[n] for n in names])
    chain = chain_after(edges.graph, node)
    if chain.residual and not edges.is_int(chain.residual):
        chain = Chain(out)
    out = chain.out
    inputs = [
        edges.get(u, INT_LAST),
        *edges.channel_affine_names(u),
        *edges.affine_names(out),
        edges.constant(f"average_{count}", average),
        edges.constant(f"flat_{rank}_{count}_{channels}", flat),
        *(edges.constant(name, value) for name, value in zip(names, values, strict=True)),
    ]
    if chain.residual:
        inputs += [edges.get(chain.residual, INT_LAST), *edges.affine_names(chain.residual)]
    distance = node.outputs[1]
    op = int8_name(node.op, adds=bool(chain.residual), hard_swish=chain.hard_swish)
    edges.write(op, inputs, out, INT_LAST, node.attributes, domain=LOCAL, more=(distance,), gate=node.gate)
    edges.tensors[distance] = edges.graph.tensors[distance]
    edges.absorb(chain.inside)
    return None


class Chain(NamedTuple):
    """What one int8 node computes, from a normalization on."""

    out: str  # the tensor that comes out
    residual: str | None = None  # what is added
    hard_swish: bool = False  # ReLU and clips need no word: the range of `out` is theirs
    inside: tuple[str, ...] = ()  # tensors between that nobody else reads


def chain_after(graph: Graph, node: Node) -> Chain:
    """Return how far a normalization can go on in one node.

    A sum belongs to the later of the two that make its terms, as the other one is there by then.
    """
    uses = graph.uses()
    readers = {name: reader for reader in graph.nodes for name in reader.inputs}
    order = {name: i for i, maker in enumerate(graph.nodes) for name in maker.outputs}
    order |= dict.fromkeys(graph.inputs, -1)

    def only_reader(tensor: str) -> Node | None:
        return readers[tensor] if uses[tensor] == 1 and tensor not in graph.outputs else None

    chain = Chain(node.outputs[0])
    reader = only_reader(chain.out)
    if reader is not None and reader.op == "Add" and len(set(reader.inputs)) == 2:
        (other,) = (name for name in reader.inputs if name != chain.out)
        same = other in order and graph.tensors[other].shape == graph.tensors[chain.out].shape
        if same and order[other] < order[chain.out] and reader.outputs[0] not in graph.outputs:
            chain = Chain(reader.outputs[0], residual=other, inside=(chain.out,))
            reader = only_reader(chain.out)
    if reader is None or reader.outputs[0] in graph.outputs:  # what leaves is not rounded
        return chain
    if reader.op == "HardSwish" or clips(reader, graph.constants):
        hard_swish = reader.op == "HardSwish"
        return Chain(reader.outputs[0], chain.residual, hard_swish, (*chain.inside, chain.out))
    return chain


def linear(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a linear layer; scores that leave the graph are not rounded."""
    x, weight, *rest = node.inputs
    constants = edges.graph.constants
    plain = all(float(node.attributes.get(key, 1)) == 1 for key in ("alpha", "beta"))
    if any(name not in constants for name in (weight, *rest)):
        return COMPUTED
    if node.attributes.get("transA", 0) or not plain:
        return SCALED
    if rest and constants[rest[0]].ndim != 1:
        return Refused("its bias is more than one value per output")
    rows = constants[weight] if node.attributes.get("transB", 0) else constants[weight].T  # (out, in)
    scale = edges.affine(x).scale
    bias = constants[rest[0]] if rest else None
    integers = quantize_weights(rows, summed_in_pairs=True, bias=bias, input_scale=scale)
    inputs = [
        edges.get(x, INT),
        *edges.affine_names(x),
        edges.constant(f"{weight}/s8", np.ascontiguousarray(integers.values.T)),
        edges.constant(f"{weight}/scale", integers.scale),
        edges.constant(f"{weight}/zeros", np.zeros(len(rows), np.int8)),
        "",
    ]
    if bias is not None:
        inputs[-1] = edges.constant(f"{out}/bias", quantize_bias(bias, scale, integers))
    real = out in edges.graph.outputs  # scores are not rounded
    inputs += [] if real else edges.affine_names(out)
    edges.write("QGemm", inputs, out, REAL if real else INT, domain=CONTRIB)
    return None


def matrix_product(edges: Edges, node: Node, out: str) -> Refused | None:
    """Write a product with a constant matrix, of tensors of any rank."""
    x, weight = node.inputs
    constants = edges.graph.constants
    if weight not in constants:
        return COMPUTED
    if constants[weight].ndim != 2 or x in constants:
        return NO_MATRIX
    integers = quantize_weights(constants[weight].T, summed_in_pairs=True)
    scale, zero = edges.affine_names(x)
    inputs = [
        edges.get(x, INT),
        edges.constant(f"{weight}/s8", np.ascontiguousarray(integers.values.T)),
        *(scale, edges.constant(f"{weight}/scale", integers.scale)),
        *(zero, edges.constant(f"{weight}/zeros", np.zeros(len(integers.scale), np.int8))),
    ]
    edges.write("MatMulIntegerToFloat", inputs, out, REAL, domain=CONTRIB)
    return None
