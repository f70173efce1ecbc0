"""Accuracy against time and memory: one circle for each method and batch size."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import cos, pi, sin, sqrt
from typing import TYPE_CHECKING

from leantta.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Picture
from leantta.report.groups import Score, score
from leantta.tables import MISSING, Table
from leantta_lab.measure.analytic import Footprint
from leantta_lab.reproduce.at_hand import lack
from leantta_lab.reproduce.bench_jobs import bench_job, bench_record
from leantta_lab.reproduce.paper_cells import ABRUPT_GRADUAL, BATCHES, STREAM_COLUMNS
from leantta_lab.reproduce.protocol import BASELINES, LEAN, LEAN_INT8, NONE, NONE_INT8, TableRow, batched
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import Run
from leantta_lab.reproduce.run_table import Column, answers, tallies
from leantta_lab.reproduce.table_systems import SYSTEM_ROWS, SystemRow, measured
from leantta_lab.reproduce.target import Job, Page, Setting, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[float, float]

MODEL, DATASET, STREAM = "resnet18", "cifar10", "abrupt"
SIZES = (1, 16, 64)
COLLAPSED = 0.3
"""Below this accuracy a model is said to have collapsed: it stands in the table, but not in the figure."""

COLUMN = Column(
    head="accuracy",
    model=MODEL,
    dataset=DATASET,
    stream=STREAM,
    paper={
        key: cells[STREAM_COLUMNS.index((DATASET, STREAM, MODEL))]
        for key, cells in {**BATCHES, **ABRUPT_GRADUAL}.items()
    },
)
FIXED = {
    ("None", "1"): NONE,
    ("None", "int8"): NONE_INT8,
    ("LeanTTA", "1"): LEAN,
    ("LeanTTA", "int8"): LEAN_INT8,
}
COLOURS = {
    "None": GREY,
    "RealisticTTA": PURPLE,
    "Tent": ORANGE,
    "EATA": GREEN,
    "CoTTA": RED,
    "LeanTTA": BLUE,
}
LARGEST = 28.0
"""Radius of the largest circle in points."""

FONT = 8.0


def row_of(system: SystemRow) -> TableRow:
    """Return the row of the accuracy tables that a row of the table of systems belongs to."""
    if system.method in BASELINES:
        return batched(system.method, sizes=(system.batch,))[0]
    return FIXED[system.method, system.variant]


def runs(setting: Setting) -> list[Run]:
    """Return the runs that say how accurate each method is."""
    return [run for system in SYSTEM_ROWS for run in COLUMN.runs(setting, row_of(system))]


def jobs(setting: Setting) -> list[Job]:
    """Return the runs that say how accurate each method is, and the benchmarks that say how long it takes."""
    able = lack(setting, MODEL, DATASET) is None
    accuracies = [accuracy_job(run) for run in runs(setting) if able]
    return [*accuracies, *(bench_job(MODEL, batch, setting.scale) for batch in SIZES)]


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

    @property
    def place(self) -> tuple[float, float, float]:
        """Its time in ms, accuracy in % and memory in MB, all of which are known."""
        assert self.time_ms is not None
        assert self.accuracy is not None
        assert self.memory_mb is not None
        return self.time_ms, 100 * self.accuracy.mean, self.memory_mb


def spots(setting: Setting) -> list[Spot]:
    """Return what the records say of each row of the table of systems."""
    benches = {batch: bench_record(MODEL, batch, setting) for batch in SIZES}
    first = benches[1]
    footprint = None if first is None else Footprint(**first.settings["footprint"])
    every = []
    for system in SYSTEM_ROWS:
        timed = measured(system, benches[system.batch])
        row = row_of(system)
        every.append(
            Spot(
                method=system.method,
                variant=system.variant,
                paper=COLUMN.paper.get(row.key),
                accuracy=score(tallies(answers(setting, COLUMN, row))),
                time_ms=None if timed is None else timed.mean_ms,
                memory_mb=None if footprint is None else system.memory(footprint, system.batch) / 1e6,
            )
        )
    return every


def page(setting: Setting) -> Page:
    """Return the figure, and its points as a table."""
    every = spots(setting)
    lacking = []
    for what in ("accuracy", "time"):
        without = [f"{spot.method} {spot.variant}" for spot in every if what in _missing(spot)]
        if without:
            reason = lack(setting, MODEL, DATASET) if what == "accuracy" else None
            lacking.append(
                f"no {what} of {', '.join(without)}: {reason.line if reason else 'not measured yet'}"
            )
    if all(spot.accuracy is None and spot.time_ms is None for spot in every):
        return Page(lacking=lacking)
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
            for spot in every
        ),
        (
            f"{MODEL}, CIFAR-10-C, abrupt: accuracy as in table-abrupt-gradual and table-batches, time and "
            "memory as in table-systems.",
            f"Below {100 * COLLAPSED:.0f} % a model has collapsed and is left out of the figure.",
        ),
    )
    shown = [spot for spot in every if not _missing(spot) and not _collapsed(spot)]
    return Page(parts=(*([picture(shown)] if shown else []), table), lacking=lacking)


def _missing(spot: Spot) -> list[str]:
    return [name for name, value in (("accuracy", spot.accuracy), ("time", spot.time_ms)) if value is None]


def _collapsed(spot: Spot) -> bool:
    return spot.accuracy is not None and spot.accuracy.mean < COLLAPSED


def picture(shown: list[Spot]) -> Picture:
    """Return the figure: time across, accuracy up, the area of a circle is memory."""
    return Picture(
        name="scatter",
        caption="Accuracy against time; the area is memory",
        size=(8.6, 5.6),
        values=[asdict(spot) for spot in shown],
        draw=partial(_draw, sorted(((spot, *spot.place) for spot in shown), key=lambda place: place[1])),
    )


def _draw(places: list[tuple[Spot, float, float, float]], figure: "Figure") -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axes = figure.subplots()
    most = max(memory for *_, memory in places)
    radii = [max(3.0, LARGEST * sqrt(memory / most)) for *_, memory in places]  # in points
    for (spot, ms, percent, _), radius in sorted(zip(places, radii, strict=True), key=lambda pair: -pair[1]):
        colour = COLOURS[spot.method]
        axes.scatter(ms, percent, s=(2 * radius) ** 2, color=colour, alpha=0.45, edgecolor=colour)
    none = next((p for spot, _, p, _ in places if (spot.method, spot.variant) == ("None", "1")), None)
    if none is not None:
        axes.axhline(none, color=GREY, ls="--", lw=0.9)
        edge = axes.get_yaxis_transform()
        axes.text(0.01, none - 0.5, "no adaptation", transform=edge, va="top", color=GREY, fontsize=FONT)
    axes.set_xscale("log")
    axes.margins(x=0.2, y=0.14)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("time per image in ms (logarithmic)")
    axes.set_ylabel("accuracy in %")
    axes.set_title(f"{MODEL} on CIFAR-10-C, abrupt: the area is memory, the number the batch size")
    figure.draw_without_rendering()  # now the axes have their places
    points = 72 / figure.dpi
    centres = [tuple(points * axes.transData.transform((ms, percent))) for _, ms, percent, _ in places]
    offsets = label_offsets(centres, radii, [spot.label for spot, *_ in places])
    for (spot, ms, percent, _), offset in zip(places, offsets, strict=True):
        axes.annotate(
            spot.label,
            (ms, percent),
            offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=FONT,
            arrowprops={"arrowstyle": "-", "color": COLOURS[spot.method], "linewidth": 0.7},
        )


def label_offsets(centres: Sequence[Point], radii: Sequence[float], labels: Sequence[str]) -> list[Point]:
    """Return where the middle of each label goes, seen from its circle, so that it covers no other.

    All lengths are in points. Places nearer to the circle come first.
    """
    taken: list[tuple[Point, Point]] = [((x, y), (r, r)) for (x, y), r in zip(centres, radii, strict=True)]
    offsets = []
    for (x, y), radius, label in zip(centres, radii, labels, strict=True):
        half = (0.27 * FONT * len(label), 0.7 * FONT)
        choices = [
            (cos(turn) * (radius + away + half[0]), sin(turn) * (radius + away + half[1]))
            for away in (4, 12, 24, 40, 60)
            for turn in (pi * (2 + step) / 8 for step in range(16))
        ]
        covered = [sum(_overlap(((x + dx, y + dy), half), other) for other in taken) for dx, dy in choices]
        dx, dy = choices[covered.index(min(covered))]
        taken.append(((x + dx, y + dy), half))
        offsets.append((dx, dy))
    return offsets


def _overlap(one: tuple[Point, Point], other: tuple[Point, Point]) -> float:
    """Return the area that two boxes share, each given by its middle and half of its sides."""
    shared = [
        min(one[0][i] + one[1][i], other[0][i] + other[1][i])
        - max(one[0][i] - one[1][i], other[0][i] - other[1][i])
        for i in (0, 1)
    ]
    return shared[0] * shared[1] if min(shared) > 0 else 0.0


TARGET = Target(
    title="Accuracy, latency and memory",
    jobs=jobs,
    page=page,
    runs=runs,
    summary="accuracy against time per image, ResNet18 on CIFAR-10-C abrupt; circles are memory",
)
