"""Accuracy over tau and lambda: over all corruptions, contrast 5 and shot noise 5."""

from functools import partial

from leantta.measure.svg import document, rect, text
from leantta.progress import Progress
from leantta.reproduce.measurement import Sheet
from leantta.reproduce.plot import colour_bar, shade
from leantta.reproduce.target import Job, Page, Scale, Setting, Target
from leantta.tables import Table

MODEL, DATASET, LAYERS, SEED = "resnet18", "cifar10", "half", 0

GRID: dict[Scale, tuple[float, ...]] = {
    "quick": (0.0, 0.25, 0.5, 0.75, 0.9, 1.0),
    "full": tuple(i / 10 for i in range(11)),
}
PER_CELL: dict[Scale, int] = {"quick": 2, "full": 10}
ONE_CELL: dict[Scale, int] = {"quick": 100, "full": 1000}

CELLS = {"contrast 5": ("contrast", 5), "shot noise 5": ("shot_noise", 5)}
SUBSETS = ("all", *CELLS)
DEFAULT = 0.9
"""The paper's tau and lambda."""

SECONDS = 0.006
"""Of one image, on one core."""

PICTURE = "heatmap.svg"


def sheet_of(tau: float, scale: Scale) -> Sheet:
    """Return the file of one tau: a value for each lambda."""
    return Sheet(
        name=f"heatmap-tau{tau:g}",
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
    )


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each tau, if they can be measured."""
    images = 95 * PER_CELL[setting.scale] + 2 * ONE_CELL[setting.scale]
    sheets = [sheet_of(tau, setting.scale) for tau in GRID[setting.scale]]
    return [
        Job(
            name=f"heat map tau {tau:g}",
            run=partial(_run, sheet),
            done=sheet.is_done,
            seconds=10 + images * (0.005 + len(sheet.keys) * SECONDS),
        )
        for tau, sheet in zip(GRID[setting.scale], sheets, strict=True)
        if sheet.lack(setting) is None
    ]


def _run(sheet: Sheet, setting: Setting, progress: Progress) -> None:
    """Measure the accuracy at each lambda, over each of the subsets."""
    from leantta.data.stream_builders import abrupt, one_cell
    from leantta.gates import PaperGate
    from leantta.reproduce.torch_probe import Probe
    from leantta.surgery.apply import adapt

    notebook = sheet.begin(setting)
    told = sheet.settings
    probe = Probe(MODEL, DATASET, setting.images[DATASET])
    streams = {"all": abrupt(probe.cells, told["per_cell"], seed=told["seed"])}
    for name, (corruption, severity) in CELLS.items():
        streams[name] = one_cell(probe.cells, corruption, severity, told["one_cell"], seed=told["seed"])
    for number, key in enumerate(sheet.keys):
        progress(number, len(sheet.keys))
        if key not in notebook.values:
            gate = PaperGate(tau=told["tau"], lam=float(key))
            lean = adapt(probe.model, probe.example, LAYERS, gate=gate)
            notebook.add(key, {name: probe.tally(lean, stream) for name, stream in streams.items()})
    progress(len(sheet.keys), len(sheet.keys))


Grid = dict[tuple[float, float], float]
"""Accuracy in % by tau and lambda."""


def page(setting: Setting) -> Page:
    """Return the figure, and what the paper's setting gives beside the best one and none."""
    grids: dict[str, Grid] = {name: {} for name in SUBSETS}
    lacking = []
    for tau in GRID[setting.scale]:
        sheet = sheet_of(tau, setting.scale)
        values = sheet.shown(setting)
        for lam, found in values.items():
            for name, (right, total) in found.items():
                grids[name][tau, float(lam)] = 100 * right / total
        if set(sheet.keys) - set(values):
            lacking.append(f"tau {tau:g}: {sheet.why(setting)}")
    if not grids["all"]:
        return Page(markdown="", lacking=lacking)
    table = Table(
        ("images", "no adaptation (tau 1)", f"tau {DEFAULT}, lambda {DEFAULT}", "best", "at tau, lambda"),
        tuple((name, *_row(grid)) for name, grid in grids.items()),
        (
            f"Accuracy in %: {MODEL}, CIFAR-10-C, float32, the first {LAYERS} of the BatchNorms adapts; all: "
            f"{95 * PER_CELL[setting.scale]} images of the 19 corruptions and 5 severities; the others: "
            f"{ONE_CELL[setting.scale]} images each; seed {SEED}.",
            "The best is chosen on the same images.",
            "The paper shows a figure without numbers, and says of it: 0.9 for both is above no adaptation "
            "everywhere, though other values would be better for some shifts.",
        ),
    )
    return Page(
        markdown=f"![Accuracy over tau and lambda]({PICTURE})\n\n{table.markdown()}",
        pictures={PICTURE: picture(grids)},
        lacking=lacking,
    )


