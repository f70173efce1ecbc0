"""The distance d layer by layer, by severity of the corruption."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from leantta.evaluate.intervals import deviation
from leantta.plotting import Picture
from leantta.tables import Table
from leantta_lab.reproduce.costs import PROBE_SECONDS
from leantta_lab.reproduce.measurement import Sheet, Values, sheet_jobs
from leantta_lab.reproduce.protocol import PAPER_DATASETS, PAPER_MODELS, steps_of
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from leantta_lab.reproduce.torch_probe import Probe

SEVERITIES = (1, 2, 3, 4, 5)
PER_CELL: dict[Scale, int] = {"quick": 2, "full": 10}
COLOURS = ("#9ecae1", "#6baed6", "#3182bd", "#08519c", "#042250")
"""From the mildest to the most severe, light to dark as in the paper."""


def sheet_of(model: str, dataset: str, setting: Setting) -> Sheet:
    """Return the file of one panel: the layers' names, and a value for each seed."""
    images = steps_of("cifar10", "abrupt") * PER_CELL[setting.scale] * len(setting.seeds)
    return Sheet(
        name=f"distances-{model}-{dataset}",
        job=f"distances {model} {dataset}",
        model=model,
        dataset=dataset,
        settings={"per_cell": PER_CELL[setting.scale], "layers": "all"},
        keys=("layers", *(f"seed {seed}" for seed in setting.seeds)),
        measure=_measure,
        seconds=10 + images * (0.005 + PROBE_SECONDS[model]),
    )


def _sheets(setting: Setting) -> list[Sheet]:
    return [sheet_of(model, dataset, setting) for model in PAPER_MODELS for dataset in PAPER_DATASETS]


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each panel that can be measured."""
    return sheet_jobs(_sheets(setting), setting)


def _measure(probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], Any]:
    """Measure mean and deviation of d over images, by severity and layer, with a seed."""
    import numpy as np

    from leantta.nn import watch
    from leantta.streams.builders import abrupt
    from leantta.surgery.apply import adapt

    lean = adapt(probe.model, probe.example, "all")
    layers = probe.layers()

    def value(key: str) -> Any:
        if key == "layers":
            return layers
        stream = abrupt(probe.cells, settings["per_cell"], seed=int(key.split()[1]))
        with watch(lean) as readings:
            batches = [
                np.stack([readings[name].distance.numpy() for name in layers], 1)
                for _ in probe.outputs(lean, stream)
            ]
        distances = np.concatenate(batches)  # (images, layers)
        severity = np.array([domain.severity for domain in stream.domains])[stream.domain]
        by_severity = {str(each): distances[severity == each] for each in SEVERITIES}
        return {
            name: {
                "images": len(part),
                "mean": _rounded(part.mean(0).tolist()),
                "deviation": _rounded(part.std(0).tolist()),
            }
            for name, part in by_severity.items()
        }

    return value


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 6) for value in values]


class Curve(NamedTuple):
    """The mean d of each layer, and one standard deviation."""

    mean: list[float]
    deviation: list[float]


def curves(values: Values) -> dict[int, Curve]:
    """Return the curve of each severity: over trials if there are several, as in the paper, else over images.

    >>> one = {"1": {"images": 2, "mean": [0.5], "deviation": [0.25]}}
    >>> curves({"layers": ["bn1"], "seed 0": one})
    {1: Curve(mean=[0.5], deviation=[0.25])}
    """
    trials = [value for key, value in values.items() if key.startswith("seed ")]
    by_severity = {}
    for severity in SEVERITIES:
        each = [trial[str(severity)] for trial in trials if str(severity) in trial]
        if len(each) == 1:
            by_severity[severity] = Curve(each[0]["mean"], each[0]["deviation"])
        elif each:
            layers = list(zip(*(trial["mean"] for trial in each), strict=True))
            by_severity[severity] = Curve([sum(m) / len(m) for m in layers], [deviation(m) for m in layers])
    return by_severity


def page(setting: Setting) -> Page:
    """Return the figure, and the mean over the layers of each half as a table."""
    panels: dict[tuple[str, str], dict[int, Curve]] = {}
    lacking = []
    for sheet in _sheets(setting):
        values = sheet.shown(setting)
        if by_severity := curves(values):
            panels[sheet.model, sheet.dataset] = by_severity
        if set(sheet.keys) - set(values):
            lacking.append(f"{sheet.model} {sheet.dataset}: {sheet.why(setting)}")
    if not panels:
        return Page(lacking=lacking)
    rows = tuple(
        (model, dataset, half, *(f"{_mean(by_severity[s].mean, half):.3f}" for s in SEVERITIES))
        for (model, dataset), by_severity in panels.items()
        for half in ("first", "second")
    )
    trials = len(setting.seeds)
    shading = f"of the means of {trials} trials" if trials > 1 else "over images (one trial)"
    table = Table(
        ("model", "images", "half of the layers", *(f"severity {each}" for each in SEVERITIES)),
        rows,
        (
            f"Mean of d with all layers adapting (tau = lambda = 0.9) over "
            f"{19 * PER_CELL[setting.scale]} images of each severity and trial. "
            f"Shading in the figure: one standard deviation {shading}.",
        ),
    )
    return Page(parts=(picture(panels), table), lacking=lacking)


def _mean(values: Sequence[float], half: str) -> float:
    middle = len(values) // 2
    part = values[:middle] if half == "first" else values[middle:]
    return sum(part) / len(part)


def picture(panels: dict[tuple[str, str], dict[int, Curve]]) -> Picture:
    """Return the figure: a row of panels for each dataset, a column for each model."""
    models, datasets = (list(dict.fromkeys(key[place] for key in panels)) for place in (0, 1))
    return Picture(
        name="distances",
        caption="Distance d by layer and severity",
        size=(4.3 * len(models), 0.5 + 2.6 * len(datasets)),
        values={" ".join(key): by_severity for key, by_severity in panels.items()},
        draw=partial(_draw, panels, models, datasets),
    )


def _draw(
    panels: dict[tuple[str, str], dict[int, Curve]],
    models: list[str],
    datasets: list[str],
    figure: "Figure",
) -> None:
    grid = figure.subplots(len(datasets), len(models), squeeze=False)
    for row, dataset in enumerate(datasets):
        for column, model in enumerate(models):
            axes, by_severity = grid[row][column], panels.get((model, dataset), {})
            axes.set_visible(bool(by_severity))
            axes.set_title(f"{model}, {dataset}")
            axes.set_xlabel("BatchNorm layer, in execution order")
            axes.set_ylabel("distance d")
            for severity, curve in by_severity.items():
                colour, layers = COLOURS[severity - 1], range(1, len(curve.mean) + 1)
                low, high = ([m + side * s for m, s in zip(*curve, strict=True)] for side in (-1, 1))
                axes.fill_between(layers, low, high, color=colour, alpha=0.15, linewidth=0)
                axes.plot(layers, curve.mean, color=colour, label=f"severity {severity}")
            axes.set_ylim(0, min(1.0, axes.get_ylim()[1]))
            axes.margins(x=0.02)
            axes.xaxis.get_major_locator().set_params(integer=True)
    handles = next(axes for axes in grid.flat if axes.get_visible()).get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=len(SEVERITIES))


TARGET = Target(
    title="Layer-wise distance by severity",
    jobs=jobs,
    page=page,
    summary="distance d of each layer by severity, ResNet18 and MobileNetV2, CIFAR-10-C and -100-C",
)
