"""Which values the tensors of a graph take on source images, seen by running the float32 graph itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError
from leantta.graph.functions import is_norm
from leantta.graph.ir import Array, Graph, Node, Tensor
from leantta.graph.run import batches, open_graph
from leantta.pixels import Inputs
from leantta.progress import Progress, silent
from leantta.quantize.observers import BINS, Counts, Observer, ObserverName, observer_of
from leantta.quantize.params import Range

Floats = npt.NDArray[np.float32]

MEMORY_BYTES = 1 << 25
"""How much the tensors of one batch may take while their values are counted."""

BATCH_SIZE, SAMPLED = 8, 1 << 14
"""Inputs at once while extremes are sought, and values of one map of one input that are counted."""


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
    session = open_graph(_reduced(graph, watched))
    spans: dict[str, Range] = dict.fromkeys(watched, (np.inf, -np.inf))
    channels: dict[str, ChannelRange] = {}
    for done, batch in batches(inputs, BATCH_SIZE):
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
    watched = [name for name in _watched(graph) if name not in graph.inputs]
    session = open_graph(replace(graph, outputs=tuple(watched)))
    counts: dict[str, Counts] = {name: np.zeros(BINS, np.int64) for name in seen.spans}
    for done, batch in batches(inputs, _batch_size(graph, watched)):
        values = session.run(None, {graph.inputs[0]: batch})
        for name, value in zip([graph.inputs[0], *watched], [batch, *values], strict=True):
            if name not in counts:
                continue
            rows = value.reshape(len(batch), -1)
            low, high = _wide(seen.spans[name])
            sampled = rows[:, :: max(1, rows.shape[1] // SAMPLED) | 1]
            places = ((sampled.ravel() - low) * (BINS / (high - low))).astype(np.int64)
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


def _reduced(graph: Graph, watched: Sequence[str]) -> Graph:
    """Return a graph that gives the extremes of each map per channel, and its sum, which nothing escapes."""
    nodes, constants, tensors = list(graph.nodes), dict(graph.constants), dict(graph.tensors)
    outputs: list[str] = []
    for name in watched:
        if not _is_map(graph, name):
            if name in graph.inputs:
                nodes.append(Node("Identity", (name,), (f"{name}/seen",), {}, f"{name}/seen"))
                tensors[f"{name}/seen"] = tensors[name]
            outputs.append(f"{name}/seen" if name in graph.inputs else name)
            continue
        shape = graph.tensors[name].shape
        assert shape is not None  # of a map
        axes = f"positions/{len(shape)}"
        constants[axes] = np.arange(2, len(shape))
        for kind in ("Min", "Max", "Sum"):
            made = f"{name}/{kind}"
            nodes.append(Node(f"Reduce{kind}", (name, axes), (made,), {"keepdims": 0}, made))
            tensors[made] = Tensor(np.dtype(np.float32), shape[:2])
            outputs.append(made)
    return replace(graph, nodes=tuple(nodes), constants=constants, tensors=tensors, outputs=tuple(outputs))


def _widened(known: ChannelRange | None, low: Floats, high: Floats) -> ChannelRange:
    """Return the ranges of channels, from extremes (n, c), with what was known of them."""
    before = known or (np.float32(0), np.float32(0))
    return ChannelRange(np.minimum(before[0], low.min(axis=0)), np.maximum(before[1], high.max(axis=0)))


def _watched(graph: Graph) -> list[str]:
    outputs = [
        name for node in graph.nodes for name in (node.outputs[:1] if is_norm(node) else node.outputs) if name
    ]
    return [name for name in [*graph.inputs, *outputs] if graph.tensors[name].dtype == np.float32]


def _batch_size(graph: Graph, watched: Iterable[str]) -> int:
    each = sum(
        4 * int(np.prod([d for d in (graph.tensors[w].shape or ()) if isinstance(d, int)])) for w in watched
    )
    return max(1, min(32, MEMORY_BYTES // max(each, 1)))


def _wide(span: Range) -> Range:
    """Return a range that a histogram can be made over: not empty."""
    low, high = span
    return (low, high) if high > low else (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
