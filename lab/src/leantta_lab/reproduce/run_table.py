"""Tables of runs: methods down, streams across, ours beside the paper's value in each cell.

A table is declared (`paper_tables`); its jobs and its page both come from the declaration. A cell without a
record says why there is none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt

from leantta.evaluate.intervals import deviation
from leantta.evaluate.metrics import Tally, weighted_f1
from leantta.evaluate.record import Record
from leantta.report.groups import score
from leantta.tables import MISSING, Table
from leantta_lab.reproduce.at_hand import lack
from leantta_lab.reproduce.protocol import TableRow, stream_run
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import Run, record_of
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

NOT_RUN = "not run"

ONE_RUN = "Accuracy in %; ± is half the 95 % interval of one run."
PAPER = "In brackets: the paper's value."
QUICK_SETTINGS = (
    "CoTTA looks at one random view of an input instead of 32 at this scale, EATA takes its Fisher "
    "information from 500 training inputs instead of 2,000, and TTN learns on 250 instead of 1,000."
)
ONE_BY_ONE = "None and LeanTTA see each image by itself, so that their batch size decides nothing."

Answers = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Labels and predictions of the inputs of one run that a cell is about."""

Metric = Callable[[Sequence[Answers | None]], str | None]
"""Our part of a cell, from the answers with each seed (None: no record); None if there are none."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """What a column runs: a model over a stream of a dataset."""

    head: str
    model: str
    dataset: str
    stream: str
    inputs: Mapping[Scale, int] | None = None  # of each cell or step; None: as many as the paper's images
    corruption: str | None = None  # of the stream `one_cell`
    only: str | None = None  # the corruption whose inputs count; None: all inputs
    paper: Mapping[tuple[str, str], float] = field(default_factory=dict)  # by the key of a row
    one_seed: bool = False  # all samples are in it, so other seeds would tell nothing new
    files: bool = True  # whether int8 files are run too
    no_data: str = ""  # what a cell shows without the data, if the usual words will not do

    def runs(self, setting: Setting, row: TableRow) -> list[Run]:
        """Return the runs of a row, one for each seed; none if the column does not have the row."""
        seeds = setting.seeds[:1] if self.one_seed else setting.seeds
        run_of = partial(stream_run, inputs=self.inputs, corruption=self.corruption)
        runs = [run_of(setting, self.model, self.dataset, self.stream, row, seed) for seed in seeds]
        return [run for run in runs if self.files or run.file is None]

    def gap(self, setting: Setting) -> str:
        """Return what a cell without a record shows."""
        missing = lack(setting, self.model, self.dataset)
        if missing is None:
            return NOT_RUN
        return self.no_data if self.no_data and missing.cell == setting.no_data else missing.cell


def tallies(answers: Sequence[Answers | None]) -> list[Tally]:
    """Return how many were right, and of how many, with each seed that has a record."""
    there = [each for each in answers if each is not None]
    return [Tally(int((labels == predictions).sum()), len(labels)) for labels, predictions in there]


def accuracy(answers: Sequence[Answers | None]) -> str | None:
    """Return the accuracy with its spread, and of how many seeds if some are missing."""
    counted = tallies(answers)
    ours = score(counted)
    if ours is None or len(counted) == len(answers):
        return None if ours is None else str(ours)
    return f"{ours} [{len(counted)} of {len(answers)} seeds]"


def f1(answers: Sequence[Answers | None]) -> str | None:
    """Return the weighted F1, with its deviation over seeds if there are several."""
    values = [100 * weighted_f1(*each) for each in answers if each is not None]
    if not values:
        return None
    spread = f"±{deviation(values):.1f}" if len(values) > 1 else ""
    return f"{sum(values) / len(values):.1f}{spread}"


@dataclass(frozen=True, kw_only=True)
class Section:
    """One table of a page: rows, columns, and the metric in its cells."""

    title: str = ""  # the line above it
    rows: tuple[TableRow, ...]
    columns: tuple[Column, ...]
    metric: Metric = accuracy
    mean: tuple[Column, ...] = ()  # a last column has the mean over these

    def table(self, setting: Setting) -> Table:
        """Return the table from the records that are there."""
        heads = [column.head for column in self.columns]
        return Table(
            ("method", "variant", *heads, *(["mean"] if self.mean else [])),
            tuple((*row.key, *self._cells(setting, row)) for row in self._shown(setting)),
        )

    def _shown(self, setting: Setting) -> list[TableRow]:
        """Return the rows, without new ones that have no record."""
        columns = self.columns
        return [r for r in self.rows if not r.new or any(any(answers(setting, c, r)) for c in columns)]

    def _cells(self, setting: Setting, row: TableRow) -> Iterator[str]:
        for column in self.columns:
            ours = self.metric(answers(setting, column, row))
            gap = column.gap(setting) if column.runs(setting, row) else MISSING
            yield cell(ours, column.paper.get(row.key), gap)
        if self.mean:
            by_seed = zip(*(answers(setting, column, row) for column in self.mean), strict=True)
            ours = self.metric([_together(each) for each in by_seed])
            paper = [column.paper[row.key] for column in self.mean if row.key in column.paper]
            yield cell(ours, sum(paper) / len(paper) if paper else None, self.mean[0].gap(setting))


def cell(ours: str | None, paper: float | None, gap: str = NOT_RUN) -> str:
    """Return a cell: ours or why there is none, and the paper's value if it has one.

    >>> cell("80.0±7.8", 79.1), cell(None, 79.1), cell("88.9±20.8", None)
    ('80.0±7.8 (79.1)', 'not run (79.1)', '88.9±20.8')
    """
    return (ours or gap) if paper is None else f"{ours or gap} ({paper:.1f})"


def answers(setting: Setting, column: Column, row: TableRow) -> list[Answers | None]:
    """Return the answers of a row with each seed; None where there is no record.

    Raises:
        RecordError: a record is damaged.
    """
    records = [record_of(run, setting) for run in column.runs(setting, row)]
    return [None if record is None else _chosen(record, column, row) for record in records]


def _chosen(record: Record, column: Column, row: TableRow) -> Answers | None:
    """Return the answers of a record that count; None if there are none."""
    wanted = np.array([column.only in (None, domain.corruption) for domain in record.header.domains])
    chosen = wanted[record.domain]
    if row.half is not None:
        middle = len(record) // 2
        chosen[slice(middle, None) if row.half == 0 else slice(middle)] = False
    return (record.labels[chosen], record.predictions[chosen]) if chosen.any() else None


def _together(parts: Sequence[Answers | None]) -> Answers | None:
    """Return the answers of several columns as one; None if one lacks."""
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    labels, predictions = zip(*there, strict=True)
    return np.concatenate(labels), np.concatenate(predictions)


@dataclass(frozen=True, kw_only=True)
class RunTable:
    """A table of the paper, or one of ours like it, as it is declared."""

    title: str
    summary: str
    sections: Callable[[Scale], Sequence[Section]]
    notes: Callable[[Setting], Sequence[str]]  # below the tables, a line each
    row_is_one_job: bool = False  # all runs of a row with one seed, as each of them is short

    def target(self) -> Target:
        """Return what `leantta reproduce` takes."""
        return Target(title=self.title, summary=self.summary, jobs=self.jobs, page=self.page, runs=self.runs)

    def runs(self, setting: Setting) -> list[Run]:
        """Return the runs of all cells, each once."""
        cells = (
            (column, row)
            for section in self.sections(setting.scale)
            for row, column in product(section.rows, section.columns)
        )
        return list(dict.fromkeys(run for column, row in cells for run in column.runs(setting, row)))

    def jobs(self, setting: Setting) -> list[Job]:
        """Return the jobs of all cells that can be run, each once."""
        groups: dict[object, list[Run]] = {}
        for run in self.runs(setting):
            if lack(setting, run.model, run.dataset) is None:
                key = (run.method, run.batch_size, run.options.seed) if self.row_is_one_job else run
                groups.setdefault(key, []).append(run)
        return [accuracy_job(*runs) for runs in groups.values()]

    def page(self, setting: Setting) -> Page:
        """Return the tables from the records that are there, the notes below them."""
        sections = self.sections(setting.scale)
        parts: list[str | Table] = []
        for section in sections:
            parts += [*([section.title] if section.title else []), section.table(setting)]
        used = [(column.model, column.dataset) for section in sections for column in section.columns]
        return Page(parts=(*parts, "\n".join(self.notes(setting))), lacking=lacking(setting, used))


def spread_note(setting: Setting) -> str:
    """Return what stands behind the ± of this scale."""
    seeds = len(setting.seeds)
    if seeds == 1:
        return ONE_RUN
    return (
        f"Accuracy in %; ± is the standard deviation over {seeds} seeds; of one seed, half the 95 % interval."
    )


def quick_note(setting: Setting) -> list[str]:
    """Return what some methods are told when it must be quick; nothing in full."""
    return [QUICK_SETTINGS] if setting.scale == "quick" else []


def lacking(setting: Setting, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each thing that is missing to run the models on the datasets."""
    missing = [lack(setting, model, dataset) for model, dataset in dict.fromkeys(pairs)]
    return list(dict.fromkeys(each.line for each in missing if each is not None))
