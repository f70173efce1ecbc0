"""The paper's plot of partial fusion, from a record: all, half and none of the layers fused, by engine."""

from leantta.errors import RecordError
from leantta.measure.figures import flat, median, ratio
from leantta.measure.plot import DEEP, MIDDLE, PALE, Bar, bar_picture
from leantta.measure.record import BenchRecord, RowRecord
from leantta.plotting import Picture

FUSED = {
    "none": (PALE, "all fused: nothing adapts"),
    "half": (MIDDLE, "half fused: the first half adapts"),
    "all": (DEEP, "none fused: every layer adapts"),
}
"""Which layers adapt -> the colour of the bar and what it is called; the paper speaks of what is fused."""


def rows_by_engine(record: BenchRecord) -> dict[str, dict[str, RowRecord]]:
    """Return the measured rows of each engine by which of their layers adapt."""
    engines: dict[str, dict[str, RowRecord]] = {}
    for row in record.measured:
        if row.series is not None and row.adapts in FUSED:
            engines.setdefault(row.series, {})[row.adapts] = row
    return engines


def fusion_picture(record: BenchRecord) -> Picture:
    """Return the bars: latency on the left, its ratio to all layers fused on the right.

    Raises:
        RecordError: the record has no rows that the plot shows.
    """
    engines = rows_by_engine(record)
    if not engines:
        raise RecordError("the record has no rows of a model with layers fused and not, so no plot of them.")
    return bar_picture(
        {
            engine: [_bar(rows[adapts], rows.get("none")) for adapts in FUSED if adapts in rows]
            for engine, rows in engines.items()
        },
        title=f"{record.model}, int8: one prediction with all, half and none of the BatchNorm layers fused",
        under=record.conditions,
        ratio_to="all fused, same engine",
        legend=dict(FUSED.values()),
    )


def _bar(row: RowRecord, fused: RowRecord | None) -> Bar:
    colour, _ = FUSED[str(row.adapts)]
    times = None if fused is None else ratio(row.latency_ms, fused.latency_ms, row.every, fused.every).value
    return Bar(row.name, colour, median(flat(row.latency_ms)), times)
