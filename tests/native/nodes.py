"""Graphs of one adaptive layer, and sessions of them: by a path of the kernel, or by the function's body."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import onnxruntime
from numpy.typing import DTypeLike, NDArray

from leantta.graph.functions import FUNCTIONS, called, float_constants, int8_constants
from leantta.graph.ir import BATCH, LOCAL, Graph, Node, Tensor, write_graph
from leantta.runtime import kernel

Array = NDArray[Any]

BYTES = tuple(name for name in FUNCTIONS if name.startswith("QLinear"))
FLOATS = tuple(name for name in FUNCTIONS if name not in BYTES)
TYPED = [(op, np.float32) for op in FLOATS] + [(op, dtype) for op in BYTES for dtype in (np.uint8, np.int8)]
"""Every function with every type of tensor that it takes."""

RANK = 24
"""Of a filter, where it has so many channels; that of the map, so that its weights look like a channel's."""

SCALES = {"u_scale": 0.04, "y_scale": 0.05, "r_scale": 0.03}
ZEROS = {"u_zero": 118, "y_zero": 96, "r_zero": 120}  # of uint8; int8 has them 128 lower


@dataclass(frozen=True)
class Layer:
    """One node: its function, the type of u, its shape in memory without the batch, and values."""

    op: str
    dtype: DTypeLike
    shape: tuple[int, ...]
    seed: int = 0
    attributes: Mapping[str, float] = field(default_factory=dict)  # instead of the usual ones
    constants: Mapping[str, Array] = field(default_factory=dict)  # the same

    @property
    def channels(self) -> int:
        return self.shape[0] if self.op in FLOATS else self.shape[-1]

    @property
    def takes(self) -> tuple[str, ...]:
        """What u and r are called, if the function has them."""
        return ("u", "r") if "r" in FUNCTIONS[self.op].input else ("u",)

    @property
    def rank(self) -> int:
        """Of its filter, if it has one."""
        return min(RANK, 2 * self.channels)

    @property
    def memory(self) -> int:
        """Numbers that it remembers, if it does."""
        return self.rank + 2 * self.channels + 2

    @property
    def remembers(self) -> bool:
        return "before" in FUNCTIONS[self.op].input

    def values(self) -> dict[str, Array]:
        """The constants by name, in the shapes of the function."""
        random = np.random.default_rng(self.seed)
        c = self.channels
        per_channel = {
            "gamma": random.uniform(0.5, 1.5, c) * random.choice([-1, 1], c),
            "beta": random.normal(0, 0.5, c),
            "ratio": random.uniform(0.9, 1, c),
            "mean_weight": random.uniform(0.5, 2, c) / c,
            "var_weight": random.uniform(0.5, 2, c) / c,
        }
        rank = self.rank
        of_filter = {
            "into": random.normal(0, 0.5, (2 * c, rank)) / np.sqrt(c),
            "back": random.normal(0, 0.5, (rank, 2 * c)),
            "weight": random.uniform(0.5, 2, (rank, 1)) / rank,
        }
        taken = FUNCTIONS[self.op].input
        names = [name for name in (*per_channel, *of_filter) if name in taken]
        values = [(per_channel | of_filter)[name].astype(np.float32) for name in names]
        if self.op in FLOATS:
            shaped = float_constants(1 + len(self.shape), values)
            made = dict(zip(("positions", *names), shaped, strict=True))
        else:
            shaped = int8_constants((c, *self.shape[:-1]), values)
            lower = 128 if np.dtype(self.dtype) == np.int8 else 0
            made = {name: np.asarray(value, np.float32) for name, value in SCALES.items()}
            made |= {name: np.asarray(value - lower, self.dtype) for name, value in ZEROS.items()}
            made |= dict(zip(("average", "flat", *names), shaped, strict=True))
        made = {name: value for name, value in made.items() if name in taken}
        made |= self.constants
        if "back" in made:  # a filter answers nothing to a dead channel
            made["back"] = made["back"] * np.tile(made["ratio"].reshape(-1) != 0, 2)
        return made

    def graph(self) -> Graph:
        usual = {"low": 0.1, "room": 0.5, "rate": -0.3, "shrink": 0.2, "length": 8.0, "layer": "bn"}
        form = FUNCTIONS[self.op]
        attributes = {name: {**usual, **self.attributes}[name] for name in form.attribute}
        outputs = tuple(form.output)
        node = Node(self.op, tuple(form.input), outputs, attributes, "bn", LOCAL)
        whole, floats = Tensor(np.dtype(self.dtype), (BATCH, *self.shape)), np.dtype(np.float32)
        tensors = {name: whole for name in (*self.takes, "y")}
        tensors["distance"] = Tensor(floats, (BATCH, 1))
        tensors["before"] = Tensor(floats, ("streams", self.memory))
        tensors["after"] = Tensor(floats, (BATCH, self.memory))
        inputs = (*self.takes, "before") if self.remembers else self.takes
        used = {name: tensors[name] for name in (*inputs, *outputs)}
        return Graph((node,), self.values(), used, inputs, outputs)


