"""One line per method: how accurate it is, and how much better than the first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leantta.evaluate.intervals import Interval, mean_of
from leantta.evaluate.metrics import every, paired_difference
from leantta.evaluate.record import Record
from leantta.records.provenance import canonical
from leantta.report.groups import Group, Score, group_records, is_corrupted
from leantta.streams.stream import Domain
from leantta.tables import MISSING, Table

WORST = 5


@dataclass(frozen=True)
class SummaryRow:
    """What is said of one method; what was not measured is None."""

    dataset: str
    model: str
    stream: str
    method: str
    clean: Score | None
    corrupted: Score | None
    worst: Score | None  # at severity 5
    baseline: str | None  # the first method, over the same stream with the same model
    difference: Interval | None  # to it, on the same inputs


def summarize(records: Sequence[Record]) -> list[SummaryRow]:
    """Return one row per method, model and stream, in the order of the records.

    A run over clean images joins the rows of the same method and model. The difference to the first method is
    paired: input by input for one seed, seed by seed for several.

    Raises:
        RecordError: there are no records, one is not finished, or one is there twice.
    """
    groups = group_records(records)
    corrupted = [group for group in groups if not group.is_clean]
    joined = {group.run_key for group in corrupted}
    shown = [group for group in groups if not group.is_clean or group.run_key not in joined]
    return [_row(group, groups, shown) for group in shown]


def _row(group: Group, groups: Sequence[Group], shown: Sequence[Group]) -> SummaryRow:
    same = [
        g
        for g in shown
        if (g.dataset, g.model, g.stream_key) == (group.dataset, group.model, group.stream_key)
    ]
    clean = group.score(_is_clean) or next(
        (g.score(_is_clean) for g in groups if g.is_clean and g.run_key == group.run_key), None
    )
    baseline = same[0] if same[0] is not group else None
    return SummaryRow(
        dataset=group.dataset,
        model=group.model,
        stream=group.stream,
        method=group.method,
        clean=clean,
        corrupted=group.score(is_corrupted),
        worst=group.score(lambda domain: domain.severity == WORST),
        baseline=baseline.method if baseline else None,
        difference=_difference(baseline, group) if baseline else None,
    )


def _is_clean(domain: Domain) -> bool:
    return not is_corrupted(domain)


def _difference(baseline: Group, group: Group) -> Interval | None:
    """Return the paired difference over the seeds that both ran with; None if there are none."""
    before = {canonical(record.stream): record for record in baseline.records}
    keep = every if group.is_clean else is_corrupted
    pairs = [(before[key], record) for record in group.records if (key := canonical(record.stream)) in before]
    differences = [paired_difference(first, second, keep) for first, second in pairs]
    if len(differences) > 1:
        return mean_of([difference.value for difference in differences])
    return differences[0] if differences else None


def summary(records: Sequence[Record]) -> Table:
    """Return the summary as a table; columns that would say the same, or nothing, in each row are left out.

    Raises:
        RecordError: there are no records, one is not finished, or one is there twice.
    """
    rows = summarize(records)
    names = {row.baseline for row in rows if row.baseline is not None}
    versus = f"vs {names.pop()}" if len(names) == 1 else "vs first"
    columns: list[tuple[str, Callable[[SummaryRow], str], bool]] = [
        ("dataset", lambda row: row.dataset, len({row.dataset for row in rows}) > 1),
        ("model", lambda row: row.model, len({row.model for row in rows}) > 1),
        ("stream", lambda row: row.stream, len({row.stream for row in rows}) > 1),
        ("method", lambda row: row.method, True),
        ("clean", lambda row: _shown(row.clean), any(row.clean for row in rows)),
        ("corrupted", lambda row: _shown(row.corrupted), any(row.corrupted for row in rows)),
        ("severity 5", lambda row: _shown(row.worst), any(row.worst for row in rows)),
        (versus, lambda row: _points(row.difference), any(row.difference for row in rows)),
    ]
    kept = [(name, cell) for name, cell, wanted in columns if wanted]
    return Table(
        tuple(name for name, _ in kept),
        tuple(tuple(cell(row) for _, cell in kept) for row in rows),
        _notes(rows),
    )


def _shown(score: Score | None) -> str:
    return MISSING if score is None else str(score)


def _points(difference: Interval | None) -> str:
    if difference is None:
        return MISSING
    return difference.points


def _notes(rows: Sequence[SummaryRow]) -> tuple[str, ...]:
    runs = {
        score.runs for row in rows for score in (row.clean, row.corrupted, row.worst) if score is not None
    }
    meanings = []
    if 1 in runs:
        meanings.append("half the 95 % interval (one run)")
    if several := sorted(runs - {1}):
        meanings.append(f"the standard deviation over {' or '.join(map(str, several))} seeds")
    notes = [f"Accuracy in %; ± is {', or '.join(meanings)}."]
    if any(row.difference for row in rows):
        notes.append("Differences in points with their 95 % interval, on the same inputs.")
    return tuple(notes)
