"""Statistics of single images against stabilised ones: one channel of one layer, over clean images."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from leantta.plotting import BLUE, ORANGE, SKY, Picture
from leantta.tables import Table
from leantta_lab.reproduce.measurement import Sheet, sheet_jobs
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from leantta_lab.reproduce.torch_probe import Probe

MODEL, DATASET, LAYER, CHANNEL, SEED = "resnet18", "cifar10", "layer2.0.bn1", 0, 0
TAU, MOMENTUM = 0.9, 0.9
IMAGES: dict[Scale, int] = {"quick": 100, "full": 200}

STYLES = {
    "single image": (SKY, "-", 0.9),
    f"running average, momentum {MOMENTUM:g}": (ORANGE, "-", 1.8),
    f"stabilised, tau {TAU:g}": (BLUE, "--", 1.8),
    "source": ("black", ":", 1.2),
}
"""The colour, dashes and width of each line."""


def sheet_of(scale: Scale) -> Sheet:
    """Return the file: of each statistic its value in the source, and in each image."""
    return Sheet(
        name="statistics",
        job="statistics of a layer",
        model=MODEL,
        dataset=DATASET,
        settings={"layer": LAYER, "channel": CHANNEL, "images": IMAGES[scale], "seed": SEED},
        keys=("mean", "variance"),
        measure=_measure,
        seconds=12,
    )


def jobs(setting: Setting) -> list[Job]:
    """Return the one job, if it can run."""
    return sheet_jobs([sheet_of(setting.scale)], setting)


def _measure(probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Measure the channel's mean and variance in each image, on the unchanged model."""
    import torch
    from torch import Tensor, nn

    from leantta import functional as F
    from leantta.streams.builders import clean

    norm = probe.model.get_submodule(settings["layer"])
    assert isinstance(norm, nn.BatchNorm2d)  # the layer is one of ResNet18's
    assert norm.running_mean is not None
    assert norm.running_var is not None
    source = F.Stats(norm.running_mean, norm.running_var)
    shifts: list[F.Shift] = []

    def watched(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        shifts.append(F.measure(inputs[0], source))

    handle = norm.register_forward_pre_hook(watched)
    for _ in probe.outputs(probe.model, clean(probe.cells, settings["images"], seed=settings["seed"])):
        pass
    handle.remove()
    statistics = {
        "mean": (source.mean, torch.cat([shift.mean for shift in shifts])),
        "variance": (source.var, torch.cat([shift.var for shift in shifts])),
    }

    def values(key: str) -> dict[str, Any]:
        start, moved = (each[..., settings["channel"]] for each in statistics[key])
        return {"source": float(start), "images": [round(float(value), 6) for value in start + moved]}

    return values


def running(values: Sequence[float], start: float, momentum: float) -> list[float]:
    """Return the running average after each value.

    >>> running([1.0, 1.0], start=0.0, momentum=0.5)
    [0.5, 0.75]
    """
    averages, now = [], start
    for value in values:
        now = momentum * now + (1 - momentum) * value
        averages.append(now)
    return averages


def stabilised(values: Sequence[float], source: float, tau: float) -> list[float]:
    """Return each value mixed with the source's: tau * source + (1 - tau) * value.

    >>> stabilised([1.0, 3.0], source=0.0, tau=0.75)
    [0.25, 0.75]
    """
    return [tau * source + (1 - tau) * value for value in values]


def lines_of(source: float, images: Sequence[float]) -> dict[str, list[float]]:
    """Return the four lines of a panel by their names in `STYLES`."""
    lines = [
        list(images),
        running(images, source, MOMENTUM),
        stabilised(images, source, TAU),
        [source] * len(images),
    ]
    return dict(zip(STYLES, lines, strict=True))


def page(setting: Setting) -> Page:
    """Return the figure, and how far each line strays from the source as a table."""
    sheet = sheet_of(setting.scale)
    values = sheet.shown(setting)
    if set(sheet.keys) - set(values):
        return Page(lacking=[f"statistics: {sheet.why(setting)}"])
    panels = {key: lines_of(**values[key]) for key in sheet.keys}
    rows = tuple(
        (key, name, f"{min(line):.3f}", f"{max(line):.3f}", f"{_distance(line, lines['source']):.3f}")
        for key, lines in panels.items()
        for name, line in lines.items()
        if name != "source"
    )
    table = Table(
        ("statistic", "line", "lowest", "highest", "mean distance to the source"),
        rows,
        (
            f"{MODEL}, {LAYER}, channel {CHANNEL}, over {IMAGES[setting.scale]} clean CIFAR-10 images. "
            "The paper does not say which layer it shows.",
        ),
    )
    return Page(parts=(picture(panels), table))


def _distance(values: Sequence[float], source: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(values, source, strict=True)) / len(values)


def picture(panels: dict[str, dict[str, list[float]]]) -> Picture:
    """Return the figure: the mean above, the variance below."""
    return Picture(
        name="statistics",
        caption="Statistics of single images and stabilised ones",
        size=(8.4, 5.0),
        values=panels,
        draw=partial(_draw, panels),
    )


def _draw(panels: dict[str, dict[str, list[float]]], figure: "Figure") -> None:
    column = figure.subplots(len(panels), 1, sharex=True)
    for axes, (key, lines) in zip(column, panels.items(), strict=True):
        for name, values in lines.items():
            colour, dashes, width = STYLES[name]
            axes.plot(range(1, len(values) + 1), values, color=colour, ls=dashes, lw=width, label=name)
        axes.set_ylabel(f"{key} of the channel")
        axes.margins(x=0.01)
    column[0].set_title(f"{MODEL}, {LAYER}, channel {CHANNEL}: one clean image after another")
    column[-1].set_xlabel("image")
    figure.legend(*column[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES))


TARGET = Target(
    title="Single-image against stabilised statistics",
    jobs=jobs,
    page=page,
    summary="mean and variance of one channel by image: alone, as a running average, stabilised",
)