def without_distance(graph: Graph, *, empty: bool) -> Graph:
    """The graph with the second output left out: as an empty name, or not there at all, nor those behind."""
    (node,) = graph.nodes
    outputs = ("y", "", *node.outputs[2:]) if empty else ("y",)
    short = replace(node, outputs=outputs)
    return replace(graph, nodes=(short,), outputs=tuple(filter(None, outputs)))


def bytes_of(graph: Graph, *, body: bool) -> bytes:
    """The graph as a file, with the bodies of its functions or without."""
    return bytes(
        write_graph(graph, "g", called(graph.nodes, graph.constants) if body else ()).SerializeToString()
    )


def native(graph: Graph, path: str, *, body: bool = False, threads: int = 1) -> onnxruntime.InferenceSession:
    """A session that runs the graph by that path of the kernel; without bodies nothing else could."""
    options = _options(threads)
    with patch.dict(os.environ, {"LEANTTA_PATH": path}):
        assert kernel.register(options)
        return onnxruntime.InferenceSession(bytes_of(graph, body=body), options)


def portable(graph: Graph) -> onnxruntime.InferenceSession:
    """A session that runs the body of the function."""
    return onnxruntime.InferenceSession(bytes_of(graph, body=True), _options(1))


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    return options


def inputs_of(layer: Layer, batch: int, seed: int = 0) -> dict[str, Array]:
    """Values as networks have them: around the zero point, samples and channels unlike each other."""
    random = np.random.default_rng(seed)
    shape = (batch, *layer.shape)
    column = (batch, layer.channels, *(1,) * (len(layer.shape) - 1))
    if layer.op in BYTES:
        column = (batch, *(1,) * (len(layer.shape) - 1), layer.channels)
    made: dict[str, Array] = {}
    for name in layer.takes:
        x = random.normal(0, 0.5, column) + random.uniform(0.5, 2, column) * random.normal(size=shape)
        if layer.op in BYTES:
            limits = np.iinfo(np.dtype(layer.dtype))
            values = layer.values()
            x = np.rint(x / values[f"{name}_scale"]) + values[f"{name}_zero"]
            x = np.clip(x, limits.min, limits.max)
        made[name] = x.astype(layer.dtype)
    if layer.remembers:
        made["before"] = memories(layer, batch, seed)
    return made


def memories(layer: Layer, batch: int, seed: int = 0) -> Array:
    """What streams may remember: short and long, in doubt and trusted, and every fifth of them nothing."""
    random = np.random.default_rng(seed)
    mean = random.normal(0, 0.5, (batch, layer.rank + layer.channels))
    square = random.uniform(0.5, 3, (batch, layer.channels))
    count, agreement = random.integers(1, 9, (batch, 1)), random.uniform(-0.5, 1, (batch, 1))
    rows = np.concatenate([mean, square, count, agreement], 1).astype(np.float32)
    rows[4::5] = 0
    return rows


def assert_one_step(found: Array, wanted: Array, *, share: float) -> None:
    """Fail unless bytes differ by one step at most, and no more than that share of them does."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    gap = np.abs(found.astype(np.int64) - wanted)
    assert gap.max(initial=0) <= 1
    assert gap.sum() <= 2 + share * gap.size
