"""Int8, channels last: what multiplies by weights, and the adaptive normalization behind it."""

import math

import numpy as np

from leantta.graph.depthwise import DEPTHWISE, depthwise_attributes, is_fast
from leantta.graph.functions import int8_constants, int8_name
from leantta.graph.ir import CONTRIB, LOCAL, Node
from leantta.quantize.chains import Chain, chain_after
from leantta.quantize.lowering import INT, INT_LAST, REAL, Edges, shared_attributes
from leantta.quantize.params import is_depthwise, quantize_bias, quantize_weights


def conv(edges: Edges, node: Node, out: str) -> bool:
    """Write a convolution with constant weights."""
    x, weight, *rest = node.inputs
    constants = edges.graph.constants
    if weight not in constants or len(edges.shape(x)) not in (3, 4) or (rest and rest[0] not in constants):
        return False
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
    slot = edges.slot(out, INT_LAST)
    if ours:
        made = edges.emit(DEPTHWISE, inputs, slot, depthwise_attributes(attributes), domain=LOCAL)
    else:
        made = edges.emit("QLinearConv", inputs, slot, attributes | {"channels_last": 1}, domain=CONTRIB)
    edges.put(out, INT_LAST, made)
    return True


def norm(edges: Edges, node: Node, out: str) -> bool:
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
    made = edges.emit(
        int8_name(node.op, adds=bool(chain.residual), hard_swish=chain.hard_swish),
        inputs,
        edges.slot(out, INT_LAST),
        node.attributes,
        domain=LOCAL,
        more=(distance,),
    )
    edges.tensors[distance] = edges.graph.tensors[distance]
    edges.put(out, INT_LAST, made)
    edges.absorb(chain.inside)
    return True


def linear(edges: Edges, node: Node, out: str) -> bool:
    """Write a linear layer; scores that leave the graph are not rounded."""
    x, weight, *rest = node.inputs
    constants = edges.graph.constants
    plain = all(float(node.attributes.get(key, 1)) == 1 for key in ("alpha", "beta"))
    if weight not in constants or node.attributes.get("transA", 0) or not plain:
        return False
    if rest and (rest[0] not in constants or constants[rest[0]].ndim != 1):
        return False
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
    form = REAL if real else INT
    inputs += [] if real else edges.affine_names(out)
    edges.put(out, form, edges.emit("QGemm", inputs, edges.slot(out, form), domain=CONTRIB))
    return True


def matrix_product(edges: Edges, node: Node, out: str) -> bool:
    """Write a product with a constant matrix, of tensors of any rank."""
    x, weight = node.inputs
    constants = edges.graph.constants
    if weight not in constants or constants[weight].ndim != 2 or x in constants:
        return False
    integers = quantize_weights(constants[weight].T, summed_in_pairs=True)
    scale, zero = edges.affine_names(x)
    inputs = [
        edges.get(x, INT),
        edges.constant(f"{weight}/s8", np.ascontiguousarray(integers.values.T)),
        *(scale, edges.constant(f"{weight}/scale", integers.scale)),
        *(zero, edges.constant(f"{weight}/zeros", np.zeros(len(integers.scale), np.int8))),
    ]
    made = edges.emit("MatMulIntegerToFloat", inputs, edges.slot(out, REAL), domain=CONTRIB)
    edges.put(out, REAL, made)
    return True