def _row(grid: Grid) -> tuple[str, str, str, str]:
    best = max(grid, key=lambda point: grid[point])
    cells = [grid.get(point) for point in ((1.0, 1.0), (DEFAULT, DEFAULT))]
    first, usual = ("-" if value is None else f"{value:.1f}" for value in cells)
    return first, usual, f"{grid[best]:.1f}", f"{best[0]:g}, {best[1]:g}"


def picture(grids: dict[str, Grid]) -> str:
    """Return the figure: tau down, lambda across, a square for each pair; the lighter the more accurate."""
    taus, lams = (sorted({point[i] for grid in grids.values() for point in grid}) for i in (0, 1))
    side = 34
    wide, high, top = side * len(lams), side * len(taus), 92
    apart = wide + 130
    parts = [
        text(12, 24, "Accuracy in % over tau and lambda", size=15, bold=True),
        text(12, 44, "tau = 1 is inference without adaptation; the frame is the paper's 0.9, 0.9", size=12),
    ]
    for column, (name, grid) in enumerate(grids.items()):
        left = 62 + column * apart
        low, highest = min(grid.values()), max(grid.values())
        parts.append(text(left, top - 10, name, bold=True))
        for row, tau in enumerate(taus):
            parts.append(text(left - 6, top + side * (row + 0.5) + 4, f"{tau:g}", anchor="end", size=11))
            for place, lam in enumerate(lams):
                if (tau, lam) not in grid:
                    continue
                value = grid[tau, lam]
                share = (value - low) / (highest - low) if highest > low else 1.0
                x, y = left + side * place, top + side * row
                says = f"tau {tau:g}, lambda {lam:g}: {value:.1f} %"
                parts.append(rect(x, y, side, side, shade(share), says))
                ink = "#ffffff" if share < 0.55 else "#1c2733"
                parts.append(
                    text(x + side / 2, y + side / 2 + 4, f"{value:.0f}", anchor="middle", size=11, colour=ink)
                )
                if tau == lam == DEFAULT:
                    parts.append(_frame(x, y, side))
        parts += [
            text(left + side * (place + 0.5), top + high + 16, f"{lam:g}", anchor="middle", size=11)
            for place, lam in enumerate(lams)
        ]
        parts.append(text(left + wide / 2, top + high + 36, "lambda", anchor="middle"))
        parts.append(text(left - 36, top + high / 2, "tau", anchor="middle", turn=-90))
        parts += colour_bar(left + wide + 12, top, high, low, highest)
    return document(len(grids) * apart + 20, top + high + 50, "tau and lambda", parts)


def _frame(x: float, y: float, side: float) -> str:
    look = 'fill="none" stroke="#e03131" stroke-width="2.5"'
    return f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{side - 2:.1f}" height="{side - 2:.1f}" {look}/>'


TARGET = Target(
    title="Accuracy over tau and lambda",
    jobs=jobs,
    page=page,
    summary="tau x lambda heat map, ResNet18 on CIFAR-10-C: all, contrast 5, shot noise 5",
)
