"""The table of each corruption at severity 5: ResNet18 on CIFAR-10-C, every method reset before each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leantta.data.corruptions.names import NAMES
from leantta.evaluate.metrics import Tally
from leantta.evaluate.record import Record
from leantta.reproduce import cell_text
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.paper_cells import SEVERITY5
from leantta.reproduce.protocol import (
    CALIBRATED,
    LEAN,
    LEAN_INT8,
    NONE,
    NONE_INT8,
    REMEMBERING,
    Row,
    batched,
    cell_run,
)
from leantta.reproduce.run_record import Run, record_of
from leantta.reproduce.target import Job, Page, Scale, Setting, Target
from leantta.tables import Table

MODEL, DATASET = "resnet18", "cifar10"

IMAGES: Mapping[Scale, int] = {"quick": 50, "full": 1000}
"""Of each corruption; RealisticTTA has twice as many in full, and its halves are two lines."""

COLUMNS = 5
"""Corruptions side by side."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the table: a row, over which part of how many images."""

    row: Row
    images: int
    part: slice
    variant: str

    def run(self, setting: Setting, corruption: str, seed: int) -> Run:
        """Return its run over one corruption."""
        return cell_run(setting, corruption, self.row, self.images, seed)

    def count(self, record: Record) -> Tally:
        """Return how many of its images were right."""
        correct = record.correct[self.part]
        return Tally(int(correct.sum()), len(correct))


REALISTIC = batched("RealisticTTA", "realistic_tta", 1)

BEFORE: tuple[Row, ...] = (NONE, NONE_INT8)
AFTER: tuple[Row, ...] = (
    *(batched("Tent", "tent:paper", size) for size in (1, 16, 64)),
    *(batched("EATA", "eata", size) for size in (1, 16, 64)),
    *(batched("CoTTA", "cotta", size) for size in (1, 16)),
    LEAN,
    LEAN_INT8,
    CALIBRATED,
    REMEMBERING,
)


def lines(scale: Scale) -> list[Line]:
    """Return the lines of the table in order."""
    images = IMAGES[scale]

    def whole(row: Row, variant: str = "") -> Line:
        return Line(row=row, images=images, part=slice(None), variant=variant or row.variant)

    if scale == "quick":
        halves = [whole(REALISTIC, f"first {images}")]
    else:
        halves = [
            Line(row=REALISTIC, images=2 * images, part=slice(images), variant="first 1,000"),
            Line(row=REALISTIC, images=2 * images, part=slice(images, None), variant="second 1,000"),
        ]
    return [*map(whole, BEFORE), *halves, *map(whole, AFTER)]


def _jobs(setting: Setting) -> list[Job]:
    if lack(setting, MODEL, DATASET) is not None:
        return []
    runs = {  # both halves of RealisticTTA are one run
        (seed, line.row): [line.run(setting, corruption, seed) for corruption in NAMES]
        for line in lines(setting.scale)
        for seed in setting.seeds
    }
    return [accuracy_job(*each) for each in runs.values()]


def _page(setting: Setting) -> Page:
    shown = lines(setting.scale)
    tallies = [_tallies(setting, line) for line in shown]
    missing = cell_text.gap(setting, MODEL, DATASET)
    blocks = [NAMES[start : start + COLUMNS] for start in range(0, len(NAMES), COLUMNS)]
    tables = []
    for names in blocks:
        last = names[-1] == NAMES[-1]
        header = (
            "method",
            "variant",
            *(name.replace("_", " ") for name in names),
            *(["mean"] if last else []),
        )
        body = [
            (
                line.row.label,
                line.variant,
                *(cell_text.cell(found[name], _paper(line).get(name), missing) for name in names),
                *([cell_text.cell(_mean(found), _mean_of_paper(line), missing)] if last else []),
            )
            for line, found in zip(shown, tallies, strict=True)
        ]
        tables.append(Table(header, tuple(body)).markdown())
    return Page(
        markdown="\n\n".join([*tables, "\n".join(_notes(setting))]),
        lacking=cell_text.lacking(setting, [(MODEL, DATASET)]),
    )


def _tallies(setting: Setting, line: Line) -> dict[str, list[Tally | None]]:
    """Return what was counted in each corruption with each seed."""
    found: dict[str, list[Tally | None]] = {}
    for name in NAMES:
        records = [record_of(line.run(setting, name, seed), setting) for seed in setting.seeds]
        found[name] = [None if record is None else line.count(record) for record in records]
    return found


def _mean(found: Mapping[str, Sequence[Tally | None]]) -> list[Tally | None]:
    """Return what was counted over all corruptions with each seed; None if one lacks."""
    together: list[Tally | None] = []
    for counted in zip(*found.values(), strict=True):
        there = [tally for tally in counted if tally is not None]
        whole = len(there) == len(counted)
        together.append(Tally(sum(t.correct for t in there), sum(t.total for t in there)) if whole else None)
    return together


def _paper(line: Line) -> Mapping[str, float]:
    variant = "first 1,000" if line.variant.startswith("first ") else line.variant
    return SEVERITY5.get((line.row.label, variant), {})


def _mean_of_paper(line: Line) -> float | None:
    values = _paper(line).values()
    return sum(values) / len(values) if values else None


def _notes(setting: Setting) -> list[str]:
    notes = [cell_text.spread_note(setting), cell_text.PAPER, cell_text.ONE_BY_ONE]
    if setting.scale == "quick":
        notes += [
            f"{IMAGES['quick']} images of each corruption; the paper has 1,000.",
            "RealisticTTA keeps 0.99 of the past and starts from nothing: it has hardly begun by then.",
            cell_text.QUICKLY,
        ]
    else:
        notes.append("RealisticTTA sees 2,000 images of each corruption, the others 1,000.")
    return notes


TARGET = Target(
    title="Accuracy at severity 5 by corruption: ResNet18, CIFAR-10-C",
    summary="accuracy of each method on each corruption at severity 5",
    jobs=_jobs,
    page=_page,
)
