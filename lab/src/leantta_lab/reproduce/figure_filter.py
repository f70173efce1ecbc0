"""What the shift filter removes: the statistics of images at one layer along two directions of shift."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from leantta.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Picture
from leantta.tables import Table
from leantta_lab.reproduce.measurement import Sheet, sheet_jobs
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from leantta_lab.reproduce.torch_probe import Probe

MODEL, DATASET, LAYER, SEVERITY, SEED = "resnet18", "cifar10", "bn1", 4, 0
COLOURS = {
    "clean": GREY,
    "gaussian_noise": RED,
    "defocus_blur": BLUE,
    "fog": PURPLE,
    "contrast": ORANGE,
    "jpeg_compression": GREEN,
}
"""What happened to the images, and its colour."""

SOURCE_IMAGES: dict[Scale, int] = {"quick": 200, "full": 1000}
SHOWN: dict[Scale, int] = {"quick": 30, "full": 60}
PANELS = {"seen": "what the layer sees", "left": "what the filter leaves"}


def sheet_of(scale: Scale) -> Sheet:
    """Return the file: what is seen of each image along the directions, and what is left of it."""
    return Sheet(
        name="filter-directions",
        job="what a shift filter removes",
        model=MODEL,
        dataset=DATASET,
        settings={
            "layer": LAYER,
            "severity": SEVERITY,
            "source_images": SOURCE_IMAGES[scale],
            "images": SHOWN[scale],
            "seed": SEED,
        },
        keys=tuple(COLOURS),
        measure=_measure,
        seconds=10 + 0.03 * SOURCE_IMAGES[scale],
    )


def jobs(setting: Setting) -> list[Job]:
    """Return the one job, if it can run."""
    return sheet_jobs([sheet_of(setting.scale)], setting)


def _measure(probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], Any]:
    """Fit the filter of one layer, and measure the test images with each corruption at it."""
    import numpy as np
    import torch

    from leantta import functional as F
    from leantta.filtering.probe import seen_features
    from leantta.gates.filter import FilterGate
    from leantta.modalities.cells import CLEAN

    layer, gate = settings["layer"], FilterGate()
    constants = probe.fitted(settings["source_images"], layers=[layer]).constants[layer]
    parts = F.Filter(*(constants[name] for name in gate.constants))
    indices = np.arange(settings["images"])

    def value(key: str) -> dict[str, Any]:
        severity = 0 if key == CLEAN else settings["severity"]
        samples = probe.cells.cell(key, severity, indices, settings["seed"])
        images = probe.normalized(probe.cells.inputs(samples))
        seen = seen_features(probe.model, [layer], images)[layer]
        answer, reading = F.filtered(seen, parts, shrink=gate.shrink)
        mean, log_var = (seen - answer).chunk(2, 1)
        left = torch.cat([mean / (answer.chunk(2, 1)[1] / 2).exp(), log_var], 1)
        points = {"seen": seen @ parts.into[:, :2], "left": left @ parts.into[:, :2]}
        told = {
            name: [[round(v, 3) for v in point] for point in each.tolist()] for name, each in points.items()
        }
        return {**told, "distance": round(float(reading.distance.mean()), 3)}

    return value


def page(setting: Setting) -> Page:
    """Return the figure, and how far images of each kind are before and after as a table."""
    sheet = sheet_of(setting.scale)
    values = sheet.shown(setting)
    if set(sheet.keys) - set(values):
        return Page(lacking=[f"filter-directions: {sheet.why(setting)}"])
    rows = tuple(
        (name, f"{values[name]['distance']:.1f}", *(f"{_size(values[name][panel]):.1f}" for panel in PANELS))
        for name in COLOURS
    )
    table = Table(
        ("images", "mean distance S", "mean square along both directions: seen", "left"),
        rows,
        (
            f"{MODEL}, {LAYER}, {SHOWN[setting.scale]} test images of {DATASET}, corruptions at severity "
            f"{SEVERITY}; clean source images have a mean square of 1 along each direction.",
        ),
    )
    return Page(parts=(picture({name: values[name] for name in COLOURS}), table))


def _size(points: list[list[float]]) -> float:
    return sum(x * x + y * y for x, y in points) / (2 * len(points))


def picture(values: Mapping[str, Any]) -> Picture:
    """Return the figure: before on the left, after on the right."""
    return Picture(
        name="filter_directions",
        caption="What the shift filter removes",
        size=(8.4, 4.2),
        values=dict(values),
        draw=partial(_draw, values),
    )


def _draw(values: Mapping[str, Any], figure: "Figure") -> None:
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, (panel, title) in zip(panels, PANELS.items(), strict=True):
        for name, colour in COLOURS.items():
            across, up = zip(*values[name][panel], strict=True)
            axes.scatter(
                across, up, s=14, color=colour, alpha=0.75, linewidths=0, label=name.replace("_", " ")
            )
        axes.set_title(f"{title}, {MODEL} {LAYER}")
        axes.set_xlabel("first direction of shift")
    panels[0].set_ylabel("second direction of shift")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(COLOURS))


TARGET = Target(
    title="What the shift filter removes",
    jobs=jobs,
    page=page,
    summary="statistics of single images along two directions of shift, before and after the filter",
)
