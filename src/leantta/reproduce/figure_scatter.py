"""Accuracy against time and memory: one circle for each method and batch size."""

from dataclasses import dataclass
from math import sqrt

from leantta.measure.analytic import Footprint
from leantta.measure.svg import bubble, document, line, text
from leantta.report.groups import Score, score
from leantta.reproduce.accuracy import accuracy_job
from leantta.reproduce.at_hand import lack
from leantta.reproduce.bench_jobs import bench_job, bench_record
from leantta.reproduce.cell_text import tallies
from leantta.reproduce.paper_cells import ABRUPT_GRADUAL, BATCHES, STREAM_COLUMNS
from leantta.reproduce.plot import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    Box,
    Panel,
    label_places,
    linear_axis,
    log_axis,
)
from leantta.reproduce.protocol import LEAN, LEAN_INT8, NONE, NONE_INT8, Row, batched, stream_run
from leantta.reproduce.table_systems import LINES, Line, Measured, measured
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import MISSING, Table

MODEL, DATASET, STREAM = "resnet18", "cifar10", "abrupt"
SIZES = (1, 16, 64)
COLLAPSED = 0.3
"""Below this accuracy a model is said to have collapsed: it stands in the table, but not in the figure."""

FIXED = {
    ("None", "1"): NONE,
    ("None", "int8"): NONE_INT8,
    ("LeanTTA", "1"): LEAN,
    ("LeanTTA", "int8"): LEAN_INT8,
}
NAMES = {"RealisticTTA": "realistic_tta", "Tent": "tent:paper", "EATA": "eata", "CoTTA": "cotta"}
COLOURS = {
    "None": GREY,
    "RealisticTTA": PURPLE,
    "Tent": ORANGE,
    "EATA": GREEN,
    "CoTTA": RED,
    "LeanTTA": BLUE,
}
PICTURE = "scatter.svg"
LARGEST = 34.0
"""Radius of the largest circle."""


def row_of(system: Line) -> Row:
    """Return the row of the accuracy tables that a line of the table of systems belongs to."""
    fixed = FIXED.get((system.method, system.variant))
    return fixed or batched(system.method, NAMES[system.method], system.batch)


def jobs(setting: Setting) -> list[Job]:
    """Return the runs that say how accurate each method is, and the benchmarks that say how long it takes."""
    runs = [
        accuracy_job(stream_run(setting, MODEL, DATASET, STREAM, row_of(system), seed))
        for system in LINES
        for seed in setting.seeds
        if lack(setting, MODEL, DATASET) is None
    ]
    return [*runs, *(bench_job(MODEL, batch, setting.scale) for batch in SIZES)]


@dataclass(frozen=True, kw_only=True)
class Spot:
    """What is known of one method at one batch size; what is not is None."""

    method: str
    variant: str
    paper: float | None  # accuracy in %
    accuracy: Score | None
    time_ms: float | None  # of an image
    memory_mb: float | None  # by the paper's formula

    @property
    def label(self) -> str:
        """What is written beside its circle."""
        return f"{self.method} {self.variant}, {self.memory_mb:.0f} MB"


def spots(setting: Setting) -> list[Spot]:
    """Return what the records say of each line of the table of systems."""
    records = {batch: bench_record(MODEL, batch, setting) for batch in SIZES}
    first = records[1]
    footprint = None if first is None else Footprint(**first.settings["footprint"])
    found = []
    for system in LINES:
        timed = measured(system, records[system.batch])
        found.append(
            Spot(
                method=system.method,
                variant=system.variant,
                paper=_paper(system),
                accuracy=_accuracy(system, setting),
                time_ms=_time(timed),
                memory_mb=None if footprint is None else system.memory(footprint, system.batch) / 1e6,
            )
        )
    return found


def _time(timed: Measured | None) -> float | None:
    return None if timed is None else timed.mean_ms


def _accuracy(system: Line, setting: Setting) -> Score | None:
    runs = [stream_run(setting, MODEL, DATASET, STREAM, row_of(system), seed) for seed in setting.seeds]
    return score([found for found in tallies(runs, setting) if found is not None])


def _paper(system: Line) -> float | None:
    column = STREAM_COLUMNS.index((DATASET, STREAM, MODEL))
    cells = {**BATCHES, **ABRUPT_GRADUAL}.get(row_of(system).key)
    return None if cells is None else cells[column]


