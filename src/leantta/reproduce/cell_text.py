"""A cell of a table: ours beside the paper's, or why there is none."""

from collections.abc import Iterable, Sequence

from leantta.evaluate.metrics import Tally, tally
from leantta.report.groups import score
from leantta.reproduce.at_hand import lack
from leantta.reproduce.run_record import Run, record_of
from leantta.reproduce.target import Setting

NOT_RUN = "not run"

ONE_RUN = "Accuracy in %; ± is half the 95 % interval of one run."
PAPER = "In brackets: the paper's value."
QUICKLY = (
    "CoTTA looks at one random view of an input instead of 32 at this scale, and EATA takes its Fisher "
    "information from 500 training inputs instead of 2,000."
)
ONE_BY_ONE = "None and LeanTTA see each image by itself, so that their batch size decides nothing."


def cell(counted: Sequence[Tally | None], paper: float | None, missing: str = NOT_RUN) -> str:
    """Return a cell from what was counted with each seed, None where there is no record.

    >>> cell([Tally(80, 100)], 79.1), cell([None], 79.1), cell([Tally(8, 9), None], None)
    ('80.0±7.8 (79.1)', 'not run (79.1)', '88.9±20.8 [1 of 2 seeds]')
    """
    return beside(ours(counted, missing), paper)


def ours(counted: Sequence[Tally | None], missing: str = NOT_RUN) -> str:
    """Return our part of a cell."""
    there = [each for each in counted if each is not None]
    found = score(there)
    if found is None:
        return missing
    return str(found) if len(there) == len(counted) else f"{found} [{len(there)} of {len(counted)} seeds]"


def beside(text: str, paper: float | None) -> str:
    """Return a text with the paper's value after it if there is one."""
    return text if paper is None else f"{text} ({paper:.1f})"


def tallies(runs: Iterable[Run], setting: Setting) -> list[Tally | None]:
    """Return what was right in each run; None where there is no record.

    Raises:
        RecordError: one is damaged.
    """
    records = [record_of(run, setting) for run in runs]
    return [None if record is None else tally(record) for record in records]


def spread_note(setting: Setting) -> str:
    """Return what stands behind the ± of this scale."""
    seeds = len(setting.seeds)
    if seeds == 1:
        return ONE_RUN
    return (
        f"Accuracy in %; ± is the standard deviation over {seeds} seeds; of one seed, half the 95 % interval."
    )


def gap(setting: Setting, model: str, dataset: str) -> str:
    """Return what a cell without a record shows."""
    missing = lack(setting, model, dataset)
    return NOT_RUN if missing is None else missing[0]


def lacking(setting: Setting, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each thing that is missing to run the models on the datasets."""
    found = [lack(setting, model, dataset) for model, dataset in pairs]
    return list(dict.fromkeys(line for missing in found if missing is not None for line in missing[1:]))
