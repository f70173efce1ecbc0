"""The table of motion sensors: a 1-D network, trained on 20 people, on the sensors of 10 others.

The paper has no such table. The streams are those of the images: clean, abrupt and gradual over six shifts at
five severities, batch 1; then each shift alone, out of the abrupt stream.
"""

from leantta.data.corruptions.names import SEVERITIES
from leantta.data.motion_shifts.table import SHIFTS
from leantta.evaluate.metrics import tally_by
from leantta.reproduce import cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.protocol import (
    CALIBRATED,
    CALIBRATED_INT8,
    LEAN,
    LEAN_INT8,
    NONE,
    NONE_INT8,
    REMEMBERING,
    Row,
    batched,
    run_of,
)
from leantta.reproduce.run_record import Run, record_of
from leantta.reproduce.target import Job, Page, Scale, Setting, Target
from leantta.tables import Table

MODEL, DATASET = "motion_cnn", "har"

CELLS = len(SHIFTS) * len(SEVERITIES)

STREAMS: dict[Scale, dict[str, tuple[int, int]]] = {
    "quick": {"clean": (1000, 1), "abrupt": (30, CELLS), "gradual": (15, 2 * CELLS)},
    "full": {"clean": (3768, 1), "abrupt": (100, CELLS), "gradual": (100, 2 * CELLS)},
}
"""How many windows each cell or step of a stream has, and how many of these there are."""

ROWS = (
    NONE,
    NONE_INT8,
    batched("RealisticTTA", "realistic_tta", 1),
    batched("Tent", "tent:paper", 1),
    batched("EATA", "eata", 1),
    batched("CoTTA", "cotta", 1),
    *(
        batched(label, method, size)
        for label, method in (("Tent", "tent:paper"), ("EATA", "eata"))
        for size in (16, 64)
    ),
    LEAN,
    Row(label="LeanTTA", variant="all", method="leantta:all:paper"),
    LEAN_INT8,
    CALIBRATED,
    Row(label="LeanTTA, calibrated gate", variant="all", method="leantta:all:calibrated"),
    CALIBRATED_INT8,
    REMEMBERING,
)


def _run(setting: Setting, stream: str, row: Row, seed: int) -> Run:
    windows, steps = STREAMS[setting.scale][stream]
    return run_of(setting, row, seed, MODEL, DATASET, stream, windows, steps)


def _jobs(setting: Setting) -> list[Job]:
    if lack(setting, MODEL, DATASET) is not None:
        return []
    return [
        accuracy_job(_run(setting, stream, row, seed))
        for row in ROWS
        for stream in STREAMS[setting.scale]
        for seed in setting.seeds
    ]


def _page(setting: Setting) -> Page:
    missing = cell_text.gap(setting, MODEL, DATASET)
    streams = tuple(
        (row.label, row.variant, *(_cell(setting, stream, row, missing) for stream in STREAMS[setting.scale]))
        for row in ROWS
    )
    shifts = tuple((row.label, row.variant, *_by_shift(setting, row, missing)) for row in ROWS)
    notes = [
        cell_text.spread_note(setting),
        "The paper has no such table. Windows of ten people; the network was trained on twenty others.",
        "None and LeanTTA see each window by itself, so that their batch size decides nothing.",
        "LeanTTA adapts the first half of the BatchNorms, three of six, unless a row says all.",
    ]
    if setting.scale == "quick":
        notes.append(cell_text.QUICKLY)
    return Page(
        markdown="\n\n".join(
            [
                Table(("method", "variant", *STREAMS[setting.scale]), streams).markdown(),
                "Each shift of the abrupt stream, over its five severities:",
                Table(("method", "variant", *SHIFTS), shifts).markdown(),
                "\n".join(notes),
            ]
        ),
        lacking=cell_text.lacking(setting, [(MODEL, DATASET)]),
    )


def _cell(setting: Setting, stream: str, row: Row, missing: str) -> str:
    runs = [_run(setting, stream, row, seed) for seed in setting.seeds]
    return cell_text.ours(cell_text.tallies(runs, setting), missing)


def _by_shift(setting: Setting, row: Row, missing: str) -> list[str]:
    """Return the cells of a row for each shift alone."""
    records = [record_of(_run(setting, "abrupt", row, seed), setting) for seed in setting.seeds]
    counted = [
        {} if record is None else tally_by(record, lambda domain: domain.corruption) for record in records
    ]
    return [cell_text.ours([tallies.get(name) for tallies in counted], missing) for name in SHIFTS]


TARGET = Target(
    title="Accuracy on motion sensors (UCI HAR), people the network has not seen",
    summary="accuracy of a 1-D network on shifted motion sensors; needs --images har=PATH",
    jobs=_jobs,
    page=_page,
)
