"""Figures derived from records: accuracy as a whole and by group, differences, F1."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from leantta.errors import RecordError
from leantta.evaluate.intervals import Interval, mean_of, paired_share, wilson
from leantta.evaluate.record import Integers, Record
from leantta.streams.stream import Domain

Key = TypeVar("Key", bound=Hashable)
Keep = Callable[[Domain], bool]


class Tally(NamedTuple):
    """How many were right, of how many."""

    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share that was right."""
        return self.correct / self.total

    @property
    def interval(self) -> Interval:
        """The share that was right, with Wilson's 95 % interval."""
        return wilson(self.correct, self.total)


def every(domain: Domain) -> bool:  # noqa: ARG001 - the filter that lets all pass
    """Keep all domains."""
    return True


def tally(record: Record, keep: Keep = every, top: int = 1) -> Tally | None:
    """Return how many predictions were right among the domains to keep; None if there are none.

    With `top`, the right class counts among the first so many; that is None, too, if ranks were not kept.
    """
    kept = kept_inputs(record, keep)
    total = int(kept.sum())
    if top > 1:
        if record.ranks is None or not total:
            return None
        return Tally(int((record.ranks[kept] < top).sum()), total)
    return Tally(int(record.correct[kept].sum()), total) if total else None


def tally_by(record: Record, group: Callable[[Domain], Key | None]) -> dict[Key, Tally]:
    """Return how many predictions were right in each group of domains, in the order of their first input.

    A domain whose group is None is left out.
    """
    count = len(record.header.domains)
    total = np.bincount(record.domain, minlength=count)
    correct = np.bincount(record.domain[record.correct], minlength=count)
    tallies: dict[Key, Tally] = {}
    for i in dict.fromkeys(record.domain.tolist()):
        key = group(record.header.domains[i])
        if key is not None:
            before = tallies.get(key, Tally(0, 0))
            tallies[key] = Tally(before.correct + int(correct[i]), before.total + int(total[i]))
    return tallies


def by_cell(record: Record) -> dict[Domain, Tally]:
    """Return the tally of each corruption at each severity."""
    return tally_by(record, lambda domain: domain)


def by_corruption(record: Record) -> dict[str, Tally]:
    """Return the tally of each corruption, over its severities."""
    return tally_by(record, lambda domain: domain.corruption)


def by_severity(record: Record) -> dict[int, Tally]:
    """Return the tally of each severity, over the corruptions."""
    return tally_by(record, lambda domain: domain.severity)


def by_family(record: Record, families: Mapping[str, Sequence[str]]) -> dict[str, Tally]:
    """Return the tally of each family of corruptions; domains of no family are left out."""
    family = {corruption: name for name, members in families.items() for corruption in members}
    return tally_by(record, lambda domain: family.get(domain.corruption))


def paired_difference(first: Record, second: Record, keep: Keep = every) -> Interval:
    """Return how far the accuracy of `second` is above that of `first`, with the paired 95 % interval.

    Raises:
        RecordError: they are not over the same stream, one is not finished, or nothing is left to compare.
    """
    kept = _to_compare(first, second, keep)
    before, after = first.correct[kept], second.correct[kept]
    return paired_share(int((after & ~before).sum()), int((before & ~after).sum()), int(kept.sum()))


def paired_values(first: Record, second: Record, keep: Keep = every) -> Interval:
    """Return how far the user's own measure is higher in `second` than in `first`, input by input.

    Raises:
        RecordError: as of `paired_difference`, or one has no such values.
    """
    kept = _to_compare(first, second, keep)
    if first.values is None or second.values is None:
        raise RecordError("only records with values of the same metric can be compared. Run both with it.")
    return mean_of((second.values[kept] - first.values[kept]).tolist())


def weighted_f1(labels: Integers, predictions: Integers) -> float:
    """Return the F1 of each class, averaged with the share of each class among the labels as the weight.

    >>> weighted_f1(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]))  # F1: 4/5 and 2/3, weights 1/2 each
    0.7333333333333334
    """
    count = int(max(labels.max(), predictions.max())) + 1
    right = np.bincount(labels[labels == predictions], minlength=count)
    support = np.bincount(labels, minlength=count)
    # F1 = 2 TP / (2 TP + FP + FN), and TP + FN, TP + FP are the counts; a class without labels has no weight.
    both = support + np.bincount(predictions, minlength=count)
    f1 = 2 * right / np.maximum(both, 1)
    return float((f1 * support).sum() / support.sum())


def area_under_curve(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> float:
    """Return how often one of `high` is larger than one of `low`; ties count half (the area under the ROC).

    >>> area_under_curve(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    0.875
    """
    ordered = np.sort(low)
    below = np.searchsorted(ordered, high, side="left") + np.searchsorted(ordered, high, side="right")
    return float(below.mean() / (2 * len(low)))


def _to_compare(first: Record, second: Record, keep: Keep) -> npt.NDArray[np.bool_]:
    """Return which inputs two records are compared on."""
    if first.stream != second.stream or not np.array_equal(first.labels, second.labels):
        raise RecordError(
            f"only records over the same inputs can be compared: {first.method} ran over {_named(first)}, "
            f"{second.method} over {_named(second)}. Run both over the same stream, and to the end."
        )
    kept = kept_inputs(first, keep)
    if not kept.any():
        raise RecordError(f"nothing to compare in {_named(first)}: no input is of the kind asked for.")
    return kept


def kept_inputs(record: Record, keep: Keep) -> npt.NDArray[np.bool_]:
    """Return which inputs are of a domain to keep."""
    wanted = np.array([keep(domain) for domain in record.header.domains], dtype=np.bool_)
    return np.asarray(wanted[record.domain], dtype=np.bool_)


def _named(record: Record) -> str:
    stream = record.stream
    return f"{len(record)} of {record.header.inputs} inputs of {stream['name']} with seed {stream['seed']}"
