"""Layer ablation in both directions: the first n BatchNorms adapt, or the last n."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from leantta.evaluate.metrics import Tally
from leantta.plotting import BLUE, ORANGE, Picture
from leantta.tables import MISSING, Table
from leantta_lab.reproduce.costs import PROBE_SECONDS
from leantta_lab.reproduce.measurement import Sheet, sheet_jobs
from leantta_lab.reproduce.protocol import steps_of
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from leantta_lab.reproduce.torch_probe import Probe

Direction = Literal["first", "last"]

LAYERS = {"resnet18": 20, "mobilenet_v2": 52}
"""How many BatchNorms each model has."""

STEP: dict[Scale, dict[str, int]] = {
    "quick": {"resnet18": 5, "mobilenet_v2": 13},
    "full": {"resnet18": 2, "mobilenet_v2": 4},
}
PER_CELL: dict[Scale, int] = {"quick": 5, "full": 100}
SEED = 0
STYLES: dict[Direction, tuple[str, str, str]] = {"first": (BLUE, "-", "o"), "last": (ORANGE, "--", "s")}
"""The colour, dashes and marks of each line."""


def _images(scale: Scale) -> int:
    return PER_CELL[scale] * steps_of("cifar10", "abrupt")


def sheet_of(model: str, direction: Direction, scale: Scale) -> Sheet:
    """Return the file of one line of the figure; none and all layers are measured once, with the first."""
    counts = range(0, LAYERS[model] + 1, STEP[scale][model])
    ends = (0, LAYERS[model]) if direction == "last" else ()
    keys = tuple(str(count) for count in counts if count not in ends)
    return Sheet(
        name=f"ablation-{model}-{direction}",
        job=f"ablation {model}, {direction} layers",
        model=model,
        dataset="cifar10",
        settings={"direction": direction, "per_cell": PER_CELL[scale], "seed": SEED},
        keys=keys,
        measure=_measure,
        seconds=10 + _images(scale) * (0.005 + len(keys) * PROBE_SECONDS[model]),
    )


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each line that can be measured."""
    sheets = [sheet_of(model, direction, setting.scale) for model in LAYERS for direction in STYLES]
    return sheet_jobs(sheets, setting)


def _measure(probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], list[int]]:
    """Measure the accuracy with a number of layers."""
    from leantta.streams.builders import abrupt
    from leantta.surgery.apply import adapt

    stream = abrupt(probe.cells, settings["per_cell"], seed=settings["seed"])
    names = probe.layers()

    def tally(key: str) -> list[int]:
        count = int(key)
        chosen = names[:count] if settings["direction"] == "first" else names[len(names) - count :]
        return probe.tally(adapt(probe.model, probe.example, chosen or "none"), stream)

    return tally


Points = dict[Direction, dict[int, Tally]]
"""Of one model: how many were right when so many layers adapt, from either end."""


def page(setting: Setting) -> Page:
    """Return the figure, and its points as a table."""
    models: dict[str, Points] = {}
    lacking = []
    for model in LAYERS:
        sheets = {direction: sheet_of(model, direction, setting.scale) for direction in STYLES}
        values = {direction: sheet.shown(setting) for direction, sheet in sheets.items()}
        ends = {key: tally for key, tally in values["first"].items() if key in ("0", str(LAYERS[model]))}
        by_direction = {**values, "last": {**ends, **values["last"]}}
        if any(by_direction.values()):
            models[model] = {
                direction: {int(key): Tally(*tallies[key]) for key in sorted(tallies, key=int)}
                for direction, tallies in by_direction.items()
            }
        for direction, sheet in sheets.items():
            missing = [key for key in sheet.keys if key not in values[direction]]
            if missing:
                lacking.append(f"{model}, {direction} {', '.join(missing)} layers: {sheet.why(setting)}")
    if not models:
        return Page(lacking=lacking)
    table = Table(
        ("model", "layers that adapt", "the first n", "the last n"),
        tuple(
            (model, str(count), *(_cell(points[direction].get(count)) for direction in STYLES))
            for model, points in models.items()
            for count in sorted({*points["first"], *points["last"]})
        ),
        (
            f"Accuracy in % over {_images(setting.scale):,} images of CIFAR-10-C, abrupt, seed {SEED}; "
            "float32; ± is half the 95 % interval.",
            "The paper shows a figure without numbers, and says of it: leaving out deep layers costs "
            "nothing, leaving out shallow ones costs most of the gain.",
        ),
    )
    return Page(parts=(picture(models), table), lacking=lacking)


def _cell(tally: Tally | None) -> str:
    if tally is None:
        return MISSING
    return f"{100 * tally.accuracy:.1f}±{100 * tally.interval.half_width:.1f}"


def picture(models: dict[str, Points]) -> Picture:
    """Return the figure: a panel for each model."""
    return Picture(
        name="ablation",
        caption="Accuracy by number of adapting layers",
        size=(4.2 * len(models), 3.2),
        values=models,
        draw=partial(_draw, models),
    )


def _draw(models: dict[str, Points], figure: "Figure") -> None:
    panels = figure.subplots(1, len(models), squeeze=False)[0]
    for axes, (model, points) in zip(panels, models.items(), strict=True):
        for direction, (colour, dashes, marker) in STYLES.items():
            values = [100 * tally.accuracy for tally in points[direction].values()]
            label = f"the {direction} n layers adapt"
            axes.plot(list(points[direction]), values, color=colour, ls=dashes, marker=marker, label=label)
        counts = sorted({*points["first"], *points["last"]})
        axes.set_xticks(counts[:: 1 + len(counts) // 8])
        axes.set_title(model)
        axes.set_xlabel("n, of the BatchNorm layers in execution order")
        axes.set_ylabel("accuracy in %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(STYLES))


TARGET = Target(
    title="Layer ablation in both directions",
    jobs=jobs,
    page=page,
    summary="accuracy when the first or the last n BatchNorms adapt, CIFAR-10-C abrupt",
)
