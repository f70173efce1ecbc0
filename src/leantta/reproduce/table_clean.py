"""The table of what adapting costs where nothing has shifted: accuracy on clean images, for every model."""

from leantta.data.stream_table import StreamOptions
from leantta.reproduce import cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.protocol import (
    CALIBRATED,
    CALIBRATED_INT8,
    DATASETS,
    LEAN,
    LEAN_INT8,
    MODELS,
    NONE,
    NONE_INT8,
    Row,
)
from leantta.reproduce.run_record import Run
from leantta.reproduce.table_mobilevit import MODEL as MOBILEVIT
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import Table

COLUMNS = (*((model, dataset) for dataset in DATASETS for model in MODELS), (MOBILEVIT, "cifar10"))
NAMES = {**MODELS, MOBILEVIT: "MobileViT-S"}
IMAGES = {"quick": 1000, "full": 10_000}
ROWS = (
    NONE,
    NONE_INT8,
    LEAN,
    Row(label="LeanTTA", variant="all", method="leantta:all:paper"),
    LEAN_INT8,
    CALIBRATED,
    CALIBRATED_INT8,
)


def _run(setting: Setting, model: str, dataset: str, row: Row) -> Run:
    images = IMAGES[setting.scale]
    return Run(
        model=model,
        dataset=dataset,
        method=row.text(setting.scale, "clean"),
        stream="clean",
        options=StreamOptions(seed=setting.seeds[0], images=images),
        inputs=images,
        batch_size=row.batch_size,
    )


def _is_run(model: str, row: Row) -> bool:
    """Tell whether the table has this cell: MobileViT-S is in the paper in float32 only."""
    return model in MODELS or not row.method.startswith("int8:")


def _jobs(setting: Setting) -> list[Job]:
    return [
        accuracy_job(_run(setting, model, dataset, row))
        for row in ROWS
        for model, dataset in COLUMNS
        if _is_run(model, row) and lack(setting, model, dataset) is None
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
        "Accuracy in %; ± is half the 95 % interval of one run.",
        "The paper has no such table. LeanTTA adapts the first half of the BatchNorms unless a row says all.",
    ]
    return Page(
        markdown="\n\n".join([Table(header, body).markdown(), "\n".join(notes)]),
        lacking=cell_text.lacking(setting, COLUMNS),
    )


def _cell(setting: Setting, model: str, dataset: str, row: Row) -> str:
    if not _is_run(model, row):
        return "-"
    counted = cell_text.tallies([_run(setting, model, dataset, row)], setting)
    return cell_text.ours(counted, cell_text.gap(setting, model, dataset))


TARGET = Target(
    title="Accuracy on clean images, where there is nothing to adapt to",
    summary="accuracy on clean images: what adapting costs where nothing has shifted",
    jobs=_jobs,
    page=_page,
)
