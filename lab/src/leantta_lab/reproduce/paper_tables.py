"""The tables over streams of images, the paper's and ours: which rows, which columns, which notes."""

from collections.abc import Mapping
from dataclasses import replace

from leantta.disturbances.corruptions.names import NAMES
from leantta_lab.reproduce import paper_cells
from leantta_lab.reproduce.paper_cells import STREAM_COLUMNS, Cells
from leantta_lab.reproduce.protocol import (
    CALIBRATED,
    CALIBRATED_INT8,
    EAGER,
    FILTER,
    FILTER_INT8,
    LEAN,
    LEAN_ALL,
    LEAN_INT8,
    MIXNORM,
    NONE,
    NONE_INT8,
    PAPER_DATASETS,
    PAPER_MODELS,
    REMEMBERING,
    TableRow,
    batched,
)
from leantta_lab.reproduce.run_table import (
    ONE_BY_ONE,
    ONE_RUN,
    PAPER,
    Column,
    RunTable,
    Section,
    quick_note,
    spread_note,
)
from leantta_lab.reproduce.target import Scale, Setting

OURS = (LEAN, LEAN_INT8, CALIBRATED, FILTER)

NEW_NOTE = (
    "TTN, MixNorm and UnMix-TNS are not in the paper. TTN has learnt its weights on training images before "
    "the stream; MixNorm decides the same at every batch size."
)

SINGLE_ROWS = (
    NONE,
    NONE_INT8,
    *batched("RealisticTTA", "Tent", "EATA", "CoTTA", "TTN"),
    MIXNORM,
    *batched("UnMix-TNS"),
    *OURS,
    CALIBRATED_INT8,
    EAGER,
    FILTER_INT8,
    REMEMBERING,
)
BATCH_ROWS = (
    NONE,
    NONE_INT8,
    *batched("Tent", "EATA", "CoTTA", sizes=(16, 64)),
    *batched("TTN", "UnMix-TNS", sizes=(64,)),
    *OURS,
    REMEMBERING,
)


def _streams(rows: tuple[TableRow, ...], paper: Cells) -> tuple[Section, ...]:
    """Return a section for each dataset of `STREAM_COLUMNS`."""
    columns = [
        Column(
            head=f"{stream} {PAPER_MODELS[model]}",
            model=model,
            dataset=dataset,
            stream=stream,
            paper={key: values[place] for key, values in paper.items()},
        )
        for place, (dataset, stream, model) in enumerate(STREAM_COLUMNS)
    ]
    return tuple(
        Section(
            title=f"{name}:",
            rows=rows,
            columns=tuple(column for column in columns if column.dataset == dataset),
        )
        for dataset, name in PAPER_DATASETS.items()
    )


def _stream_notes(setting: Setting, *more: str) -> list[str]:
    return [
        spread_note(setting),
        PAPER,
        ONE_BY_ONE,
        "LeanTTA adapts the first half of the BatchNorms, with the calibrated gate sixteen of them.",
        "Stream mode remembers, so it sees the stream in order, one image at a time.",
        NEW_NOTE,
        *more,
        *quick_note(setting),
    ]


TABLE_ABRUPT_GRADUAL = RunTable(
    title="Accuracy on abruptly and gradually changing streams, batch size 1",
    summary="accuracy at batch 1, abrupt and gradual",
    sections=lambda _: _streams(SINGLE_ROWS, paper_cells.ABRUPT_GRADUAL),
    notes=lambda setting: _stream_notes(
        setting,
        "RealisticTTA keeps nothing of the past on abrupt and 0.99 of it on gradual, as in the paper.",
    ),
)
TABLE_BATCHES = RunTable(
    title="Accuracy on abruptly and gradually changing streams, batch sizes 16 and 64",
    summary="accuracy of Tent, EATA and CoTTA at batch 16 and 64, of TTN and UnMix-TNS at 64",
    sections=lambda _: _streams(BATCH_ROWS, paper_cells.BATCHES),
    notes=_stream_notes,
)

CLEAN_ROWS = (
    NONE,
    NONE_INT8,
    LEAN,
    LEAN_ALL,
    LEAN_INT8,
    CALIBRATED,
    CALIBRATED_INT8,
    EAGER,
    FILTER,
    FILTER_INT8,
)
CLEAN_COLUMNS = tuple(
    Column(
        head=f"{PAPER_MODELS[model]} {dataset.replace('cifar', 'CIFAR-')}",
        model=model,
        dataset=dataset,
        stream="clean",
        one_seed=True,
    )
    for dataset in PAPER_DATASETS
    for model in PAPER_MODELS
)
MOBILEVIT_CLEAN = replace(
    CLEAN_COLUMNS[0], head="MobileViT-S CIFAR-10", model="mobilevit_s", files=False
)  # it is in the paper in float32 only
TABLE_CLEAN = RunTable(
    title="Accuracy on clean images, where there is nothing to adapt to",
    summary="accuracy on clean images: what adapting costs where nothing has shifted",
    sections=lambda _: [Section(rows=CLEAN_ROWS, columns=(*CLEAN_COLUMNS, MOBILEVIT_CLEAN))],
    notes=lambda _: [
        ONE_RUN,
        "The paper has no such table. LeanTTA adapts the first half of the BatchNorms unless a row says all,",
        "with the calibrated gate sixteen of that half.",
    ],
)

