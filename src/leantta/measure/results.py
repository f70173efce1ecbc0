"""From a record of a benchmark to figures: a table for people, JSON for machines."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from leantta.evaluate.intervals import Interval
from leantta.measure.energy import Block, energy_mj
from leantta.measure.figures import flat, images_per_second, median, p95, ratio
from leantta.measure.record import BenchRecord, RowRecord
from leantta.tables import MISSING, Table


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of one row; None is not measured."""

    name: str
    calls: int
    median_ms: float
    p95_ms: float
    ratio: Interval
    images_per_second: float | None
    energy_mj: float | None  # of a call
    peak_rss_bytes: float | None
    start_ms: float | None  # import, load and first prediction
    size_bytes: int | None
    analytic_bytes: int | None
    agreement: float | None


def figures_of(record: BenchRecord) -> list[Figures]:
    """Return the figures of each row that was measured."""
    base = record.row(record.base)
    assert base is not None  # `run_bench` measures it
    return [_figures(row, base, record) for row in record.measured]


def _figures(row: RowRecord, base: RowRecord, record: BenchRecord) -> Figures:
    values, batches = flat(row.latency_ms), flat(row.throughput_ms)
    idle = record.energy["idle_watts"]
    energies = [
        energy_mj(Block(int(block["calls"]), block["seconds"], block["joules"]), watts)
        for block, watts in zip(row.energy, idle, strict=False)
    ]
    starts = [
        sum(float(process[part] or 0) for part in ("import_ms", "load_ms", "first_ms"))
        for process in row.processes
    ]
    peaks = [float(peak) for process in row.processes if (peak := process["peak_rss_bytes"]) is not None]
    return Figures(
        name=row.name,
        calls=len(values),
        median_ms=median(values),
        p95_ms=p95(values),
        ratio=ratio(row.latency_ms, base.latency_ms, row.every),
        images_per_second=(
            images_per_second(batches, record.settings["throughput_batch"]) if batches else None
        ),
        energy_mj=median(energies) if energies else None,
        peak_rss_bytes=median(peaks) if peaks else None,
        start_ms=median(starts) if starts else None,
        size_bytes=row.size_bytes,
        analytic_bytes=row.analytic_bytes,
        agreement=row.agreement,
    )


COLUMNS: dict[str, Callable[[Figures], str]] = {
    "row": lambda row: row.name,
    "median ms": lambda row: f"{row.median_ms:.3f}",
    "p95 ms": lambda row: f"{row.p95_ms:.3f}",
    "ratio [95 %]": lambda row: "{:.3f} [{:.3f}, {:.3f}]".format(*row.ratio),
    "images/s": lambda row: _cell(row.images_per_second, 1, 0),
    "mJ": lambda row: _cell(row.energy_mj, 1, 2),
    "peak MB": lambda row: _cell(row.peak_rss_bytes, 1e6, 1),
    "start ms": lambda row: _cell(row.start_ms, 1, 0),
    "file MB": lambda row: _cell(row.size_bytes, 1e6, 2),
    "paper MB": lambda row: _cell(row.analytic_bytes, 1e6, 2),
    "same %": lambda row: _cell(row.agreement, 0.01, 0),
}
"""Each column by its head; one that has no figures is left out."""


def _cell(value: float | None, unit: float, digits: int) -> str:
    return MISSING if value is None else f"{value / unit:.{digits}f}"


def bench_table(record: BenchRecord) -> Table:
    """Return the table of a record, with what a reader must know below it."""
    rows = figures_of(record)
    columns = {head: [write(row) for row in rows] for head, write in COLUMNS.items()}
    shown = {head: cells for head, cells in columns.items() if any(cell != MISSING for cell in cells)}
    return Table(tuple(shown), tuple(zip(*shown.values(), strict=True)), tuple(_notes(record)))


def bench_json(record: BenchRecord) -> dict[str, Any]:
    """Return the figures of a record for machines, without its raw values."""
    content = {name: value for name, value in asdict(record).items() if name != "rows"}
    rows = [{**asdict(row), "ratio": row.ratio._asdict()} for row in figures_of(record)]
    missing = {row.name: row.unavailable for row in record.rows if row.unavailable}
    return {**content, "rows": rows, "unavailable": missing}


def _notes(record: BenchRecord) -> list[str]:
    settings = record.settings
    calls = f"{settings['sessions']} sessions of {settings['rounds']} rounds"
    slow = any(row.every > 1 for row in record.measured)
    gradients = any(row.engine == "torch-method" for row in record.measured)
    notes = [
        f"{f'{record.model}, ' if record.model else ''}{record.conditions}.",
        f"All rows take turns: {calls}{', slow rows in fewer of them' if slow else ''}; "
        f"{settings['settle']} calls before each that counts bring the row's memory back into the caches.",
        f"ratio: to {record.base} in the same round; median and bootstrap over sessions and rounds.",
        f"images/s: at batch {settings['throughput_batch']}. peak, start (import, load, first prediction): "
        "of fresh processes.",
    ]
    if any(row.analytic_bytes is not None for row in record.measured):
        notes.append(
            f"paper: the paper's memory figure, parameters {'and gradients' if gradients else 'alone'}. "
            "same: decides like torch in float32."
        )
    if record.energy["unmeasurable"]:
        notes.append(f"Energy: not measurable here: {record.energy['unmeasurable']}.")
    elif record.energy["meter"]:
        notes.append(f"mJ: energy of a call by {record.energy['meter']}, less the idle machine's.")
    notes += record.notes
    notes += [f"{row.name}: {note}." for row in record.rows for note in row.notes]
    notes += [f"{row.name}: not available: {row.unavailable}" for row in record.rows if row.unavailable]
    if record.interrupted:
        notes.append("INTERRUPTED: what was measured until then.")
    if record.noise["noisy"]:
        notes.append(f"WARNING: the machine was noisy: {'; '.join(record.noise['reasons'])}.")
    return notes