def page(setting: Setting) -> Page:
    """Return the figure, and its points as a table."""
    found = spots(setting)
    lacking = []
    for what in ("accuracy", "time"):
        without = [f"{spot.method} {spot.variant}" for spot in found if what in _missing(spot)]
        if without:
            reason = lack(setting, MODEL, DATASET) if what == "accuracy" else None
            lacking.append(
                f"no {what} of {', '.join(without)}: {reason[1] if reason else 'not measured yet'}"
            )
    if all(spot.accuracy is None and spot.time_ms is None for spot in found):
        return Page(markdown="", lacking=lacking)
    table = Table(
        ("method", "batch", "accuracy (paper)", "ms per image", "memory MB"),
        tuple(
            (
                spot.method,
                spot.variant,
                f"{spot.accuracy or MISSING}" + (f" ({spot.paper:.1f})" if spot.paper is not None else ""),
                MISSING if spot.time_ms is None else f"{spot.time_ms:.2f}",
                MISSING if spot.memory_mb is None else f"{spot.memory_mb:.1f}",
            )
            for spot in found
        ),
        (
            f"{MODEL}, CIFAR-10-C, abrupt: accuracy as in table-abrupt-gradual and table-batches, time and "
            "memory as in table-systems.",
            f"Below {100 * COLLAPSED:.0f} % a model has collapsed and is left out of the figure.",
        ),
    )
    shown = [spot for spot in found if not _missing(spot) and not _collapsed(spot)]
    pictures = {PICTURE: picture(shown)} if shown else {}
    link = f"![Accuracy against time; the area is memory]({PICTURE})\n\n" if shown else ""
    return Page(markdown=link + table.markdown(), pictures=pictures, lacking=lacking)


def _missing(spot: Spot) -> list[str]:
    return [name for name, value in (("accuracy", spot.accuracy), ("time", spot.time_ms)) if value is None]


def _collapsed(spot: Spot) -> bool:
    return spot.accuracy is not None and spot.accuracy.mean < COLLAPSED


def picture(found: list[Spot]) -> str:
    """Return the figure: time across, accuracy up, the area of a circle is memory."""
    points = [
        (spot, spot.time_ms, 100 * spot.accuracy.mean, spot.memory_mb)
        for spot in found
        if spot.time_ms is not None and spot.accuracy is not None and spot.memory_mb is not None
    ]
    times, accuracies = [time for _, time, _, _ in points], [value for _, _, value, _ in points]
    most = max(memory for *_, memory in points)
    x = log_axis("time per image in ms (logarithmic)", [min(times) / 1.5, max(times) * 1.5])
    y = linear_axis("accuracy in %", [min(accuracies) - 3, max(accuracies) + 3])
    panel = Panel(70, 74, 760, 400, x, y)
    parts = [
        text(12, 24, f"Accuracy, time and memory: {MODEL} on CIFAR-10-C, abrupt", size=15, bold=True),
        text(12, 44, "the area of a circle is the memory; the number after a method is its batch size"),
        *panel.frame(""),
    ]
    none = next((value for spot, _, value, _ in points if (spot.method, spot.variant) == ("None", "1")), None)
    taken = []
    if none is not None:
        ends = [panel.at(at, none) for at in (x.low, x.high)]
        parts.append(line(ends, GREY, 1, "4 4"))
        parts.append(text(ends[1][0] - 4, ends[1][1] - 5, "no adaptation", anchor="end", size=11))
        taken = [Box(ends[0][0], ends[0][1] - 1, ends[1][0], ends[1][1] + 1)]
    circles = [
        (panel.at(time, value), max(4.0, LARGEST * sqrt(memory / most))) for _, time, value, memory in points
    ]
    order = sorted(range(len(points)), key=lambda i: -circles[i][1])  # small ones on top
    for i in order:
        spot, time, value, memory = points[i]
        says = f"{spot.method} {spot.variant}: {value:.1f} %, {time:.2f} ms, {memory:.1f} MB"
        parts.append(bubble(*circles[i][0], circles[i][1], COLOURS[spot.method], says))
    inside = Box(panel.left, panel.top, panel.left + panel.width, panel.top + panel.height)
    places = label_places(circles, [spot.label for spot, *_ in points], inside, taken)
    parts += [
        text(*place, spot.label, size=11, colour=COLOURS[spot.method])
        for (spot, *_), place in zip(points, places, strict=True)
    ]
    return document(860, 530, "accuracy, time and memory", parts)


TARGET = Target(
    title="Accuracy, latency and memory",
    jobs=jobs,
    page=page,
    summary="accuracy against time per image, ResNet18 on CIFAR-10-C abrupt; circles are memory",
)
