"""Accuracy over tau and lambda: over all corruptions, contrast 5 and shot noise 5."""

from collections.abc import Callable, Mapping
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any

from leantta.plotting import RED, Picture
from leantta.tables import Table
from leantta_lab.reproduce.costs import PROBE_SECONDS
from leantta_lab.reproduce.measurement import Sheet, sheet_jobs
from leantta_lab.reproduce.protocol import steps_of
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from leantta_lab.reproduce.torch_probe import Probe

MODEL, DATASET, LAYERS, SEED = "resnet18", "cifar10", "half", 0

GRID: dict[Scale, tuple[float, ...]] = {
    "quick": (0.0, 0.25, 0.5, 0.75, 0.9, 1.0),
    "full": tuple(i / 10 for i in range(11)),
}
PER_CELL: dict[Scale, int] = {"quick": 2, "full": 10}
ONE_CELL: dict[Scale, int] = {"quick": 100, "full": 1000}

WORST_CELLS = {"contrast 5": ("contrast", 5), "shot noise 5": ("shot_noise", 5)}
SUBSETS = ("all", *WORST_CELLS)
DEFAULT = 0.9
"""The paper's tau and lambda."""


def sheet_of(tau: float, scale: Scale) -> Sheet:
    """Return the file of one tau: a value for each lambda."""
    images = steps_of(DATASET, "abrupt") * PER_CELL[scale] + len(WORST_CELLS) * ONE_CELL[scale]
    return Sheet(
        name=f"heatmap-tau{tau:g}",
        job=f"heat map tau {tau:g}",
        model=MODEL,
        dataset=DATASET,
        settings={
            "tau": tau,
            "layers": LAYERS,
            "per_cell": PER_CELL[scale],
            "one_cell": ONE_CELL[scale],
            "seed": SEED,
        },
        keys=tuple(f"{lam:g}" for lam in GRID[scale]),
        measure=_measure,
        seconds=10 + images * (0.005 + len(GRID[scale]) * PROBE_SECONDS[MODEL]),
    )


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each tau, if they can be measured."""
    return sheet_jobs([sheet_of(tau, setting.scale) for tau in GRID[setting.scale]], setting)


def _measure(probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], dict[str, list[int]]]:
    """Measure the accuracy at a lambda, over each of the subsets."""
    from leantta.gates.paper import PaperGate
    from leantta.streams.builders import abrupt, one_cell
    from leantta.surgery.apply import adapt

    seed, count = settings["seed"], settings["one_cell"]
    streams = {"all": abrupt(probe.cells, settings["per_cell"], seed=seed)}
    for name, cell in WORST_CELLS.items():
        streams[name] = one_cell(probe.cells, *cell, count, seed=seed)

    def tallies(key: str) -> dict[str, list[int]]:
        gate = PaperGate(tau=settings["tau"], lam=float(key))
        lean = adapt(probe.model, probe.example, LAYERS, gate=gate)
        return {name: probe.tally(lean, stream) for name, stream in streams.items()}

    return tallies


Grid = dict[tuple[float, float], float]
"""Accuracy in % by tau and lambda."""


def page(setting: Setting) -> Page:
    """Return the figure, and what the paper's setting gives beside the best one and none."""
    grids: dict[str, Grid] = {name: {} for name in SUBSETS}
    lacking = []
    for tau in GRID[setting.scale]:
        sheet = sheet_of(tau, setting.scale)
        values = sheet.shown(setting)
        for lam, by_subset in values.items():
            for name, (right, total) in by_subset.items():
                grids[name][tau, float(lam)] = 100 * right / total
        if set(sheet.keys) - set(values):
            lacking.append(f"tau {tau:g}: {sheet.why(setting)}")
    if not grids["all"]:
        return Page(lacking=lacking)
    table = Table(
        ("images", "no adaptation (tau 1)", f"tau {DEFAULT}, lambda {DEFAULT}", "best", "at tau, lambda"),
        tuple((name, *_row(grid)) for name, grid in grids.items()),
        (
            f"Accuracy in %: {MODEL}, CIFAR-10-C, float32, the first {LAYERS} of the BatchNorms adapts; all: "
            f"{PER_CELL[setting.scale] * steps_of(DATASET, 'abrupt')} images of the 19 corruptions and 5 "
            f"severities; the others: {ONE_CELL[setting.scale]} images each; seed {SEED}.",
            "The best is chosen on the same images.",
            "The paper shows a figure without numbers, and says of it: 0.9 for both is above no adaptation "
            "everywhere, though other values would be better for some shifts.",
        ),
    )
    return Page(parts=(picture(grids), table), lacking=lacking)


def _row(grid: Grid) -> tuple[str, str, str, str]:
    best = max(grid, key=lambda point: grid[point])
    cells = [grid.get(point) for point in ((1.0, 1.0), (DEFAULT, DEFAULT))]
    first, usual = ("-" if value is None else f"{value:.1f}" for value in cells)
    return first, usual, f"{grid[best]:.1f}", f"{best[0]:g}, {best[1]:g}"


def picture(grids: dict[str, Grid]) -> Picture:
    """Return the figure: tau down, lambda across, a square for each pair; the lighter the more accurate."""
    taus, lams = (sorted({point[i] for grid in grids.values() for point in grid}) for i in (0, 1))
    return Picture(
        name="heatmap",
        caption="Accuracy over tau and lambda",
        size=(len(grids) * (1.2 + 0.32 * len(lams)), 1.0 + 0.32 * len(taus)),
        values={name: [[*point, value] for point, value in grid.items()] for name, grid in grids.items()},
        draw=partial(_draw, grids, taus, lams),
    )


def _draw(grids: dict[str, Grid], taus: list[float], lams: list[float], figure: "Figure") -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    panels = figure.subplots(1, len(grids), squeeze=False)[0]
    for axes, (name, grid) in zip(panels, grids.items(), strict=True):
        values = [[grid.get((tau, lam), nan) for lam in lams] for tau in taus]
        image = axes.imshow(values, cmap="cividis", aspect="equal")
        low, high = min(grid.values()), max(grid.values())
        for (tau, lam), value in grid.items():
            ink = "white" if value < (low + high) / 2 else "black"
            place = (lams.index(lam), taus.index(tau))
            axes.text(*place, f"{value:.0f}", ha="center", va="center", color=ink, fontsize=8)
        if (DEFAULT, DEFAULT) in grid:
            corner = (lams.index(DEFAULT) - 0.5, taus.index(DEFAULT) - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=RED, linewidth=2.2, gid="paper"))
        axes.set_title(name)
        axes.set_xticks(range(len(lams)), [f"{lam:g}" for lam in lams])
        axes.set_yticks(range(len(taus)), [f"{tau:g}" for tau in taus])
        axes.set_xlabel("lambda")
        axes.set_ylabel("tau")
        axes.grid(visible=False)
        beside = axes.inset_axes((1.05, 0, 0.06, 1))
        figure.colorbar(image, cax=beside, label="accuracy in %", ticks=MaxNLocator(5))
    about = "tau = 1 is inference without adaptation; the frame is the paper's choice, 0.9 and 0.9"
    figure.suptitle(about, fontsize=9)


TARGET = Target(
    title="Accuracy over tau and lambda",
    jobs=jobs,
    page=page,
    summary="tau x lambda heat map, ResNet18 on CIFAR-10-C: all, contrast 5, shot noise 5",
)