MOBILEVIT_ROWS = (
    NONE,
    LEAN_ALL,
    *(TableRow(label="LeanTTA", variant=f"first {n}", method=f"leantta:{n}:paper") for n in (8, 16, 24)),
    *batched("Tent", "EATA", "CoTTA", sizes=(64, 16)),
    *batched("RealisticTTA", sizes=(2,)),
    TableRow(label="LeanTTA, calibrated gate", variant="first 16", method="leantta:16:calibrated"),
    FILTER,
)
MOBILEVIT_ABRUPT = Column(
    head="accuracy",
    model="mobilevit_s",
    dataset="cifar10",
    stream="abrupt",
    paper={key: value for key, (value,) in paper_cells.MOBILEVIT.items()},
)
TABLE_MOBILEVIT = RunTable(
    title="Accuracy of MobileViT-S on the abrupt stream of CIFAR-10-C",
    summary="MobileViT-S: which layers adapt, beside Tent, EATA, CoTTA and RealisticTTA",
    sections=lambda _: [Section(rows=MOBILEVIT_ROWS, columns=(MOBILEVIT_ABRUPT,))],
    notes=lambda setting: [
        spread_note(setting),
        PAPER,
        ONE_BY_ONE,
        "The paper's MobileViT-S was trained on ImageNet first; ours has seen CIFAR-10 only.",
        *quick_note(setting),
    ],
)

SEVERITY5_IMAGES: Mapping[Scale, int] = {"quick": 50, "full": 1000}
"""Of each corruption; RealisticTTA has twice as many in full, and its halves are two rows."""

_REALISTIC = batched("RealisticTTA")[0]
REALISTIC: Mapping[Scale, tuple[TableRow, ...]] = {
    "quick": (replace(_REALISTIC, variant="first 50"),),
    "full": tuple(
        replace(_REALISTIC, variant=f"{name} 1,000", half=half)
        for half, name in enumerate(("first", "second"))
    ),
}
SIDE_BY_SIDE = 5
"""Corruptions in one table."""


def severity5_rows(scale: Scale) -> tuple[TableRow, ...]:
    """Return the rows of the table in order."""
    baselines = (
        *batched("Tent", "EATA", sizes=(1, 16, 64)),
        *batched("CoTTA", sizes=(1, 16)),
        *batched("TTN", sizes=(1, 64)),
        MIXNORM,
        *batched("UnMix-TNS", sizes=(1, 64)),
    )
    return (NONE, NONE_INT8, *REALISTIC[scale], *baselines, *OURS, REMEMBERING)


def _severity5_column(corruption: str) -> Column:
    """Return the column of a corruption: every method is reset before it."""
    paper = {key: values[corruption] for key, values in paper_cells.SEVERITY5.items()}
    return Column(
        head=corruption.replace("_", " "),
        model="resnet18",
        dataset="cifar10",
        stream="one_cell",
        inputs=SEVERITY5_IMAGES,
        corruption=corruption,
        paper={**paper, REALISTIC["quick"][0].key: paper[REALISTIC["full"][0].key]},
    )


def _severity5(scale: Scale) -> list[Section]:
    columns = tuple(map(_severity5_column, NAMES))
    blocks = [columns[start : start + SIDE_BY_SIDE] for start in range(0, len(columns), SIDE_BY_SIDE)]
    return [
        Section(rows=severity5_rows(scale), columns=block, mean=columns if block is blocks[-1] else ())
        for block in blocks
    ]


SEVERITY5_NOTES: Mapping[Scale, tuple[str, ...]] = {
    "quick": (
        f"{SEVERITY5_IMAGES['quick']} images of each corruption; the paper has 1,000.",
        "RealisticTTA keeps 0.99 of the past and starts from nothing: it has hardly begun by then.",
    ),
    "full": ("RealisticTTA sees 2,000 images of each corruption, the others 1,000.",),
}
TABLE_SEVERITY5 = RunTable(
    title="Accuracy at severity 5 by corruption: ResNet18, CIFAR-10-C",
    summary="accuracy of each method on each corruption at severity 5",
    sections=_severity5,
    notes=lambda setting: [
        spread_note(setting),
        PAPER,
        ONE_BY_ONE,
        NEW_NOTE,
        *SEVERITY5_NOTES[setting.scale],
        *quick_note(setting),
    ],
    row_is_one_job=True,
)
