"""The table of fusion: accuracy and time of int8 files with none, half and all of the layers fused."""

from collections.abc import Mapping

from leantta.measure.table import figures_of
from leantta.reproduce import cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.bench_jobs import bench_job, nearest_record
from leantta.reproduce.paper_cells import FUSION_MS
from leantta.reproduce.protocol import LEAN_INT8, MODELS, NONE, NONE_INT8, Row, stream_run
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import Table

DATASET, STREAM = "cifar10", "abrupt"

UNFUSED = Row(label="LeanTTA", variant="int8, all", method="int8:all:paper")

ROWS: Mapping[str, tuple[str, Row, str]] = {
    "fp32": ("float32, no adaptation", NONE, "torch-fp32"),
    "int8": ("int8, no adaptation", NONE_INT8, "ours-none"),
    "none fused": ("LeanTTA int8, none fused", UNFUSED, "ours-all"),
    "half fused": ("LeanTTA int8, half fused", LEAN_INT8, "ours-half"),
    "all fused": ("LeanTTA int8, all fused", NONE_INT8, "ours-none"),
}
"""By the paper's name: ours, the row whose accuracy it has, and that of the benchmark whose time."""


def _jobs(setting: Setting) -> list[Job]:
    models = [model for model in MODELS if lack(setting, model, DATASET) is None]
    rows = dict.fromkeys(row for _, row, _ in ROWS.values())
    runs = [
        accuracy_job(stream_run(setting, model, DATASET, STREAM, row, seed))
        for row in rows
        for model in models
        for seed in setting.seeds
    ]
    return [*runs, *(bench_job(model, 1, setting.scale) for model in models)]


def _page(setting: Setting) -> Page:
    measured = {model: nearest_record(model, setting)[0] for model in MODELS}
    times = {
        model: {} if record is None else {row.name: row.median_ms for row in figures_of(record)}
        for model, record in measured.items()
    }
    header = ["fusion", *(f"{MODELS[model]} {what}" for model in MODELS for what in ("accuracy", "ms"))]
    body = [
        (
            label,
            *(
                text
                for model in MODELS
                for text in (
                    _accuracy(setting, model, row),
                    _time(times[model].get(bench), FUSION_MS[model][name]),
                )
            ),
        )
        for name, (label, row, bench) in ROWS.items()
    ]
    notes = [
        cell_text.spread_note(setting),
        "The paper's table has times only: those in brackets, of an AMD Ryzen 7 3700X with FBGEMM.",
        "Our files fuse every layer that does not adapt, so that int8 without adaptation is all fused.",
        "Median time of one image at batch 1, one thread; float32 is torch's.",
        *(
            f"{MODELS[model]}: {record.conditions}."
            for model, record in measured.items()
            if record is not None
        ),
    ]
    return Page(
        markdown="\n\n".join([Table(tuple(header), tuple(body)).markdown(), "\n".join(notes)]),
        lacking=cell_text.lacking(setting, [(model, DATASET) for model in MODELS]),
    )


def _accuracy(setting: Setting, model: str, row: Row) -> str:
    runs = [stream_run(setting, model, DATASET, STREAM, row, seed) for seed in setting.seeds]
    return cell_text.ours(cell_text.tallies(runs, setting), cell_text.gap(setting, model, DATASET))


def _time(ours: float | None, paper: float) -> str:
    return f"{'not measured' if ours is None else f'{ours:.2f}'} ({paper:.2f})"


TARGET = Target(
    title="int8 with none, half and all of the layers fused: accuracy and time per image",
    summary="accuracy and time of int8 with none, half and all layers fused",
    jobs=_jobs,
    page=_page,
)
