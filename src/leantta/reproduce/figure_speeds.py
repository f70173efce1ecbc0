"""Time of one prediction with all, half and none of the layers fused, by engine."""

from leantta.measure.figures import flat, median, ratio
from leantta.measure.fusion_plot import fusion_plot
from leantta.measure.record import BenchRecord, RowRecord
from leantta.reproduce.bench_jobs import bench_job, nearest_record
from leantta.reproduce.paper_cells import FUSION_MS
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import MISSING, Table

MODELS = tuple(FUSION_MS)

HEADER = ("engine", "all fused", "half fused", "none fused", "half / all fused", "none / all fused")


def jobs(setting: Setting) -> list[Job]:
    """Return a benchmark for each model."""
    return [bench_job(model, 1, setting.scale) for model in MODELS]


def page(setting: Setting) -> Page:
    """Return a figure and a table for each model."""
    parts, pictures, lacking = [], {}, []
    for model in MODELS:
        record, own = nearest_record(model, setting)
        if not own:
            shown = "" if record is None else "; shown is the record of `leantta bench` instead"
            lacking.append(f"{model}: not measured yet{shown}")
        if record is None:
            continue
        name = f"speeds_{model}.svg"
        pictures[name] = fusion_plot(record)
        parts.append(
            f"### {model}\n\n![Fused, half-fused and unfused]({name})\n\n{table_of(model, record).markdown()}"
        )
    return Page(markdown="\n\n".join(parts), pictures=pictures, lacking=lacking)


def table_of(model: str, record: BenchRecord) -> Table:
    """Return the times by engine, the paper's below them."""
    engines: dict[str, dict[str, RowRecord]] = {}  # engine -> which layers adapt -> row
    for row in record.measured:
        if row.series is not None and row.adapts is not None:
            engines.setdefault(row.series, {})[row.adapts] = row
    paper = FUSION_MS[model]
    notes = [
        f"Milliseconds of one prediction, int8, median; {record.conditions}. Fused layers do not adapt.",
        f"Ratios are within rounds. float32 without adaptation: {_cell(record.row('torch-fp32'))} ms here "
        f"(torch), {paper['fp32']:.2f} ms in the paper, which was measured on a Ryzen 7 3700X.",
    ]
    if record.noise["noisy"]:
        notes.append(f"The machine was noisy: {'; '.join(record.noise['reasons'])}.")
    fused, half, unfused = (paper[f"{what} fused"] for what in ("all", "half", "none"))
    times = (fused, half, unfused, half / fused, unfused / fused)
    theirs = ("paper: torch int8, FBGEMM", *(f"{value:.2f}" for value in times))
    ours = [
        (
            engine,
            *(_cell(rows.get(adapts)) for adapts in ("none", "half", "all")),
            *(_ratio(rows.get(adapts), rows.get("none")) for adapts in ("half", "all")),
        )
        for engine, rows in engines.items()
    ]
    return Table(HEADER, (*ours, theirs), tuple(notes))


def _cell(row: RowRecord | None) -> str:
    return MISSING if row is None else f"{median(flat(row.latency_ms)):.2f}"


def _ratio(row: RowRecord | None, base: RowRecord | None) -> str:
    if row is None or base is None:
        return MISSING
    return f"{ratio(row.latency_ms, base.latency_ms, row.every, base.every).value:.2f}"


TARGET = Target(
    title="Fused, half-fused and unfused speeds",
    jobs=jobs,
    page=page,
    summary="time of an int8 prediction with all, half and none of the layers fused, by engine",
)
