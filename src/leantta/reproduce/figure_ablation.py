"""Layer ablation in both directions: the first n BatchNorms adapt, or the last n."""

from functools import partial
from typing import Literal

from leantta.evaluate.metrics import Tally
from leantta.measure.svg import document, dot, line, text
from leantta.progress import Progress
from leantta.reproduce.measurement import Sheet
from leantta.reproduce.plot import BLUE, ORANGE, Axis, Panel, legend, linear_axis
from leantta.reproduce.target import Job, Page, Scale, Setting, Target
from leantta.tables import MISSING, Table

Direction = Literal["first", "last"]

LAYERS = {"resnet18": 20, "mobilenet_v2": 52}
"""How many BatchNorms each model has."""

STEP: dict[Scale, dict[str, int]] = {
    "quick": {"resnet18": 5, "mobilenet_v2": 13},
    "full": {"resnet18": 2, "mobilenet_v2": 4},
}
PER_CELL: dict[Scale, int] = {"quick": 5, "full": 100}
SEED, CELLS = 0, 95
SECONDS = {"resnet18": 0.006, "mobilenet_v2": 0.02}
"""Of one image, on one core."""

PICTURE = "ablation.svg"
COLOURS: dict[Direction, tuple[str, str]] = {"first": (BLUE, ""), "last": (ORANGE, "6 4")}


def sheet_of(model: str, direction: Direction, scale: Scale) -> Sheet:
    """Return the file of one line of the figure; none and all layers are measured once, with the first."""
    counts = range(0, LAYERS[model] + 1, STEP[scale][model])
    ends = (0, LAYERS[model]) if direction == "last" else ()
    return Sheet(
        name=f"ablation-{model}-{direction}",
        model=model,
        dataset="cifar10",
        settings={"direction": direction, "per_cell": PER_CELL[scale], "seed": SEED},
        keys=tuple(str(count) for count in counts if count not in ends),
    )


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each line that can be measured."""
    images = CELLS * PER_CELL[setting.scale]
    sheets = [
        (direction, sheet_of(model, direction, setting.scale)) for model in LAYERS for direction in COLOURS
    ]
    return [
        Job(
            name=f"ablation {sheet.model}, {direction} layers",
            run=partial(_run, sheet, direction),
            done=sheet.is_done,
            seconds=10 + images * (0.005 + len(sheet.keys) * SECONDS[sheet.model]),
        )
        for direction, sheet in sheets
        if sheet.lack(setting) is None
    ]


def _run(sheet: Sheet, direction: Direction, setting: Setting, progress: Progress) -> None:
    """Measure the accuracy with each number of layers."""
    from leantta.data.stream_builders import abrupt
    from leantta.reproduce.torch_probe import Probe
    from leantta.surgery.apply import adapt

    notebook = sheet.begin(setting)
    probe = Probe(sheet.model, sheet.dataset, setting.images[sheet.dataset])
    stream = abrupt(probe.cells, sheet.settings["per_cell"], seed=sheet.settings["seed"])
    names = probe.layers()
    for number, key in enumerate(sheet.keys):
        progress(number, len(sheet.keys))
        if key not in notebook.values:
            count = int(key)
            chosen = names[:count] if direction == "first" else names[len(names) - count :]
            lean = adapt(probe.model, probe.example, chosen or "none")
            notebook.add(key, probe.tally(lean, stream))
    progress(len(sheet.keys), len(sheet.keys))


Lines = dict[Direction, dict[int, Tally]]


def page(setting: Setting) -> Page:
    """Return the figure, and its points as a table."""
    found: dict[str, Lines] = {}
    lacking = []
    for model in LAYERS:
        sheets = {direction: sheet_of(model, direction, setting.scale) for direction in COLOURS}
        values = {direction: sheet.shown(setting) for direction, sheet in sheets.items()}
        ends = {key: tally for key, tally in values["first"].items() if key in ("0", str(LAYERS[model]))}
        found[model] = {
            direction: {int(key): Tally(*each[key]) for key in sorted(each, key=int)}
            for direction, each in (
                (d, values[d] if d == "first" else {**ends, **values[d]}) for d in COLOURS
            )
        }
        for direction, sheet in sheets.items():
            missing = [key for key in sheet.keys if key not in values[direction]]
            if missing:
                reason = sheet.why(setting)
                lacking.append(f"{model}, {direction} {', '.join(missing)} layers: {reason}")
    shown = {model: lines for model, lines in found.items() if any(lines.values())}
    images = CELLS * PER_CELL[setting.scale]
    table = Table(
        ("model", "layers that adapt", "the first n", "the last n"),
        tuple(
            (model, str(count), *(_cell(lines[direction].get(count)) for direction in COLOURS))
            for model, lines in shown.items()
            for count in sorted({*lines["first"], *lines["last"]})
        ),
        (
            f"Accuracy in % over {images:,} images of CIFAR-10-C, abrupt, seed {SEED}; float32; "
            "± is half the 95 % interval.",
            "The paper shows a figure without numbers, and says of it: leaving out deep layers costs "
            "nothing, leaving out shallow ones costs most of the gain.",
        ),
    )
    pictures = {PICTURE: picture(shown)} if shown else {}
    markdown = table.markdown() if shown else ""
    return Page(
        markdown=f"![Accuracy by number of adapting layers]({PICTURE})\n\n{markdown}" if shown else "",
        pictures=pictures,
        lacking=lacking,
    )


def _cell(tally: Tally | None) -> str:
    if tally is None:
        return MISSING
    return f"{100 * tally.accuracy:.1f}±{100 * tally.interval.half_width:.1f}"


def picture(models: dict[str, Lines]) -> str:
    """Return the figure: a panel for each model."""
    wide, high, top = 360, 250, 92
    entries = [
        (f"the {direction} n layers adapt", colour, dashes) for direction, (colour, dashes) in COLOURS.items()
    ]
    parts = [
        text(12, 24, "Which layers matter: accuracy by number of adapting layers", size=15, bold=True),
        *legend(12, 48, entries),
    ]
    for column, (model, lines) in enumerate(models.items()):
        values = [100 * tally.accuracy for each in lines.values() for tally in each.values()]
        counts = sorted({count for each in lines.values() for count in each})
        every = max(1, len(counts) // 7)
        x = Axis("n, of the layers in execution order", 0, LAYERS[model], tuple(counts[::every]))
        y = linear_axis("accuracy in %", values)
        panel = Panel(70 + column * (wide + 90), top, wide, high, x, y)
        parts += panel.frame(model)
        for direction, (colour, dashes) in COLOURS.items():
            points = {count: 100 * tally.accuracy for count, tally in lines[direction].items()}
            parts.append(line([panel.at(*point) for point in points.items()], colour, 2, dashes))
            parts += [
                dot(*panel.at(*point), colour, f"{direction} {point[0]}: {point[1]:.1f} %")
                for point in points.items()
            ]
    return document(len(models) * (wide + 90) + 10, top + high + 50, "layer ablation", parts)


TARGET = Target(
    title="Layer ablation in both directions",
    jobs=jobs,
    page=page,
    summary="accuracy when the first or the last n BatchNorms adapt, CIFAR-10-C abrupt",
)
