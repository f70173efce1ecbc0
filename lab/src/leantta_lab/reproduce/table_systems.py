"""The table of systems: time, memory and energy of each method, beside the paper's cells."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from leantta.evaluate.intervals import deviation
from leantta.measure.figures import flat
from leantta.measure.record import BenchRecord, RowRecord
from leantta.measure.results import Figures, figures_of
from leantta.tables import MISSING, Table
from leantta_lab.measure.analytic import (
    Footprint,
    cotta_bytes,
    eata_bytes,
    fp32_bytes,
    int8_bytes,
    tent_bytes,
)
from leantta_lab.reproduce.bench_jobs import (
    COTTA,
    COTTA_FEW,
    FUSED_ROWS,
    HALF,
    PLAIN,
    SECONDS,
    bench_job,
    bench_record,
)
from leantta_lab.reproduce.paper_cells import PAPER_SYSTEMS, PaperCell
from leantta_lab.reproduce.target import Job, Page, Setting, Target


@dataclass(frozen=True, kw_only=True)
class SystemRow:
    """A row of the table, and the rows of benchmarks that measure it; the first that is there is shown."""

    method: str
    variant: str  # int8, or the batch size
    rows: tuple[str, ...]
    memory: Callable[[Footprint, int], int]

    @property
    def batch(self) -> int:
        """The batch size."""
        return 1 if self.variant == "int8" else int(self.variant)


SYSTEM_ROWS = (
    SystemRow(method="None", variant="1", rows=(PLAIN,), memory=fp32_bytes),
    SystemRow(method="None", variant="int8", rows=("ours-none",), memory=int8_bytes),
    SystemRow(method="RealisticTTA", variant="1", rows=("torch-realistic-tta",), memory=fp32_bytes),
    *(
        SystemRow(method=method, variant=batch, rows=rows, memory=memory)
        for method, rows, memory in (
            ("Tent", ("torch-tent",), tent_bytes),
            ("EATA", ("torch-eata",), eata_bytes),
            ("CoTTA", (COTTA, COTTA_FEW), cotta_bytes),
        )
        for batch in ("1", "16", "64")
    ),
    SystemRow(method="LeanTTA", variant="1", rows=(HALF,), memory=fp32_bytes),
    SystemRow(method="LeanTTA", variant="int8", rows=("ours-half",), memory=int8_bytes),
)


class Measured(NamedTuple):
    """What a benchmark says of a row."""

    row: RowRecord
    figures: Figures
    batch: int

    @property
    def per_image_ms(self) -> list[float]:
        """The time of each call, shared among the images of the batch."""
        return [value / self.batch for value in flat(self.row.latency_ms)]

    @property
    def mean_ms(self) -> float:
        """The mean of them, as in the paper: some methods do not do the same at each call."""
        return sum(self.per_image_ms) / len(self.per_image_ms)


def jobs(setting: Setting) -> list[Job]:
    """Return a benchmark for each model and batch size."""
    return [bench_job(model, batch, setting.scale) for model, batch in SECONDS[setting.scale]]


def measured(system: SystemRow, record: BenchRecord | None) -> Measured | None:
    """Return what a record of the row's batch size says of it; None if it says nothing."""
    if record is None:
        return None
    by_name = {figures.name: figures for figures in figures_of(record)}
    row = next((row for name in system.rows if (row := record.row(name)) is not None), None)
    return None if row is None else Measured(row, by_name[row.name], system.batch)


def page(setting: Setting) -> Page:
    """Return a table for each model, from the records of its benchmarks."""
    parts: list[str | Table] = []
    lacking = []
    for model in FUSED_ROWS:
        batches = [batch for name, batch in SECONDS[setting.scale] if name == model]
        records = {batch: bench_record(model, batch, setting) for batch in batches}
        lacking += [
            f"{model} at batch {batch}: not measured yet" for batch, each in records.items() if each is None
        ]
        first = records[1]
        if first is not None:
            parts += [f"### {model}", table_of(model, first, records)]
            lacking += [
                f"{model}, {row.name}: {row.unavailable}"
                for record in records.values()
                for row in (record.rows if record else ())
                if row.unavailable and row.name in {name for system in SYSTEM_ROWS for name in system.rows}
            ]
    return Page(parts=tuple(parts), lacking=lacking)


