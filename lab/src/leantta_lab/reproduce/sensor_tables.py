"""The tables over streams of motion sensors and of bird sound: the paper has one of the latter.

The paper trains on BirdVox and tests on Warblr, which runs where both are given. Our own tables are of what
can be had freely: UCI HAR, ESC-50 by its folds, and another corpus of other microphones.
"""

from collections.abc import Mapping
from dataclasses import replace

from leantta.modalities.datasets import modality_of
from leantta_lab.reproduce import paper_cells
from leantta_lab.reproduce.paper_tables import OURS
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
    REMEMBERING,
    TableRow,
    batched,
)
from leantta_lab.reproduce.run_table import PAPER, Column, RunTable, Section, f1, quick_note, spread_note
from leantta_lab.reproduce.target import Scale


def _by_shift(section: Section, stream: Column) -> Section:
    """Return the table of each shift alone, out of a stream that has them all."""
    shifts = modality_of(stream.dataset).corruptions
    columns = tuple(replace(stream, head=name, only=name) for name in shifts)
    title = "Each shift of the abrupt stream, over its five severities:"
    return replace(section, title=title, columns=columns)


MOTION_ROWS = (
    NONE,
    NONE_INT8,
    *batched("RealisticTTA", "Tent", "EATA", "CoTTA"),
    *batched("Tent", "EATA", sizes=(16, 64)),
    *batched("TTN", sizes=(1, 64)),
    MIXNORM,
    *batched("UnMix-TNS", sizes=(1, 64)),
    LEAN,
    LEAN_ALL,
    LEAN_INT8,
    CALIBRATED,
    TableRow(label="LeanTTA, calibrated gate", variant="all", method="leantta:all:calibrated"),
    CALIBRATED_INT8,
    FILTER,
    FILTER_INT8,
    REMEMBERING,
)
WINDOWS: Mapping[str, Mapping[Scale, int]] = {
    "clean": {"quick": 1000, "full": 3768},
    "abrupt": {"quick": 30, "full": 100},
    "gradual": {"quick": 15, "full": 100},
}
"""How many windows of motion sensors a cell or step of each stream has."""

MOTION_COLUMNS = tuple(
    Column(head=stream, model="motion_cnn", dataset="har", stream=stream, inputs=inputs)
    for stream, inputs in WINDOWS.items()
)


def _motion(_: Scale) -> list[Section]:
    streams = Section(rows=MOTION_ROWS, columns=MOTION_COLUMNS)
    return [streams, _by_shift(streams, MOTION_COLUMNS[1])]


TABLE_MOTION = RunTable(
    title="Accuracy on motion sensors (UCI HAR), people the network has not seen",
    summary="accuracy of a 1-D network on shifted motion sensors; needs --images har=PATH",
    sections=_motion,
    notes=lambda setting: [
        spread_note(setting),
        "The paper has no such table. Windows of ten people; the network was trained on twenty others.",
        "None and LeanTTA see each window by itself, so that their batch size decides nothing.",
        "LeanTTA adapts the first half of the BatchNorms, three of six, unless a row says all.",
        *quick_note(setting),
    ],
)

BIRD_ROWS = (
    NONE,
    NONE_INT8,
    *batched("RealisticTTA"),
    *batched("Tent", "EATA", "CoTTA", sizes=(1, 16, 64)),
    *OURS,
    CALIBRATED_INT8,
    EAGER,
    FILTER_INT8,
)
OUR_BIRD_ROWS = tuple(row for row in BIRD_ROWS if row.variant != "batch 16")
"""On the corpora that the paper has not: the smallest and the largest batch will do."""

CLIPS: dict[str, tuple[str, str, dict[Scale, int]]] = {
    "clean": ("esc50", "clean", {"quick": 124, "full": 124}),
    "abrupt": ("esc50", "abrupt", {"quick": 4, "full": 25}),
    "gradual": ("esc50", "gradual", {"quick": 2, "full": 25}),
    "other corpus": ("capuchin", "clean", {"quick": 217, "full": 434}),
    "F1": ("warblr", "clean", {"quick": 950, "full": 8000}),
}
"""Each column of sound: the dataset, the stream, and how many clips of a cell or step."""


def bird_columns() -> dict[str, Column]:
    """Return the columns of sound by their heads; the last one is the paper's, trained on BirdVox."""
    columns = {
        head: Column(head=head, model="vggish", dataset=dataset, stream=stream, inputs=clips)
        for head, (dataset, stream, clips) in CLIPS.items()
    }
    paper = {key: value for key, (value,) in paper_cells.BIRDS.items()}
    return {**columns, "F1": replace(columns["F1"], paper=paper, no_data="no bird sounds")}


def _birds(scale: Scale) -> list[Section]:
    *ours, paper = bird_columns().values()
    title = "Trained on four folds of ESC-50; its fifth fold, and clips of another corpus:"
    streams = Section(title=title, rows=OUR_BIRD_ROWS, columns=tuple(ours), metric=f1)
    tested = f"Trained on BirdVox, tested on {CLIPS['F1'][-1][scale]:,} clips of Warblr:"
    papers = Section(title=tested, rows=BIRD_ROWS, columns=(paper,), metric=f1)
    return [streams, _by_shift(streams, ours[1]), papers]


TABLE_BIRDS = RunTable(
    title="Weighted F1 of VGGish on bird sound",
    summary="bird detection; needs --images esc50=FOLDER, or --birdvox and --warblr folders and a checkpoint",
    sections=_birds,
    notes=lambda setting: [
        "Weighted F1 in %; ± is the standard deviation over seeds.",
        PAPER,
        *quick_note(setting),
    ],
)
