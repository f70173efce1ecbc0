"""What a file says of an input beside its scores: the distance of every adapting layer, and one shift.

    distance  (n, layers)  as the gate shows it: the paper's d = 1 - exp(-(1 - tau)^2 * S), the calibrated D
    shift     (n,)         max(0, (T - middle) / (limit - middle)),   T = mean over layers of S / usual

S is a layer's distance before it saturates, `usual` its 99 % quantile over the calibration images; `middle`
and `limit` are the median and the 99 % quantile of T over them. So half of the source images have the shift
0, and 1 % of them exceed 1.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leantta.gates.gate import Gate
from leantta.graph.inline import shown_distance
from leantta.graph.ir import BATCH, LOCAL, Array, Graph, Node, Tensor
from leantta.graph.shift import SHIFT_OF_DISTANCES
from leantta.runtime.metadata import SHIFT_QUANTILE

DISTANCE, SHIFT, RAW = "distance", "shift", "mahalanobis"
LEAST = 1e-12  # of a quantile, so that images that are all alike divide by no zero


@dataclass(frozen=True)
class ShiftScale:
    """What turns the distances of the layers into one shift."""

    usual: tuple[float, ...]  # one per layer
    middle: float
    limit: float


def shift_scale(raw: npt.NDArray[np.float32]) -> ShiftScale:
    """Return the scale of the shift from the raw distances (n, layers) of source images.

    >>> scale = shift_scale(np.arange(1, 513, dtype=np.float32)[:, None])
    >>> sum(s / scale.usual[0] > scale.limit for s in range(1, 513))
    5
    """
    usual = np.maximum(np.quantile(raw, SHIFT_QUANTILE, axis=0, method="higher"), LEAST).astype(np.float64)
    each = (raw / usual).mean(axis=1)
    middle, limit = float(np.median(each)), float(np.quantile(each, SHIFT_QUANTILE, method="higher"))
    return ShiftScale(tuple(float(value) for value in usual), middle, max(limit, middle + LEAST))


def shift_of(raw: npt.NDArray[np.float32], scale: ShiftScale) -> npt.NDArray[np.float64]:
    """Return the shift of inputs, (n,), from the raw distances (n, layers), as a file computes it.

    >>> shift_of(np.float32([[1], [2], [3]]), ShiftScale((1.0,), 1.0, 2.0)).tolist()
    [0.0, 1.0, 2.0]
    """
    each = (raw / np.asarray(scale.usual)).mean(axis=1)
    return np.asarray(np.maximum(0, each - scale.middle) / (scale.limit - scale.middle), np.float64)


def with_raw_distances(graph: Graph, count: int = 1) -> Graph:
    """Return the graph with the layers' raw distances as one output (n, layers) instead of one each.

    The first `count` outputs are the model's own.
    """
    heads, each = graph.outputs[:count], graph.outputs[count:]
    if not each:
        return graph
    joined = Node("Concat", tuple(each), (RAW,), {"axis": 1}, RAW)
    tensors = {**graph.tensors, RAW: Tensor(np.dtype(np.float32), (BATCH, len(each)))}
    return replace(graph, nodes=(*graph.nodes, joined), tensors=tensors, outputs=(*heads, RAW))


def with_heads(graph: Graph, gate: Gate, scale: ShiftScale) -> Graph:
    """Return a graph with raw distances as one with the outputs `distance` and `shift`."""
    layers = len(scale.usual)
    row = Tensor(np.dtype(np.float32), (BATCH, layers))
    one_each = Tensor(np.dtype(np.float32), (BATCH,))
    room = scale.limit - scale.middle
    constants: dict[str, Array] = {
        "shift/unit": np.asarray([1 / (layers * usual * room) for usual in scale.usual], np.float32),
        "shift/middle": np.asarray(scale.middle / room, np.float32),
    }
    (joined,) = (node for node in graph.nodes if RAW in node.outputs)
    shown, more = shown_distance(gate, RAW, DISTANCE)
    if [node.op for node in shown] == ["Identity"]:  # as they are
        shown = []
    outputs = (RAW if shown else DISTANCE, SHIFT)
    ending = Node(SHIFT_OF_DISTANCES, (*constants, *joined.inputs), outputs, {}, SHIFT, LOCAL)
    return Graph(
        (*(node for node in graph.nodes if node is not joined), ending, *shown),
        {**graph.constants, **constants, **more},
        {**graph.tensors, SHIFT: one_each, DISTANCE: row, **{node.outputs[0]: row for node in shown}},
        graph.inputs,
        (*(name for name in graph.outputs if name != RAW), DISTANCE, SHIFT),
    )
