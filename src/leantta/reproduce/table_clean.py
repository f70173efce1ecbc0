"""The table of what adapting costs where nothing has shifted: accuracy on clean images, for every model."""

from leantta.reproduce import cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.protocol import (
    CALIBRATED,
    CALIBRATED_INT8,
    DATASETS,
    EAGER,
    LEAN,
    LEAN_INT8,
    MODELS,
    NONE,
    NONE_INT8,
    Row,
    stream_run,
)
from leantta.reproduce.run_record import Run
from leantta.reproduce.table_mobilevit import MODEL as MOBILEVIT
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import Table

COLUMNS = (*((model, dataset) for dataset in DATASETS for model in MODELS), (MOBILEVIT, "cifar10"))
NAMES = {**MODELS, MOBILEVIT: "MobileViT-S"}
ROWS = (
    NONE,
    NONE_INT8,
    LEAN,
    Row(label="LeanTTA", variant="all", method="leantta:all:paper"),
    LEAN_INT8,
    CALIBRATED,
    CALIBRATED_INT8,
    EAGER,
)


def _run(setting: Setting, model: str, dataset: str, row: Row) -> Run:
    """Return the run of a cell; one seed, as all images are in it."""
    return stream_run(setting, model, dataset, "clean", row, setting.seeds[0])


def _is_shown(run: Run) -> bool:
    """Tell whether the table has this cell: MobileViT-S is in the paper in float32 only."""
    return run.model in MODELS or run.file is None


def _jobs(setting: Setting) -> list[Job]:
    runs = [_run(setting, model, dataset, row) for row in ROWS for model, dataset in COLUMNS]
    return [
        accuracy_job(run) for run in runs if _is_shown(run) and lack(setting, run.model, run.dataset) is None
    ]


def _page(setting: Setting) -> Page:
    header = (
        "method",
        "variant",
        *(f"{NAMES[model]} {dataset.replace('cifar', 'CIFAR-')}" for model, dataset in COLUMNS),
    )
    body = tuple(
        (row.label, row.variant, *(_cell(setting, model, dataset, row) for model, dataset in COLUMNS))
        for row in ROWS
    )
    notes = [
        cell_text.ONE_RUN,
        "The paper has no such table. LeanTTA adapts the first half of the BatchNorms unless a row says all,",
        "with the calibrated gate sixteen of that half.",
    ]
    return Page(
        markdown="\n\n".join([Table(header, body).markdown(), "\n".join(notes)]),
        lacking=cell_text.lacking(setting, COLUMNS),
    )


def _cell(setting: Setting, model: str, dataset: str, row: Row) -> str:
    run = _run(setting, model, dataset, row)
    if not _is_shown(run):
        return "-"
    return cell_text.ours(cell_text.tallies([run], setting), cell_text.gap(setting, model, dataset))


TARGET = Target(
    title="Accuracy on clean images, where there is nothing to adapt to",
    summary="accuracy on clean images: what adapting costs where nothing has shifted",
    jobs=_jobs,
    page=_page,
)
