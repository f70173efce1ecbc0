"""int8 with all, half and none of the layers fused: accuracy and time as a table, time by engine as a figure.

A fused layer does not adapt, so the paper's "all fused" is our file in which nothing adapts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from leantta.measure.figures import flat, median, ratio
from leantta.measure.record import BenchRecord, RowRecord
from leantta.measure.results import figures_of
from leantta.plotting import Picture
from leantta.tables import MISSING, Table
from leantta_lab.measure.fusion_plot import FUSED, fusion_picture, rows_by_engine
from leantta_lab.reproduce.at_hand import lack
from leantta_lab.reproduce.bench_jobs import bench_job, nearest_record
from leantta_lab.reproduce.paper_cells import FUSION_MS
from leantta_lab.reproduce.protocol import LEAN_INT8, NONE, NONE_INT8, PAPER_MODELS, TableRow
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import Run
from leantta_lab.reproduce.run_table import Column, accuracy, answers, lacking, spread_note
from leantta_lab.reproduce.target import Job, Page, Setting, Target

UNFUSED = TableRow(label="LeanTTA", variant="int8, all", method="int8:all:paper")

FUSION_ROWS: Mapping[str, tuple[str, TableRow, str]] = {
    "fp32": ("float32, no adaptation", NONE, "torch-fp32"),
    "int8": ("int8, no adaptation", NONE_INT8, "ours-none"),
    "none fused": ("LeanTTA int8, none fused", UNFUSED, "ours-all"),
    "half fused": ("LeanTTA int8, half fused", LEAN_INT8, "ours-half"),
    "all fused": ("LeanTTA int8, all fused", NONE_INT8, "ours-none"),
}
"""By the paper's name: ours, the row whose accuracy it has, and that of the benchmark whose time."""

COLUMNS = {
    model: Column(head=f"{name} accuracy", model=model, dataset="cifar10", stream="abrupt")
    for model, name in PAPER_MODELS.items()
}


def _table_runs(setting: Setting) -> list[Run]:
    return [
        run
        for row in dict.fromkeys(row for _, row, _ in FUSION_ROWS.values())
        for column in COLUMNS.values()
        for run in column.runs(setting, row)
    ]


def _table_jobs(setting: Setting) -> list[Job]:
    models = [model for model, column in COLUMNS.items() if lack(setting, model, column.dataset) is None]
    runs = [accuracy_job(run) for run in _table_runs(setting) if run.model in models]
    return [*runs, *(bench_job(model, 1, setting.scale) for model in models)]


def _table_page(setting: Setting) -> Page:
    measured = {model: nearest_record(model, setting)[0] for model in COLUMNS}
    times = {
        model: {} if record is None else {row.name: row.median_ms for row in figures_of(record)}
        for model, record in measured.items()
    }
    header = ["fusion"]
    for model, column in COLUMNS.items():
        header += [column.head, f"{PAPER_MODELS[model]} ms"]
    body = []
    for name, (label, row, bench) in FUSION_ROWS.items():
        cells = [label]
        for model, column in COLUMNS.items():
            ms = times[model].get(bench)
            cells.append(accuracy(answers(setting, column, row)) or column.gap(setting))
            cells.append(f"{'not measured' if ms is None else f'{ms:.2f}'} ({FUSION_MS[model][name]:.2f})")
        body.append(tuple(cells))
    notes = [
        spread_note(setting),
        "The paper's table has times only: those in brackets, of an AMD Ryzen 7 3700X with FBGEMM.",
        "Our files fuse every layer that does not adapt, so that int8 without adaptation is all fused.",
        "Median time of one image at batch 1, one thread; float32 is torch's.",
        *(f"{PAPER_MODELS[model]}: {each.conditions}." for model, each in measured.items() if each),
    ]
    return Page(
        parts=(Table(tuple(header), tuple(body)), "\n".join(notes)),
        lacking=lacking(setting, [(model, column.dataset) for model, column in COLUMNS.items()]),
    )


TABLE = Target(
    title="int8 with none, half and all of the layers fused: accuracy and time per image",
    summary="accuracy and time of int8 with none, half and all layers fused",
    jobs=_table_jobs,
    page=_table_page,
    runs=_table_runs,
)

CAPTION = "Fused, half-fused and unfused"
SPEED_HEADER = ("engine", "all fused", "half fused", "none fused", "half / all fused", "none / all fused")

Speeds = dict[str, dict[str, tuple[float, float | None]]]
"""Engine -> which layers adapt -> median in ms, and the ratio within rounds to nothing adapting."""


def _figure_jobs(setting: Setting) -> list[Job]:
    return [bench_job(model, 1, setting.scale) for model in FUSION_MS]


def figure_page(setting: Setting) -> Page:
    """Return a figure and a table for each model."""
    parts: list[str | Table | Picture] = []
    missing = []
    for model in FUSION_MS:
        record, own = nearest_record(model, setting)
        if not own:
            shown = "" if record is None else "; shown is the record of `leantta bench` instead"
            missing.append(f"{model}: not measured yet{shown}")
        if record is not None:
            speeds = speeds_of(record)
            parts += [
                f"### {model}",
                replace(fusion_picture(record), name=f"speeds_{model}", caption=CAPTION),
                speed_table(model, record, speeds),
            ]
    return Page(parts=tuple(parts), lacking=missing)


def speeds_of(record: BenchRecord) -> Speeds:
    """Return what a record says of each engine that can fuse all, half and none of the layers."""
    return {
        engine: {adapts: (_median_ms(row), _ratio(row, rows.get("none"))) for adapts, row in rows.items()}
        for engine, rows in rows_by_engine(record).items()
    }


def speed_table(model: str, record: BenchRecord, speeds: Speeds) -> Table:
    """Return the times by engine, the paper's below them."""
    paper, plain = FUSION_MS[model], record.row("torch-fp32")
    float32 = MISSING if plain is None else f"{_median_ms(plain):.2f}"
    notes = [
        f"Milliseconds of one prediction, int8, median; {record.conditions}. Fused layers do not adapt.",
        f"Ratios are within rounds. float32 without adaptation: {float32} ms here "
        f"(torch), {paper['fp32']:.2f} ms in the paper, which was measured on a Ryzen 7 3700X.",
    ]
    if record.noise["noisy"]:
        notes.append(f"The machine was noisy: {'; '.join(record.noise['reasons'])}.")
    fused, half, unfused = (paper[f"{what} fused"] for what in ("all", "half", "none"))
    rows = [
        (engine, *(_cells(times, FUSED, 0)), *(_cells(times, ("half", "all"), 1)))
        for engine, times in speeds.items()
    ]
    values = (fused, half, unfused, half / fused, unfused / fused)
    theirs = ("paper: torch int8, FBGEMM", *(f"{value:.2f}" for value in values))
    return Table(SPEED_HEADER, (*rows, theirs), tuple(notes))


def _cells(times: Mapping[str, tuple[float, float | None]], adapting: Iterable[str], place: int) -> list[str]:
    values = [times[adapts][place] if adapts in times else None for adapts in adapting]
    return [MISSING if value is None else f"{value:.2f}" for value in values]


def _median_ms(row: RowRecord) -> float:
    return median(flat(row.latency_ms))


def _ratio(row: RowRecord, base: RowRecord | None) -> float | None:
    return None if base is None else ratio(row.latency_ms, base.latency_ms, row.every, base.every).value


FIGURE = Target(
    title="Fused, half-fused and unfused speeds",
    jobs=_figure_jobs,
    page=figure_page,
    summary="time of an int8 prediction with all, half and none of the layers fused, by engine",
)
