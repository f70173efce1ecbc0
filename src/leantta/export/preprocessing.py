"""Preprocessing inside a graph: uint8 images (n, h, w, c) in, normalised values to the first layer.

What comes before, from an image of any size to those bytes, is in `leantta.data.preprocess`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Pixels, per_channel
from leantta.data.preprocess import Preprocessing
from leantta.errors import DataError, SettingError
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


def check_fitted(images: npt.NDArray[Any], how: Preprocessing, *, normalized: bool) -> None:
    """Refuse calibration inputs that cannot have come out of a preprocessing.

    Raises:
        SettingError: they are no images of bytes.
        DataError: they have another size or other channels.
    """
    if not normalized or images.dtype != np.uint8:
        raise SettingError(
            f"a preprocessing is for images given as uint8, with mean and std; these inputs are "
            f"{images.dtype}{' without mean and std' * (not normalized)}. Leave it out, or give images."
        )
    height, width = how.size or images.shape[1:3]
    if images.shape[1:] != (height, width, how.channels):
        raise DataError(
            f"the preprocessing makes images of shape {(height, width, how.channels)}, the calibration "
            f"images have {images.shape[1:]}. Give them as they come out of it."
        )


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
