"""The distance d layer by layer, by severity of the corruption."""

from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import NamedTuple

from leantta.evaluate.intervals import deviation
from leantta.measure.svg import area, document, line, text
from leantta.progress import Progress
from leantta.reproduce.measurement import Sheet, Values
from leantta.reproduce.plot import Axis, Panel, legend, linear_axis
from leantta.reproduce.target import Job, Page, Scale, Setting, Target
from leantta.tables import Table

MODELS, DATASETS = ("resnet18", "mobilenet_v2"), ("cifar10", "cifar100")
SEVERITIES = (1, 2, 3, 4, 5)
PER_CELL: dict[Scale, int] = {"quick": 2, "full": 10}
CELLS = 95
SECONDS = {"resnet18": 0.006, "mobilenet_v2": 0.02}
"""Of one image, on one core."""

COLOURS = ("#a5d8ff", "#74b9f2", "#3d8bd8", "#1a5aa8", "#0b2a5c")
"""From the mildest to the most severe, light to dark as in the paper."""

PICTURE = "distances.svg"


def sheet_of(model: str, dataset: str, setting: Setting) -> Sheet:
    """Return the file of one panel: the layers' names, and a value for each seed."""
    return Sheet(
        name=f"distances-{model}-{dataset}",
        model=model,
        dataset=dataset,
        settings={"per_cell": PER_CELL[setting.scale], "layers": "all"},
        keys=("layers", *(f"seed {seed}" for seed in setting.seeds)),
    )


def _sheets(setting: Setting) -> list[Sheet]:
    return [sheet_of(model, dataset, setting) for model in MODELS for dataset in DATASETS]


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each panel that can be measured."""
    images = CELLS * PER_CELL[setting.scale] * len(setting.seeds)
    return [
        Job(
            name=f"distances {sheet.model} {sheet.dataset}",
            run=partial(_run, sheet),
            done=sheet.is_done,
            seconds=10 + images * (0.005 + SECONDS[sheet.model]),
        )
        for sheet in _sheets(setting)
        if sheet.lack(setting) is None
    ]


def _run(sheet: Sheet, setting: Setting, progress: Progress) -> None:
    """Measure mean and deviation of d over images, by severity and layer, with each seed."""
    import numpy as np

    from leantta.data.stream_builders import abrupt
    from leantta.nn import watch
    from leantta.reproduce.torch_probe import Probe
    from leantta.surgery.apply import adapt

    notebook = sheet.begin(setting)
    probe = Probe(sheet.model, sheet.dataset, setting.images[sheet.dataset])
    lean = adapt(probe.model, probe.example, "all")
    notebook.add("layers", probe.layers())
    seeds = [key for key in sheet.keys if key != "layers"]
    for number, key in enumerate(seeds):
        progress(number, len(seeds))
        if key in notebook.values:
            continue
        stream = abrupt(probe.cells, sheet.settings["per_cell"], seed=int(key.split()[1]))
        layers = notebook.values["layers"]
        with watch(lean) as readings:
            found = [
                np.stack([readings[name].distance.numpy() for name in layers], 1)
                for _ in probe.outputs(lean, stream)
            ]
        distances = np.concatenate(found)  # (images, layers)
        severity = np.array([domain.severity for domain in stream.domains])[stream.domain]
        notebook.add(
            key,
            {
                str(each): {
                    "images": int((severity == each).sum()),
                    "mean": _rounded(distances[severity == each].mean(0).tolist()),
                    "deviation": _rounded(distances[severity == each].std(0).tolist()),
                }
                for each in SEVERITIES
            },
        )
    progress(len(seeds), len(seeds))


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
    found = {}
    for severity in SEVERITIES:
        each = [trial[str(severity)] for trial in trials if str(severity) in trial]
        if len(each) == 1:
            found[severity] = Curve(each[0]["mean"], each[0]["deviation"])
        elif each:
            columns = list(zip(*(trial["mean"] for trial in each), strict=True))
            found[severity] = Curve(
                [sum(column) / len(column) for column in columns], [deviation(column) for column in columns]
            )
    return found


def page(setting: Setting) -> Page:
    """Return the figure, and the mean over the layers of each half as a table."""
    panels: dict[tuple[str, str], dict[int, Curve]] = {}
    lacking = []
    trials = len(setting.seeds)
    for sheet in _sheets(setting):
        values = sheet.shown(setting)
        found = curves(values)
        if found:
            panels[sheet.model, sheet.dataset] = found
        if set(sheet.keys) - set(values):
            reason = sheet.why(setting)
            lacking.append(f"{sheet.model} {sheet.dataset}: {reason}")
    if not panels:
        return Page(markdown="", lacking=lacking)
    rows = tuple(
        (model, dataset, half, *(f"{_mean(found[s].mean, half):.3f}" for s in SEVERITIES))
        for (model, dataset), found in panels.items()
        for half in ("first", "second")
    )
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
    return Page(
        markdown=f"![Distance d by layer and severity]({PICTURE})\n\n{table.markdown()}",
        pictures={PICTURE: picture(panels)},
        lacking=lacking,
    )


def _mean(values: Sequence[float], half: str) -> float:
    middle = len(values) // 2
    part = values[:middle] if half == "first" else values[middle:]
    return sum(part) / len(part)


def picture(panels: dict[tuple[str, str], dict[int, Curve]]) -> str:
    """Return the figure: a row of panels for each dataset, a column for each model."""
    wide, high, top = 380, 210, 96
    models = [model for model in MODELS if any(model == key[0] for key in panels)]
    datasets = [dataset for dataset in DATASETS if any(dataset == key[1] for key in panels)]
    parts = [
        text(12, 24, "Distance d of each adapting layer, by severity of the corruption", size=15, bold=True),
        *legend(
            12,
            48,
            [(f"severity {each}", colour, "") for each, colour in zip(SEVERITIES, COLOURS, strict=True)],
        ),
    ]
    for (model, dataset), found in panels.items():
        left = 70 + models.index(model) * (wide + 90)
        count = len(next(iter(found.values())).mean)
        x = Axis("layer, in execution order", 1, count, tuple(_ticks(count)))
        y = linear_axis(
            "d", [m + s for each in found.values() for m, s in zip(*each, strict=True)], least=0.0
        )
        y = y._replace(high=min(y.high, 1.0), ticks=tuple(tick for tick in y.ticks if tick <= 1))
        panel = Panel(left, top + datasets.index(dataset) * (high + 90), wide, high, x, y)
        parts += panel.frame(f"{model}, {dataset}")
        for (_, curve), colour in zip(found.items(), COLOURS, strict=False):
            upper = [min(m + s, y.high) for m, s in zip(*curve, strict=True)]
            lower = [max(m - s, 0.0) for m, s in zip(*curve, strict=True)]
            around = [*enumerate(upper, 1), *reversed(list(enumerate(lower, 1)))]
            parts.append(area([panel.at(*point) for point in around], colour))
        for (_, curve), colour in zip(found.items(), COLOURS, strict=False):
            parts.append(line([panel.at(*point) for point in enumerate(curve.mean, 1)], colour, 2))
    height = top + len(datasets) * (high + 90) - 36
    return document(len(models) * (wide + 90) + 10, height, "distance by layer", parts)


def _ticks(count: int) -> list[int]:
    step = max(1, round(sqrt(count)) // 2 * 2)
    return [1, *range(step, count + 1, step)]


TARGET = Target(
    title="Layer-wise distance by severity",
    jobs=jobs,
    page=page,
    summary="distance d of each layer by severity, ResNet18 and MobileNetV2, CIFAR-10-C and -100-C",
)
