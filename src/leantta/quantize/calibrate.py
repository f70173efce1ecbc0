"""Which values the tensors of a graph take on source images, seen by running the float32 graph itself."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError
from leantta.graph.functions import is_norm
from leantta.graph.ir import Array, Graph, Node, Tensor
from leantta.graph.run import AT_ONCE, batches, open_graph
from leantta.pixels import Inputs
from leantta.progress import Progress, silent
from leantta.quantize.observers import BINS, Counts, Observer, ObserverName, observer_of
from leantta.quantize.params import Range
from leantta.runtime.kernel import register

Floats = npt.NDArray[np.float32]

SAMPLED = 1 << 14
"""Values of one map of one input that are counted."""


class ChannelRange(NamedTuple):
    """The least and the largest value of each channel, zero included: each (c,)."""

    low: Floats
    high: Floats


@dataclass(frozen=True)
class Ranges:
    """The range of each tensor, the tensors that never left zero, and the ranges of channels."""

    spans: dict[str, Range]
    empty: tuple[str, ...]
    channels: dict[str, ChannelRange]  # of all maps


def calibrate(
    graph: Graph, inputs: Array | Inputs, observer: ObserverName = "minmax", *, progress: Progress = silent
) -> Ranges:
    """Return the range of every float tensor of the graph over inputs (n, ...), as the graph takes them.

    Raises:
        DataError: a value is not finite.
        SettingError: there is no such observer.
    """
    decide = observer_of(observer)
    if observer == "minmax":
        return seen_ranges(graph, inputs, progress=progress)
    total = 2 * len(inputs)
    seen = seen_ranges(graph, inputs, progress=lambda done, _: progress(done, total))
    counts = counted(graph, inputs, seen, progress=lambda done, _: progress(len(inputs) + done, total))
    return decided(seen, counts, decide)


def seen_ranges(graph: Graph, inputs: Array | Inputs, *, progress: Progress = silent) -> Ranges:
    """Return everything that was seen: the least and the largest value of each tensor.

    Raises:
        DataError: a value is not finite.
    """
    watched = _watched(graph)
    session = open_graph(_reduced(graph, watched), kernel=register)
    spans: dict[str, Range] = dict.fromkeys(watched, (np.inf, -np.inf))
    channels: dict[str, ChannelRange] = {}
    for done, batch in batches(inputs, AT_ONCE):
        values = iter(session.run(None, {graph.inputs[0]: batch}))
        for name in watched:
            low, high = (next(values), next(values)) if _is_map(graph, name) else (next(values),) * 2
            finite = next(values) if _is_map(graph, name) else low
            if not np.isfinite(finite).all():
                raise DataError(
                    f"{name!r} is not finite for one of the calibration images {done} to "
                    f"{done + len(batch) - 1}; check the weights and the images"
                )
            spans[name] = min(spans[name][0], float(low.min())), max(spans[name][1], float(high.max()))
            if _is_map(graph, name):
                channels[name] = _widened(channels.get(name), low, high)
        progress(done + len(batch), len(inputs))
    return Ranges(spans, tuple(name for name, span in spans.items() if span == (0, 0)), channels)


def counted(
    graph: Graph, inputs: Array | Inputs, seen: Ranges, *, progress: Progress = silent
) -> dict[str, Counts]:
    """Return how often values of each tensor fall between its extremes, from a sample of each map."""
    watched = _watched(graph)
    session = open_graph(_sampled(graph, watched), kernel=register)
    counts: dict[str, Counts] = {name: np.zeros(BINS, np.int64) for name in seen.spans}
    for done, batch in batches(inputs, AT_ONCE):
        for name, value in zip(watched, session.run(None, {graph.inputs[0]: batch}), strict=True):
            low, high = _wide(seen.spans[name])
            places = ((value.ravel() - low) * (BINS / (high - low))).astype(np.int64)
            counts[name] += np.bincount(places.clip(0, BINS - 1), minlength=BINS)
        progress(done + len(batch), len(inputs))
    return counts


def decided(seen: Ranges, counts: Mapping[str, Counts], decide: Observer) -> Ranges:
    """Return the ranges that an observer takes."""
    moving = {name: span for name, span in seen.spans.items() if name not in seen.empty}
    spans = {name: decide(_wide(span), counts[name]) for name, span in moving.items()}
    return replace(seen, spans=seen.spans | spans)


def _is_map(graph: Graph, name: str) -> bool:
    return len(graph.tensors[name].shape or ()) > 2


class _Seeing:
    """A graph in which tensors are looked at as soon as they are made, so that few maps are held at once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants, self.tensors = dict(graph.constants), dict(graph.tensors)
        self.following: dict[str, list[Node]] = {}  # by the tensor of the graph that they look at
        self.outputs: list[str] = []

    def see(self, name: str, op: str, inputs: Sequence[str], made: str, **given: int) -> str:
        """Add a node that looks at a tensor of the graph, and return what it makes."""
        self.following.setdefault(name, []).append(Node(op, tuple(inputs), (made,), given, made))
        self.tensors[made] = Tensor(self.graph.tensors[name].dtype, None)
        return made

    def whole(self) -> Graph:
        """Return the graph with all that was added."""
        nodes = [looking for name in self.graph.inputs for looking in self.following.get(name, [])]
        for node in self.graph.nodes:
            nodes += [node, *(looking for name in node.outputs for looking in self.following.get(name, []))]
        return replace(
            self.graph,
            nodes=tuple(nodes),
            constants=self.constants,
            tensors=self.tensors,
            outputs=tuple(self.outputs),
        )


