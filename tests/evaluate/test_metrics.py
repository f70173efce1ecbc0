"""Each figure against the same figure counted by hand."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantta.errors import RecordError
from leantta.evaluate.metrics import (
    Tally,
    by_cell,
    by_corruption,
    by_family,
    by_severity,
    paired_difference,
    tally,
    weighted_f1,
)
from leantta.evaluate.record import Header, Record
from leantta.records.provenance import Provenance
from leantta.streams.stream import Domain

DOMAINS = (Domain("clean", 0), Domain("fog", 1), Domain("fog", 5), Domain("snow", 5), Domain("unused", 2))
FAMILIES = {"weather": ("fog", "snow"), "noise": ("shot_noise",)}


def record_of(rows: list[tuple[int, int, int]], method: str = "none", seed: int = 0) -> Record:
    """A record of (label, prediction, domain)."""
    recipe = {
        "model": "m",
        "method": method,
        "dataset": "d",
        "stream": {"name": "s", "seed": seed, "settings": {}},
    }
    header = Header(
        recipe=recipe,
        inputs=len(rows),
        domains=DOMAINS,
        provenance=Provenance(command="", machine={}, versions={}, started=""),
    )
    labels, predictions, domain = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Record(header=header, labels=labels, predictions=predictions, domain=domain, finished="now")


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)

GROUPS: dict[str, tuple[Callable[[Record], dict[Any, Tally]], Callable[[Domain], object]]] = {
    "cell": (by_cell, lambda domain: domain),
    "corruption": (by_corruption, lambda domain: domain.corruption),
    "severity": (by_severity, lambda domain: domain.severity),
    "family": (
        lambda record: by_family(record, FAMILIES),
        lambda domain: "weather" if domain.corruption in ("fog", "snow") else None,
    ),
}


@pytest.mark.parametrize("name", GROUPS)
@given(rows=rows)
def test_tallies_by_group(name: str, rows: list[tuple[int, int, int]]) -> None:
    function, group = GROUPS[name]
    counted: dict[object, list[int]] = defaultdict(lambda: [0, 0])
    for label, prediction, domain in rows:
        key = group(DOMAINS[domain])
        if key is not None:
            counted[key][0] += label == prediction
            counted[key][1] += 1
    found = function(record_of(rows))
    assert found == {key: Tally(*count) for key, count in counted.items()}
    assert list(found) == list(counted)  # in the order of the stream


@given(rows=rows)
def test_tally(rows: list[tuple[int, int, int]]) -> None:
    record = record_of(rows)
    correct = sum(label == prediction for label, prediction, _ in rows)
    whole = tally(record)
    assert whole == (correct, len(rows))
    assert whole.accuracy == correct / len(rows)
    assert whole.interval.value == whole.accuracy
    foggy = [label == prediction for label, prediction, domain in rows if DOMAINS[domain].corruption == "fog"]
    found = tally(record, lambda domain: domain.corruption == "fog")
    assert found == ((sum(foggy), len(foggy)) if foggy else None)


@given(rows=rows, data=st.data())
def test_paired_difference(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    first = record_of(rows)
    second = record_of(
        [(label, new, domain) for (label, _, domain), new in zip(rows, other, strict=True)], "tent"
    )
    found = paired_difference(first, second)
    steps = [(new == label) - (old == label) for (label, old, _), new in zip(rows, other, strict=True)]
    assert found.value == pytest.approx(sum(steps) / len(steps))
    assert found.low <= found.high
    back = paired_difference(second, first)
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low))


def test_a_paired_interval_is_narrower_than_two_apart() -> None:
    labels = np.random.default_rng(0).integers(0, 4, 1000)
    easy = [(int(label), int(label) if i < 700 else 3 - int(label), 1) for i, label in enumerate(labels)]
    better = [(label, label if i < 750 else prediction, 1) for i, (label, prediction, _) in enumerate(easy)]
    found = paired_difference(record_of(easy), record_of(better))
    assert found.value == pytest.approx(0.05)
    alone = tally(record_of(easy))
    assert alone is not None
    assert found.half_width < alone.interval.half_width / 1.5


def test_only_the_same_inputs_are_compared() -> None:
    first = record_of([(1, 1, 0), (2, 2, 1)])
    with pytest.raises(RecordError, match=r"same inputs.*seed 0.*seed 1"):
        paired_difference(first, record_of([(1, 1, 0), (2, 2, 1)], seed=1))
    with pytest.raises(RecordError, match=r"2 of 2 inputs.*1 of 1 inputs"):
        paired_difference(first, record_of([(1, 1, 0)]))
    with pytest.raises(RecordError, match="nothing to compare"):
        paired_difference(first, first, lambda domain: domain.severity == 5)


def f1_by_definition(labels: list[int], predictions: list[int]) -> Fraction:
    """Precision and recall of each class, their harmonic mean, weighted with the class's share."""
    total = Fraction(0)
    pairs = list(zip(labels, predictions, strict=True))
    for c in set(labels):
        hits = sum(label == c == prediction for label, prediction in pairs)
        if hits:
            precision = Fraction(hits, sum(prediction == c for prediction in predictions))
            recall = Fraction(hits, labels.count(c))
            total += 2 * precision * recall / (precision + recall) * labels.count(c)
    return total / len(labels)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=50))
def test_weighted_f1(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = (list(column) for column in zip(*pairs, strict=True))
    found = weighted_f1(np.array(labels), np.array(predictions))
    assert found == pytest.approx(float(f1_by_definition(labels, predictions)), abs=1e-12)
