"""A program whose `reproduce small` is a little table: five runs, of which one is of an int8 file."""

from leantta.cli.main import main
from leantta.tables import Table
from leantta_lab.reproduce import targets
from leantta_lab.reproduce.protocol import LEAN_INT8, NONE, batched
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import Run
from leantta_lab.reproduce.run_table import Column, accuracy, answers, cell
from leantta_lab.reproduce.target import Job, Page, Setting, Target

COLUMNS = [
    Column(
        head=name,
        model="resnet18",
        dataset="cifar10",
        stream="one_cell",
        inputs={"quick": 64},
        corruption=name,
    )
    for name in ("fog", "snow")
]
CELLS = [
    *((column, row) for column in COLUMNS for row in (NONE, *batched("Tent", sizes=(16,)))),
    (COLUMNS[0], LEAN_INT8),
]


def runs(setting: Setting) -> list[Run]:
    """The runs of all cells."""
    return [run for column, row in CELLS for run in column.runs(setting, row)]


def jobs(setting: Setting) -> list[Job]:
    """A job for each run."""
    return [accuracy_job(run) for run in runs(setting)]


def page(setting: Setting) -> Page:
    """A line for each cell."""
    rows = [
        (column.head, row.label, cell(accuracy(answers(setting, column, row)), None)) for column, row in CELLS
    ]
    return Page(parts=(Table(("column", "row", "accuracy"), tuple(rows)),))


if __name__ == "__main__":
    targets.TARGETS = {
        "small": Target(title="A small table", summary="small", jobs=jobs, page=page, runs=runs)
    }
    main()
