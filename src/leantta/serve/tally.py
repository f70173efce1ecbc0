"""What a model has seen since the server began, for Prometheus: shifts, distances and labels in numbers.

A batch is counted at once, so that counting costs next to nothing for each input. The names are the same
whatever the model; `docs/serving.md` lists them.
"""

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric, SummaryMetricFamily

from leantta.runtime.metadata import Info
from leantta.runtime.prediction import Outputs

SHIFT_BOUNDS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Upper bounds of the classes of the shift; 1 in 100 source inputs exceeds 1."""

BATCH_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128)

MOST_LABELS = 100
"""Labels that are counted by name; the rest, in the order in which they come, are counted as OTHER."""

OTHER = "(other)"
_LARGEST = 1e9  # what is infinite must not make a sum useless for ever


class Tally:
    """What one model has seen. Batches are added by its thread, and read when Prometheus asks."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = Lock()
        self._inputs = 0
        self._batches = np.zeros(len(BATCH_BOUNDS) + 1, np.int64)
        self._batch_seconds = 0.0
        self._shifts = np.zeros(len(SHIFT_BOUNDS) + 1, np.int64)
        self._shift_sum = 0.0
        self._beyond = 0
        self._distances: dict[str, tuple[float, int]] = {}
        self._labels: dict[str, int] = {}

    def add(self, info: Info, outputs: Outputs) -> None:
        """Count a batch."""
        labels = _labels(info, outputs)
        with self._lock:
            self._inputs += outputs.count
            self._batches[np.searchsorted(BATCH_BOUNDS, outputs.count)] += 1
            self._batch_seconds += outputs.latency_ms / 1000
            for label, count in labels.items():
                name = label if label in self._labels or len(self._labels) < MOST_LABELS else OTHER
                self._labels[name] = self._labels.get(name, 0) + count
            if outputs.shift is not None:
                shifts = _bounded(outputs.shift)
                self._shifts += np.bincount(
                    np.searchsorted(SHIFT_BOUNDS, shifts), minlength=len(self._shifts)
                )
                self._shift_sum += float(shifts.sum())
                self._beyond += int((shifts > 1).sum())
            if outputs.distance is not None:
                sums = _bounded(outputs.distance).sum(axis=0)
                for layer, value in zip(info.layers, sums.tolist(), strict=True):
                    before, count = self._distances.get(layer, (0.0, 0))
                    self._distances[layer] = (before + value, count + len(outputs.distance))

    def tell(self, told: "_Told") -> None:
        """Add what was counted to what Prometheus is told."""
        with self._lock:
            model = [self.model]
            told.inputs.add_metric(model, self._inputs)
            told.beyond.add_metric(model, self._beyond)
            told.seconds.add_metric(model, self._batch_seconds)
            told.shift.add_metric(model, _buckets(SHIFT_BOUNDS, self._shifts), self._shift_sum)
            told.batches.add_metric(model, _buckets(BATCH_BOUNDS, self._batches), self._inputs)
            for layer, (total, count) in self._distances.items():
                told.distance.add_metric([*model, layer], count, total)
            for label, count in self._labels.items():
                told.labels.add_metric([*model, label], count)


class _Told(NamedTuple):
    """What Prometheus is told, of all models together."""

    inputs: CounterMetricFamily
    beyond: CounterMetricFamily
    seconds: CounterMetricFamily
    shift: HistogramMetricFamily
    batches: HistogramMetricFamily
    distance: SummaryMetricFamily
    labels: CounterMetricFamily


def collected(tallies: Iterable[Tally]) -> Iterator[Metric]:
    """Give what the tallies of all models counted."""
    model = ["model"]
    told = _Told(
        CounterMetricFamily("leantta_inputs", "Inputs that were predicted.", labels=model),
        CounterMetricFamily(
            "leantta_inputs_beyond", "Inputs with a shift above 1: 1 in 100 source inputs.", labels=model
        ),
        CounterMetricFamily("leantta_engine_seconds", "Time in which the engine computed.", labels=model),
        HistogramMetricFamily("leantta_shift", "How far inputs are from the training data.", labels=model),
        HistogramMetricFamily("leantta_batch_inputs", "Inputs that were computed at once.", labels=model),
        SummaryMetricFamily(
            "leantta_distance",
            "How far inputs are from what a layer saw in training.",
            labels=["model", "layer"],
        ),
        CounterMetricFamily("leantta_labels", "Answers by their label.", labels=["model", "label"]),
    )
    for tally in tallies:
        tally.tell(told)
    yield from told


def _labels(info: Info, outputs: Outputs) -> dict[str, int]:
    """Return how often each label is the answer; none where a model does not decide for an input."""
    decides = info.deciding
    if decides is None or decides.role != "classes":
        return {}
    logits = outputs.arrays[decides.name]
    best = (logits[:, 0] > 0).astype(int) if logits.shape[1] == 1 else logits.argmax(axis=1)
    indices, counts = np.unique(best, return_counts=True)
    return {info.label(int(i)): int(n) for i, n in zip(indices, counts, strict=True)}


def _bounded(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    finite = np.nan_to_num(values.astype(np.float64), nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)
    return np.asarray(finite.clip(-_LARGEST, _LARGEST))


def _buckets(bounds: Sequence[float], counts: npt.NDArray[np.int64]) -> list[tuple[str, float]]:
    texts = [*map(str, map(float, bounds)), "+Inf"]
    return list(zip(texts, np.cumsum(counts).astype(float).tolist(), strict=True))
