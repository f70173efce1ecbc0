"""The tables of bird detection: VGGish, weighted F1.

The paper trains on BirdVox and tests on Warblr; that table runs where both are given. Ours is of what can be
had freely: ESC-50 by its folds, as it is and shifted, and another corpus of other microphones.
"""

from collections.abc import Sequence

from leantta.data.sound_shifts.table import SOUND_SHIFTS
from leantta.evaluate.intervals import deviation
from leantta.evaluate.metrics import weighted_f1
from leantta.evaluate.record import Record
from leantta.reproduce import at_hand, cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.bird_runs import HEARD, bird_job, bird_run, lack
from leantta.reproduce.bird_streams import HEARD as COLUMNS
from leantta.reproduce.bird_streams import MODEL, stream_run
from leantta.reproduce.paper_cells import BIRDS
from leantta.reproduce.protocol import (
    CALIBRATED,
    CALIBRATED_INT8,
    EAGER,
    LEAN,
    LEAN_INT8,
    NONE,
    NONE_INT8,
    Row,
    batched,
)
from leantta.reproduce.run_record import record_of
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import Table

ROWS = (
    NONE,
    NONE_INT8,
    batched("RealisticTTA", "realistic_tta", 1),
    *(
        batched(label, method, size)
        for label, method in (("Tent", "tent:paper"), ("EATA", "eata"), ("CoTTA", "cotta"))
        for size in (1, 16, 64)
    ),
    LEAN,
    LEAN_INT8,
    CALIBRATED,
    CALIBRATED_INT8,
    EAGER,
)
OURS = tuple(row for row in ROWS if row.variant != "batch 16")
"""On the corpora that the paper has not: the smallest and the largest batch will do."""


def _jobs(setting: Setting) -> list[Job]:
    ours = [
        accuracy_job(stream_run(setting, column, row, seed))
        for row in OURS
        for column, (dataset, *_) in COLUMNS.items()
        if at_hand.lack(setting, MODEL, dataset) is None
        for seed in setting.seeds
    ]
    if lack(setting) is not None:
        return ours
    return [*ours, *(bird_job(bird_run(setting, row, seed)) for row in ROWS for seed in setting.seeds)]


def _page(setting: Setting) -> Page:
    missing = lack(setting)
    gap = cell_text.NOT_RUN if missing is None else missing.partition(":")[0]
    ours = tuple((row.label, row.variant, *(_cell(setting, row, each) for each in COLUMNS)) for row in OURS)
    shifts = tuple((row.label, row.variant, *_by_shift(setting, row)) for row in OURS)
    paper = tuple((row.label, row.variant, _paper_cell(setting, row, gap)) for row in ROWS)
    parts = [
        "Trained on four folds of ESC-50; its fifth fold, and clips of another corpus:",
        Table(("method", "variant", *COLUMNS), ours).markdown(),
        "Each shift of the abrupt stream, over its five severities:",
        Table(("method", "variant", *SOUND_SHIFTS), shifts).markdown(),
        f"Trained on BirdVox, tested on {HEARD[setting.scale]:,} clips of Warblr:",
        Table(("method", "variant", "F1"), paper).markdown(),
        "Weighted F1 in %; ± is the standard deviation over seeds.\n" + cell_text.PAPER,
    ]
    if setting.scale == "quick":
        parts[-1] += "\n" + cell_text.QUICKLY
    lacking = cell_text.lacking(setting, [(MODEL, "esc50"), (MODEL, "capuchin")])
    return Page(markdown="\n\n".join(parts), lacking=[*lacking, *([] if missing is None else [missing])])


def _records(setting: Setting, row: Row, column: str) -> list[Record | None]:
    return [record_of(stream_run(setting, column, row, seed), setting) for seed in setting.seeds]


def _cell(setting: Setting, row: Row, column: str) -> str:
    gap = cell_text.gap(setting, MODEL, COLUMNS[column][0])
    return _f1([each for each in _records(setting, row, column) if each is not None]) or gap


def _by_shift(setting: Setting, row: Row) -> list[str]:
    """Return the cells of a row for each shift alone."""
    gap = cell_text.gap(setting, MODEL, COLUMNS["abrupt"][0])
    there = [each for each in _records(setting, row, "abrupt") if each is not None]
    return [_f1(there, name) or gap for name in SOUND_SHIFTS]


def _f1(records: Sequence[Record], shift: str | None = None) -> str:
    """Return the mean F1 of records, of all their clips or of those with one shift; nothing of none."""
    values = []
    for record in records:
        domains = record.header.domains
        chosen = [shift is None or domains[place].corruption == shift for place in record.domain.tolist()]
        values.append(100 * weighted_f1(record.labels[chosen], record.predictions[chosen]))
    if not values:
        return ""
    spread = f"±{deviation(values):.1f}" if len(values) > 1 else ""
    return f"{sum(values) / len(values):.1f}{spread}"


def _paper_cell(setting: Setting, row: Row, gap: str) -> str:
    records = [record_of(bird_run(setting, row, seed), setting) for seed in setting.seeds]
    ours = _f1([each for each in records if each is not None])
    return cell_text.beside(ours or gap, BIRDS[row.key][0] if row.key in BIRDS else None)


TARGET = Target(
    title="Weighted F1 of VGGish on bird sound",
    summary="bird detection; needs --images esc50=FOLDER, or --birdvox and --warblr folders and a checkpoint",
    jobs=_jobs,
    page=_page,
)
