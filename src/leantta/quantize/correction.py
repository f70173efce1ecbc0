"""What rounding does to each layer's output, and a bias that takes its mean away.

A layer with weights W + dW and inputs x misses its output by dW x. Its mean over source images is known for
each channel and goes into the bias, as in Nagel et al. (2019); the rest is noise. A graph with a second
product beside each layer gives both as a few numbers, so that no map is kept.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leantta.graph.ir import Array, Graph, Node, Tensor
from leantta.graph.run import batches, open_graph
from leantta.pixels import Inputs
from leantta.progress import Progress, silent
from leantta.quantize.params import LEVELS, Range, affine_of, is_depthwise, quantize_weights
from leantta.runtime.kernel import register

AT_ONCE = 4

Floats = npt.NDArray[np.float32]


class LayerError(NamedTuple):
    """How far the output of a layer is off if its weights are rounded and its inputs are exact."""

    mean: Floats  # (out,)
    noise: float  # mean square of the rest and of rounding the output, as a share of the output's variance


def layer_errors(
    graph: Graph, spans: Mapping[str, Range], inputs: Array | Inputs, *, progress: Progress = silent
) -> dict[str, LayerError]:
    """Return, by the output of each convolution and linear layer, what rounding does to it."""
    beside = _beside(graph, spans)
    if not beside.outputs:
        return {}
    session = open_graph(beside, kernel=register)
    totals: dict[str, Floats] = dict.fromkeys(beside.outputs, np.zeros((), np.float32))
    for done, batch in batches(inputs, AT_ONCE):
        for name, value in zip(beside.outputs, session.run(None, {graph.inputs[0]: batch}), strict=True):
            each = value if value.ndim < 2 else value.sum(axis=0, dtype=np.float64)
            totals[name] = totals[name] + each * (len(batch) if name.endswith("/places") else 1)
        progress(done + len(batch), len(inputs))
    layers = (node.outputs[0] for node in graph.nodes)
    return {name: _error(name, totals, spans) for name in layers if f"{name}/places" in totals}


def _error(name: str, totals: Mapping[str, Floats], spans: Mapping[str, Range]) -> LayerError:
    count = float(totals[f"{name}/places"].item())
    mean, square = totals[f"{name}/error/sum"] / count, totals[f"{name}/error/squares"] / count
    signal = float((totals[f"{name}/squares"] / count - (totals[f"{name}/sum"] / count) ** 2).sum())
    low, high = spans[name]
    rounding = len(mean) * ((high - low) / LEVELS) ** 2 / 12
    return LayerError(
        mean.astype(np.float32), float((square - mean**2).sum() + rounding) / max(signal, 1e-20)
    )


def _beside(graph: Graph, spans: Mapping[str, Range]) -> Graph:
    """Return the graph with the error of each layer beside its output, and sums and squares of both.

    Also how many places a channel has: no map of squares is made, and none is kept.
    """
    nodes, constants, tensors = list[Node](), dict(graph.constants), dict(graph.tensors)
    outputs: list[str] = []
    for node in graph.nodes:
        nodes.append(node)
        error = weight_error(graph, node, spans)
        if error is None:
            continue
        out, shape = node.outputs[0], graph.tensors[node.outputs[0]].shape
        assert shape is not None  # a layer's
        constants.setdefault(
            f"axes_{len(shape)}", np.arange(2, len(shape)) if len(shape) > 2 else np.zeros(1, np.int64)
        )
        constants[f"{out}/dW"] = error
        nodes.append(
            replace(
                node, inputs=(node.inputs[0], f"{out}/dW"), outputs=(f"{out}/error",), name=f"{out}/error"
            )
        )
        nodes.append(Node("Shape", (out,), (f"{out}/shape",), {"start": 2}, f"{out}/shape"))
        nodes.append(
            Node("ReduceProd", (f"{out}/shape",), (f"{out}/places",), {"keepdims": 0}, f"{out}/places")
        )
        tensors[f"{out}/places"] = Tensor(np.dtype(np.int64), ())
        outputs.append(f"{out}/places")
        for value in (out, f"{out}/error"):
            for op, made in (("ReduceSum", f"{value}/sum"), ("ReduceSumSquare", f"{value}/squares")):
                nodes.append(Node(op, (value, f"axes_{len(shape)}"), (made,), {"keepdims": 0}, made))
                tensors[made] = Tensor(np.dtype(np.float32), (shape[1],))
                outputs.append(made)
    return replace(graph, nodes=tuple(nodes), constants=constants, tensors=tensors, outputs=tuple(outputs))


def weight_error(graph: Graph, node: Node, spans: Mapping[str, Range]) -> Array | None:
    """Return rounded less exact weights of a convolution or linear layer; None if it is neither."""
    weight = graph.constants.get(node.inputs[1]) if node.op in ("Conv", "Gemm") else None
    if weight is None or node.inputs[0] not in spans or node.attributes.get("transA", 0):
        return None
    if any(float(node.attributes.get(key, 1)) != 1 for key in ("alpha", "beta")):
        return None
    rows_first = node.op == "Conv" or bool(node.attributes.get("transB", 0))
    rows = weight if rows_first else weight.T
    alone = node.op == "Conv" and is_depthwise(rows, int(node.attributes.get("group", 1)))
    bias = graph.constants.get(node.inputs[2]) if len(node.inputs) > 2 else None
    if len(node.inputs) > 2 and (bias is None or bias.ndim != 1):
        return None
    integers = quantize_weights(
        rows, summed_in_pairs=not alone, bias=bias, input_scale=affine_of(spans[node.inputs[0]]).scale
    )
    real = integers.values * integers.scale.reshape(-1, *(1,) * (rows.ndim - 1))
    error: Array = (real - rows).astype(np.float32)
    return error if rows_first else np.ascontiguousarray(error.T)


def corrected(graph: Graph, errors: Mapping[str, LayerError]) -> Graph:
    """Return the graph with the mean error of each layer taken from its bias."""
    constants = dict(graph.constants)
    nodes = []
    for node in graph.nodes:
        out = node.outputs[0]
        if out not in errors:
            nodes.append(node)
            continue
        before = constants[node.inputs[2]] if len(node.inputs) > 2 else 0
        constants[f"{out}/b"] = np.asarray(before - errors[out].mean, np.float32)
        nodes.append(replace(node, inputs=(*node.inputs[:2], f"{out}/b")))
    return replace(graph, nodes=tuple(nodes), constants=constants).without_unused_constants()
