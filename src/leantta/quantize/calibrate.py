"""Which values the tensors of a graph take on source images, seen by running the float32 graph itself."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from leantta.errors import DataError
from leantta.graph.functions import is_norm
from leantta.graph.ir import Array, Graph
from leantta.graph.run import open_graph
from leantta.progress import Progress, silent
from leantta.quantize.observers import BINS, Counts, ObserverName, observer_of
from leantta.quantize.params import Range

Floats = npt.NDArray[np.float32]

MEMORY_BYTES = 1 << 27
"""How much the watched tensors of one batch may take."""


class ChannelRange(NamedTuple):
    """The least and the largest value of each channel, zero included: each (c,)."""

    low: Floats
    high: Floats


@dataclass(frozen=True)
class Ranges:
    """The range of each tensor, the tensors that never left zero, and the ranges of channels."""

    spans: dict[str, Range]
    empty: tuple[str, ...]
    channels: dict[str, ChannelRange]  # of what normalizations read


def calibrate(
    graph: Graph, inputs: Floats, observer: ObserverName = "minmax", *, progress: Progress = silent
) -> Ranges:
    """Return the range of every float tensor of the graph over inputs (n, ...), as the graph takes them.

    Raises:
        DataError: a value is not finite.
        SettingError: there is no such observer.
    """
    decide = observer_of(observer)
    watched = _watched(graph)
    session = _session(graph, watched)
    batch = _batch_size(graph, watched)
    passes = 1 if observer == "minmax" else 2
    total = passes * len(inputs)
    spans: dict[str, Range] = dict.fromkeys(watched, (np.inf, -np.inf))
    channels: dict[str, ChannelRange] = {}
    read = {node.inputs[0] for node in graph.nodes if is_norm(node)}
    for done, values in _runs(session, graph, watched, inputs, batch):
        for name, value in zip(watched, values, strict=True):
            low, high = float(value.min()), float(value.max())
            if not np.isfinite(low + high):
                raise DataError(
                    f"{name!r} is not finite for one of the calibration images {done} to "
                    f"{done + len(value) - 1}; check the weights and the images"
                )
            spans[name] = min(spans[name][0], low), max(spans[name][1], high)
            if name in read:
                channels[name] = _widened(channels.get(name), value)
        progress(min(done + batch, len(inputs)), total)
    if passes == 2:
        counts: dict[str, Counts] = {name: np.zeros(BINS, np.int64) for name in watched}
        for done, values in _runs(session, graph, watched, inputs, batch):
            for name, value in zip(watched, values, strict=True):
                counts[name] += np.histogram(value, BINS, _wide(spans[name]))[0]
            progress(len(inputs) + min(done + batch, len(inputs)), total)
    empty = tuple(name for name, (low, high) in spans.items() if low == high == 0)
    if passes == 2:
        moving = {name: span for name, span in spans.items() if name not in empty}
        spans |= {name: decide(_wide(span), counts[name]) for name, span in moving.items()}
    return Ranges(spans, empty, channels)


def _widened(known: ChannelRange | None, value: Array) -> ChannelRange:
    """Return the ranges of channels, the second axis, with what was known of them."""
    away = (0, *range(2, value.ndim))
    low, high = known or (np.float32(0), np.float32(0))
    return ChannelRange(np.minimum(low, value.min(axis=away)), np.maximum(high, value.max(axis=away)))


def _watched(graph: Graph) -> list[str]:
    outputs = [
        name for node in graph.nodes for name in (node.outputs[:1] if is_norm(node) else node.outputs) if name
    ]
    return [name for name in [*graph.inputs, *outputs] if graph.tensors[name].dtype == np.float32]


def _session(graph: Graph, watched: Sequence[str]) -> ort.InferenceSession:
    return open_graph(replace(graph, outputs=tuple(name for name in watched if name not in graph.inputs)))


def _batch_size(graph: Graph, watched: Iterable[str]) -> int:
    each = sum(
        4 * int(np.prod([d for d in (graph.tensors[w].shape or ()) if isinstance(d, int)])) for w in watched
    )
    return max(1, min(32, MEMORY_BYTES // max(each, 1)))


def _runs(
    session: ort.InferenceSession, graph: Graph, watched: Sequence[str], inputs: Floats, batch: int
) -> Iterator[tuple[int, list[Array]]]:
    """Yield the position of each batch with the values of the watched tensors."""
    source = graph.inputs[0]
    for start in range(0, len(inputs), batch):
        part = inputs[start : start + batch]
        values = session.run(None, {source: part})
        yield start, [part, *values] if watched[0] == source else values


def _wide(span: Range) -> Range:
    """Return a range that a histogram can be made over: not empty."""
    low, high = span
    return (low, high) if high > low else (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
