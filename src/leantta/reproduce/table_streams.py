"""The tables over abrupt and gradual streams: batch 1, and larger batches."""

from collections.abc import Sequence
from functools import partial

from leantta.reproduce import cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.paper_cells import ABRUPT_GRADUAL, BATCHES, STREAM_COLUMNS, Cells
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
    REMEMBERING,
    Row,
    batched,
    stream_run,
)
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import Table

SINGLE_ROWS = (
    NONE,
    NONE_INT8,
    batched("RealisticTTA", "realistic_tta", 1),
    batched("Tent", "tent:paper", 1),
    batched("EATA", "eata", 1),
    batched("CoTTA", "cotta", 1),
    LEAN,
    LEAN_INT8,
    CALIBRATED,
    CALIBRATED_INT8,
    EAGER,
    REMEMBERING,
)

BATCH_ROWS = (
    NONE,
    NONE_INT8,
    *(
        batched(label, method, size)
        for label, method in (("Tent", "tent:paper"), ("EATA", "eata"), ("CoTTA", "cotta"))
        for size in (16, 64)
    ),
    LEAN,
    LEAN_INT8,
    CALIBRATED,
    REMEMBERING,
)


def _jobs(rows: Sequence[Row], setting: Setting) -> list[Job]:
    return [
        accuracy_job(stream_run(setting, model, dataset, stream, row, seed))
        for row in rows
        for dataset, stream, model in STREAM_COLUMNS
        if lack(setting, model, dataset) is None
        for seed in setting.seeds
    ]


def _page(rows: Sequence[Row], paper: Cells, setting: Setting) -> Page:
    tables = []
    for dataset, name in DATASETS.items():
        columns = [(i, *column[1:]) for i, column in enumerate(STREAM_COLUMNS) if column[0] == dataset]
        header = ("method", "variant", *(f"{stream} {MODELS[model]}" for _, stream, model in columns))
        body = tuple(
            (
                row.label,
                row.variant,
                *(
                    cell_text.cell(
                        cell_text.tallies(
                            (stream_run(setting, model, dataset, stream, row, n) for n in setting.seeds),
                            setting,
                        ),
                        paper[row.key][i] if row.key in paper else None,
                        cell_text.gap(setting, model, dataset),
                    )
                    for i, stream, model in columns
                ),
            )
            for row in rows
        )
        tables.append(f"{name}:\n\n{Table(header, body).markdown()}")
    return Page(
        markdown="\n\n".join([*tables, "\n".join(_notes(rows, setting))]),
        lacking=cell_text.lacking(setting, [(model, dataset) for dataset, _, model in STREAM_COLUMNS]),
    )


def _notes(rows: Sequence[Row], setting: Setting) -> list[str]:
    notes = [
        cell_text.spread_note(setting),
        cell_text.PAPER,
        cell_text.ONE_BY_ONE,
        "LeanTTA adapts the first half of the BatchNorms, with the calibrated gate sixteen of them.",
        "Stream mode keeps running statistics, so it sees the stream in order, one image at a time.",
    ]
    if any(row.method == "realistic_tta" for row in rows):
        notes.append(
            "RealisticTTA keeps nothing of the past on abrupt and 0.99 of it on gradual, as in the paper."
        )
    if setting.scale == "quick":
        notes.append(cell_text.QUICKLY)
    return notes


def _target(title: str, summary: str, rows: Sequence[Row], paper: Cells) -> Target:
    return Target(
        title=title,
        summary=summary,
        jobs=partial(_jobs, rows),
        page=partial(_page, rows, paper),
    )


TABLE_ABRUPT_GRADUAL = _target(
    "Accuracy on abruptly and gradually changing streams, batch size 1",
    "accuracy at batch 1, abrupt and gradual",
    SINGLE_ROWS,
    ABRUPT_GRADUAL,
)

TABLE_BATCHES = _target(
    "Accuracy on abruptly and gradually changing streams, batch sizes 16 and 64",
    "accuracy of Tent, EATA and CoTTA at batch 16 and 64",
    BATCH_ROWS,
    BATCHES,
)