def table_of(model: str, first: BenchRecord, records: dict[int, BenchRecord | None]) -> Table:
    """Return the table of one model; `first` is its record at batch 1, which knows its footprint.

    A column of what could not be measured here is left out.
    """
    footprint = Footprint(**first.settings["footprint"])
    reference = measured(SYSTEM_ROWS[0], first)
    timed = {system: measured(system, records.get(system.batch)) for system in SYSTEM_ROWS}
    rows = [
        {
            "method": system.method,
            "batch": system.variant,
            **_measured_cells(each, reference),
            "memory MB": f"{system.memory(footprint, system.batch) / 1e6:.1f}",
            **_paper_cells(
                PAPER_SYSTEMS[model][system.method, system.variant], PAPER_SYSTEMS[model]["None", "1"]
            ),
        }
        for system, each in timed.items()
    ]
    header = [name for name in rows[0] if any(row[name] != MISSING for row in rows)]
    few = [
        system.variant for system, each in timed.items() if each is not None and each.row.name == COTTA_FEW
    ]
    return Table(
        tuple(header), tuple(tuple(row[name] for name in header) for row in rows), tuple(_notes(first, few))
    )


def _measured_cells(timed: Measured | None, reference: Measured | None) -> dict[str, str]:
    if timed is None:
        return dict.fromkeys(("ms per image", "x None", "mJ per image", "peak MB"), MISSING)
    peak, energy = timed.figures.peak_rss_bytes, timed.figures.energy_mj
    times = timed.per_image_ms
    spread = f"±{_short(deviation(times))}" if len(times) > 1 else ""
    return {
        "ms per image": _short(timed.mean_ms) + spread,
        "x None": MISSING if reference is None else _short(timed.mean_ms / reference.mean_ms),
        "mJ per image": MISSING if energy is None else f"{energy / timed.batch:.1f}",
        "peak MB": MISSING if peak is None else f"{peak / 1e6:.0f}",
    }


def _paper_cells(paper: PaperCell, none: PaperCell) -> dict[str, str]:
    seconds, usual = paper.seconds, none.seconds
    return {
        "paper: s": MISSING if seconds is None else f"{seconds:g}",
        "paper: x None": MISSING if seconds is None or usual is None else _short(seconds / usual),
        "paper: J": MISSING if paper.joules is None else f"{paper.joules:g}",
        "paper: MB": f"{paper.megabytes:g}",
    }


def _short(value: float) -> str:
    """Return three digits or so.

    >>> _short(0.1234), _short(12.34), _short(1234.5)
    ('0.12', '12.3', '1234')
    """
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _notes(record: BenchRecord, few_views: list[str]) -> list[str]:
    notes = [
        f"Measured on {record.machine['cpu']}, {record.settings['threads']} thread, kernel {record.kernel}, "
        f"{record.started[:10]}; the paper on a Raspberry Pi Zero 2W.",
        "Float32 is torch, int8 are our files. LeanTTA adapts the first half of the layers and has the rest "
        "fused, which the others in float32 have not. Baselines meet a stream of corrupted images.",
        "ms: mean and standard deviation over calls. x None: against None in float32 at batch 1.",
        "memory: the paper's formula, with what the BatchNorms take in for its activations; for CoTTA, what "
        "all layers put out, which is less than the paper counts.",
        "peak: resident memory of a fresh process that loads and runs the model, with Python and torch or "
        "ONNX Runtime in it.",
    ]
    if few_views:
        notes.append(
            f"CoTTA at batch {', '.join(few_views)}: 4 views of an image instead of 32, to be quick."
        )
    if record.energy["unmeasurable"]:
        notes.append(f"Energy is not measurable here: {record.energy['unmeasurable']}.")
    elif record.energy["meter"]:
        notes.append(f"mJ: by {record.energy['meter']}, less what the idle machine takes.")
    if record.noise["noisy"]:
        notes.append(f"The machine was noisy: {'; '.join(record.noise['reasons'])}.")
    return [*notes, *record.notes]


TARGET = Target(
    title="Systems: time, memory and energy",
    jobs=jobs,
    page=page,
    summary="latency, analytic memory, peak RSS and energy of each method; nothing else runs meanwhile",
)
