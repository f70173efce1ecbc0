"""A record of either kind, of rows or of scaling: read it, write it, show it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from leantta.measure.fusion_plot import fusion_plot
from leantta.measure.record import BenchRecord, kind_of, read_bench, write_bench
from leantta.measure.scaling_plot import scaling_plot
from leantta.measure.scaling_record import KIND as SCALING
from leantta.measure.scaling_record import ScalingRecord, read_scaling, scaling_table, write_scaling
from leantta.measure.table import bench_json, bench_table
from leantta.tables import Table

Record = BenchRecord | ScalingRecord


def read_any(path: Path) -> Record:
    """Return the record in a file.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is no record of a benchmark, or it is damaged.
    """
    return read_scaling(path) if kind_of(path) == SCALING else read_bench(path)


def write_any(record: Record, path: Path) -> None:
    """Write the record; the file appears whole or not at all.

    Raises:
        StorageError: it cannot be written.
    """
    if isinstance(record, ScalingRecord):
        write_scaling(record, path)
    else:
        write_bench(record, path)


def table_of(record: Record) -> Table:
    """Return the table of a record."""
    return scaling_table(record) if isinstance(record, ScalingRecord) else bench_table(record)


def plot_of(record: Record) -> str:
    """Return the plot of a record as an SVG file.

    Raises:
        RecordError: it has no rows that its plot shows.
    """
    return scaling_plot(record) if isinstance(record, ScalingRecord) else fusion_plot(record)


def json_of(record: Record) -> dict[str, Any]:
    """Return the figures of a record for machines."""
    return asdict(record) if isinstance(record, ScalingRecord) else bench_json(record)


def is_interrupted(record: Record) -> bool:
    """Tell whether a keyboard interrupt ended the measuring."""
    return isinstance(record, BenchRecord) and record.interrupted
