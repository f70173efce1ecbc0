"""Which ranges, which scales and which layers in float32 lose least, seen on images kept for choosing.

Always: the mean error of every layer goes into its bias. With `auto` the rest is tried one by one, and what
makes the scores clearly more like the float model's stays, if the distances of adapting layers get no worse:
the observers, equal channels, and, where the scores still are not near, the layers that rounding costs most
in float32, within a budget.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from leantta.graph.functions import distances
from leantta.graph.ir import Array, Graph
from leantta.graph.run import run_graph
from leantta.pixels import Inputs
from leantta.progress import Progress, silent
from leantta.quantize.calibrate import Ranges, calibrate, counted, decided, seen_ranges
from leantta.quantize.correction import LayerError, corrected, layer_errors
from leantta.quantize.equalisation import equalised
from leantta.quantize.lowering import Int8Graph
from leantta.quantize.observers import OBSERVERS, ObserverName, observer_of
from leantta.quantize.params import Range
from leantta.quantize.work import multiply_adds
from leantta.runtime.kernel import register

WATCHED = 64
"""So many images tell the mean errors of layers, and count values for the observers to choose from."""

CLEARLY = 0.97
"""Of the error before: so little must be left of it, or the simpler way is taken."""

MORE_OFF = 1.1
"""Of the error of distances before: the most that may be left of it, as they tell how far an input is."""

NEAR = 0.04
"""Error of the scores, as a share of their deviation, with which all layers stay in int8."""

Writer = Callable[[Graph, Ranges, Collection[str]], Int8Graph]
"""Writes a float graph in int8 with these ranges, and the makers of some tensors in float32."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A float graph that is ready to be written in int8, and how."""

    graph: Graph
    ranges: Ranges
    observer: ObserverName
    equalised: bool = False
    left: tuple[str, ...] = ()  # tensors whose makers stay in float32
    error: float | None = None  # of the outputs, as a share of their deviation; None: nobody looked
    distance_error: float = 0.0  # the same of the distances of adapting layers

    def remedies(self) -> tuple[str, ...]:
        """Return what was done against rounding errors."""
        even = ("channels equalised",) if self.equalised else ()
        left = (f"{len(self.left)} layers in float32",) if self.left else ()
        return (f"{self.observer} ranges", "biases corrected", *even, *left)


class Images(NamedTuple):
    """Calibration inputs as the graph takes them: for ranges, and others to choose by."""

    fitting: Array | Inputs
    choosing: Array | Inputs
    span: Range | None = None  # all values that an input can have, if that is known

    def watched(self) -> Array | Inputs:
        """Return some of those for ranges, from all over."""
        return self.fitting[:: max(1, len(self.fitting) // WATCHED)]


def prepare(
    graph: Graph,
    images: Images,
    write: Writer,
    *,
    observer: ObserverName,
    float_budget: float,
    progress: Progress = silent,
) -> Prepared:
    """Return the graph made ready for int8, by one observer or, with `auto`, as is best on other images.

    Raises:
        DataError: a value is not finite.
        SettingError: there is no such observer.
    """
    steps = _steps(graph, images, write, observer, float_budget)
    best, total = next(steps), 1 if observer != "auto" else len(OBSERVERS) + 3
    progress(1, total)
    for place, better in enumerate(steps, start=2):
        best = better
        progress(min(place, total), total)
    progress(total, total)
    return best


def _steps(
    graph: Graph, images: Images, write: Writer, observer: ObserverName, float_budget: float
) -> Iterator[Prepared]:
    """Yield the best so far, again and again."""
    auto = observer == "auto"
    ranges = seen_ranges(graph, images.fitting) if auto else calibrate(graph, images.fitting, observer)
    ranges = _with_input(graph, ranges, images.span)
    errors = layer_errors(graph, ranges.spans, images.watched())
    best = Prepared(corrected(graph, errors), ranges, "minmax" if auto else observer)
    yield best
    if not len(images.choosing):
        return
    heads, names = len(graph.outputs), (*graph.outputs, *distances(graph.nodes))
    wanted = run_graph(replace(graph, outputs=names), images.choosing, names, kernel=register)

    def judged(tried: Prepared) -> Prepared:
        int8 = write(tried.graph, tried.ranges, tried.left)
        found = run_graph(int8.graph, images.choosing, int8.graph.outputs, kernel=register)
        errors = [_error(now, exact) for now, exact in zip(found, wanted, strict=True)]
        of_distances = sum(errors[heads:]) / max(len(errors) - heads, 1)
        return replace(tried, error=sum(errors[:heads]) / heads, distance_error=of_distances)

    best = judged(best)
    if auto:
        counts = counted(graph, images.watched(), ranges)
        for name, decide in OBSERVERS.items():
            if name != "minmax":
                other = _with_input(graph, decided(ranges, counts, decide), images.span)
                best = _better(judged(replace(best, ranges=other, observer=name)), best)
                yield best
        best = _better(judged(_even(graph, ranges, images, best)), best)
        yield best
    assert best.error is not None  # it was judged
    if float_budget > 0 and best.error > NEAR:
        left = _worst(best.graph, errors, float_budget)
        if left:
            best = _better(judged(replace(best, left=left)), best)
    yield best


def _error(found: Array, wanted: Array) -> float:
    """Return how far an output is off, as a share of its deviation."""
    return float((found - wanted).std() / max(float(wanted.std()), 1e-9))


def _even(graph: Graph, seen: Ranges, images: Images, best: Prepared) -> Prepared:
    """Return the graph with equal channels, and ranges as they were found best."""
    even = equalised(graph, seen.channels)
    ranges = seen_ranges(even, images.watched())
    counts = counted(even, images.watched(), ranges)
    ranges = _with_input(even, decided(ranges, counts, observer_of(best.observer)), images.span)
    errors = layer_errors(even, ranges.spans, images.watched())
    return replace(best, graph=corrected(even, errors), ranges=ranges, equalised=True)


def _worst(graph: Graph, errors: Mapping[str, LayerError], budget: float) -> tuple[str, ...]:
    """Return the layers that rounding disturbs most, as many as the budget of multiply-adds allows."""
    work = multiply_adds(graph)
    room = budget * sum(work.values())
    left: list[str] = []
    for name in sorted(errors, key=lambda each: errors[each].noise, reverse=True):
        if work[name] <= room:
            room -= work[name]
            left.append(name)
    return tuple(left)


def _better(tried: Prepared, best: Prepared) -> Prepared:
    assert tried.error is not None
    assert best.error is not None
    nearer = tried.error < CLEARLY * best.error
    return tried if nearer and tried.distance_error <= MORE_OFF * best.distance_error else best


def _with_input(graph: Graph, ranges: Ranges, span: Range | None) -> Ranges:
    return ranges if span is None else replace(ranges, spans={**ranges.spans, graph.inputs[0]: span})
