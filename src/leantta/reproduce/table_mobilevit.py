"""The table of MobileViT-S: CIFAR-10-C, abrupt."""

from leantta.reproduce import cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.paper_cells import MOBILEVIT
from leantta.reproduce.protocol import NONE, Row, batched, stream_run
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import Table

MODEL, DATASET, STREAM = "mobilevit_s", "cifar10", "abrupt"

ROWS = (
    NONE,
    Row(label="LeanTTA", variant="all", method="leantta:all:paper"),
    *(Row(label="LeanTTA", variant=f"first {n}", method=f"leantta:{n}:paper") for n in (8, 16, 24)),
    *(
        batched(label, method, size)
        for label, method in (("Tent", "tent:paper"), ("EATA", "eata"), ("CoTTA", "cotta"))
        for size in (64, 16)
    ),
    batched("RealisticTTA", "realistic_tta", 2),
    Row(label="LeanTTA, calibrated gate", variant="first 16", method="leantta:16:calibrated"),
)


def _jobs(setting: Setting) -> list[Job]:
    if lack(setting, MODEL, DATASET) is not None:
        return []
    return [
        accuracy_job(stream_run(setting, MODEL, DATASET, STREAM, row, seed))
        for row in ROWS
        for seed in setting.seeds
    ]


def _page(setting: Setting) -> Page:
    body = tuple((row.label, row.variant, _cell(setting, row)) for row in ROWS)
    notes = [
        cell_text.spread_note(setting),
        cell_text.PAPER,
        cell_text.ONE_BY_ONE,
        "The paper's MobileViT-S was trained on ImageNet first; ours has seen CIFAR-10 only.",
    ]
    if setting.scale == "quick":
        notes.append(cell_text.QUICKLY)
    return Page(
        markdown="\n\n".join([Table(("method", "variant", "accuracy"), body).markdown(), "\n".join(notes)]),
        lacking=cell_text.lacking(setting, [(MODEL, DATASET)]),
    )


def _cell(setting: Setting, row: Row) -> str:
    runs = [stream_run(setting, MODEL, DATASET, STREAM, row, seed) for seed in setting.seeds]
    paper = MOBILEVIT[row.key][0] if row.key in MOBILEVIT else None
    return cell_text.cell(cell_text.tallies(runs, setting), paper, cell_text.gap(setting, MODEL, DATASET))


TARGET = Target(
    title="Accuracy of MobileViT-S on the abrupt stream of CIFAR-10-C",
    summary="MobileViT-S: which layers adapt, beside Tent, EATA, CoTTA and RealisticTTA",
    jobs=_jobs,
    page=_page,
)