def _reduced(graph: Graph, watched: Sequence[str]) -> Graph:
    """Return a graph that gives the extremes of each map per channel, and its sum, which nothing escapes."""
    seeing = _Seeing(graph)
    for name in watched:
        if not _is_map(graph, name):
            seeing.outputs.append(seeing.see(name, "Identity", [name], f"{name}/seen"))
            continue
        axes = f"positions/{graph.tensors[name].rank}"
        seeing.constants[axes] = np.arange(2, graph.tensors[name].rank)
        for kind in ("Min", "Max", "Sum"):
            made = seeing.see(name, f"Reduce{kind}", [name, axes], f"{name}/{kind}", keepdims=0)
            seeing.outputs.append(made)
    return seeing.whole()


def _sampled(graph: Graph, watched: Sequence[str]) -> Graph:
    """Return a graph that gives some values of each tensor, evenly apart."""
    seeing = _Seeing(graph)
    for key, number in (("start", 0), ("end", np.iinfo(np.int64).max), ("axis", 1)):
        seeing.constants[f"sample/{key}"] = np.array([number], np.int64)
    for name in watched:
        sizes = [size for size in (graph.tensors[name].shape or ())[1:] if isinstance(size, int)]
        step = f"{name}/step"
        seeing.constants[step] = np.array([max(1, math.prod(sizes) // SAMPLED) | 1], np.int64)
        flat = seeing.see(name, "Flatten", [name], f"{name}/flat", axis=1)
        parts = [flat, "sample/start", "sample/end", "sample/axis", step]
        seeing.outputs.append(seeing.see(name, "Slice", parts, f"{name}/sampled"))
    return seeing.whole()


def _widened(known: ChannelRange | None, low: Floats, high: Floats) -> ChannelRange:
    """Return the ranges of channels, from extremes (n, c), with what was known of them."""
    before = known or (np.float32(0), np.float32(0))
    return ChannelRange(np.minimum(before[0], low.min(axis=0)), np.maximum(before[1], high.max(axis=0)))


def _watched(graph: Graph) -> list[str]:
    outputs = [
        name for node in graph.nodes for name in (node.outputs[:1] if is_norm(node) else node.outputs) if name
    ]
    return [name for name in [*graph.inputs, *outputs] if graph.tensors[name].dtype == np.float32]


def _wide(span: Range) -> Range:
    """Return a range that a histogram can be made over: not empty."""
    low, high = span
    return (low, high) if high > low else (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
