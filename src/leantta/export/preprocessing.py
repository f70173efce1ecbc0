"""Preprocessing inside a graph: uint8 images (n, h, w, c) in, normalised values to the first layer."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Pixels, per_channel
from leantta.export.trace import INPUT
from leantta.graph.ir import BATCH, Graph, Node, Shape, Tensor

Floats = npt.NDArray[np.float32]


def image_constants(mean: tuple[float, ...], std: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Return scale and offset, each (c,): (pixel / 255 - mean) / std = pixel * scale + offset."""
    deviation = np.asarray(std, np.float64)
    offset = -np.asarray(mean, np.float64) / deviation
    return (1 / (255 * deviation)).astype(np.float32), offset.astype(np.float32)


def normalized(images: Pixels, mean: tuple[float, ...], std: tuple[float, ...]) -> Floats:
    """Return uint8 images (n, h, w, c) as a model takes them: float32 (n, c, h, w)."""
    scale, offset = image_constants(mean, std)
    return np.ascontiguousarray((images * scale + offset).transpose(0, 3, 1, 2), np.float32)


def standardized(signals: Floats, mean: tuple[float, ...], std: tuple[float, ...]) -> Floats:
    """Return signals (n, c, *positions) as a model takes them, exactly as the runtime does."""
    return (signals - per_channel(mean, signals.ndim)) / per_channel(std, signals.ndim)


def with_preprocessing(graph: Graph, mean: tuple[float, ...], std: tuple[float, ...], *, last: bool) -> Graph:
    """Return the graph with uint8 images (n, h, w, c) as its input; `last`: it wants channels last."""
    scale, offset = image_constants(mean, std)
    wanted = graph.tensors[INPUT].shape
    assert wanted is not None
    image: Shape = wanted if last else (wanted[0], *wanted[2:], wanted[1])
    inner = "normalized"
    real = Tensor(np.dtype(np.float32), image)
    ready = inner if last else "normalized/last"
    nodes = [
        Node("Cast", (INPUT,), ("pixels",), {"to": 1}, "pixels"),
        Node("Mul", ("pixels", "pixels/scale"), ("scaled",), {}, "scaled"),
        Node("Add", ("scaled", "pixels/offset"), (ready,), {}, ready),
    ]
    if not last:
        nodes.append(Node("Transpose", (ready,), (inner,), {"perm": [0, 3, 1, 2]}, inner))
    rest = [
        replace(n, inputs=tuple(inner if name == INPUT else name for name in n.inputs)) for n in graph.nodes
    ]
    tensors = {
        **graph.tensors,
        "pixels": real,
        "scaled": real,
        ready: real,
        inner: Tensor(real.dtype, wanted),
    }
    tensors[INPUT] = Tensor(np.dtype(np.uint8), (BATCH, *image[1:]))
    constants = {**graph.constants, "pixels/scale": scale, "pixels/offset": offset}
    return Graph((*nodes, *rest), constants, tensors, graph.inputs, graph.outputs)
