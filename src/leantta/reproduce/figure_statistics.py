"""Statistics of single images against stabilised ones: one channel of one layer, over clean images."""

from collections.abc import Sequence
from functools import partial

from leantta.measure.svg import document, line, text
from leantta.progress import Progress
from leantta.reproduce.measurement import Sheet
from leantta.reproduce.plot import BLUE, GREY, ORANGE, RED, Axis, Panel, legend, linear_axis
from leantta.reproduce.target import Job, Page, Scale, Setting, Target
from leantta.tables import Table

MODEL, DATASET, LAYER, CHANNEL, SEED = "resnet18", "cifar10", "layer2.0.bn1", 0, 0
TAU, MOMENTUM = 0.9, 0.9
IMAGES: dict[Scale, int] = {"quick": 100, "full": 200}

STYLES = {
    "single image": (BLUE, ""),
    f"running average, momentum {MOMENTUM:g}": (ORANGE, ""),
    f"stabilised, tau {TAU:g}": (RED, "5 3"),
    "source": (GREY, "2 3"),
}
PICTURE = "statistics.svg"


def sheet_of(scale: Scale) -> Sheet:
    """Return the file: of each statistic its value in the source, and in each image."""
    return Sheet(
        name="statistics",
        model=MODEL,
        dataset=DATASET,
        settings={"layer": LAYER, "channel": CHANNEL, "images": IMAGES[scale], "seed": SEED},
        keys=("mean", "variance"),
    )


def jobs(setting: Setting) -> list[Job]:
    """Return the one job, if it can run."""
    sheet = sheet_of(setting.scale)
    if sheet.lack(setting) is not None:
        return []
    return [Job(name="statistics of a layer", run=partial(_run, sheet), done=sheet.is_done, seconds=12)]


def _run(sheet: Sheet, setting: Setting, progress: Progress) -> None:
    """Measure the channel's mean and variance in each image, on the unchanged model."""
    import torch
    from torch import Tensor, nn

    from leantta import functional as F
    from leantta.data.stream_builders import clean
    from leantta.reproduce.torch_probe import Probe

    notebook = sheet.begin(setting)
    told = sheet.settings
    probe = Probe(MODEL, DATASET, setting.images[DATASET])
    norm = probe.model.get_submodule(told["layer"])
    assert isinstance(norm, nn.BatchNorm2d)  # the layer is one of ResNet18's
    assert norm.running_mean is not None
    assert norm.running_var is not None
    source = F.Stats(norm.running_mean, norm.running_var)
    shifts: list[F.Shift] = []

    def measured(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        shifts.append(F.measure(inputs[0], source))

    handle = norm.register_forward_pre_hook(measured)
    stream = clean(probe.cells, told["images"], seed=told["seed"])
    for done, _ in enumerate(probe.outputs(probe.model, stream)):
        progress(done, len(stream))
    handle.remove()
    channel = told["channel"]
    for key, start, moved in (
        ("mean", source.mean, torch.cat([shift.mean for shift in shifts])),
        ("variance", source.var, torch.cat([shift.var for shift in shifts])),
    ):
        values = (start + moved)[:, channel]
        notebook.add(
            key, {"source": float(start[channel]), "images": [round(float(value), 6) for value in values]}
        )
    progress(len(stream), len(stream))


def running(values: Sequence[float], start: float, momentum: float) -> list[float]:
    """Return the running average after each value.

    >>> running([1.0, 1.0], start=0.0, momentum=0.5)
    [0.5, 0.75]
    """
    found, now = [], start
    for value in values:
        now = momentum * now + (1 - momentum) * value
        found.append(now)
    return found


def stabilised(values: Sequence[float], source: float, tau: float) -> list[float]:
    """Return each value mixed with the source's: tau * source + (1 - tau) * value.

    >>> stabilised([1.0, 3.0], source=0.0, tau=0.75)
    [0.25, 0.75]
    """
    return [tau * source + (1 - tau) * value for value in values]


def lines_of(source: float, images: Sequence[float]) -> dict[str, list[float]]:
    """Return the four lines of a panel by their names in `STYLES`."""
    found = [
        list(images),
        running(images, source, MOMENTUM),
        stabilised(images, source, TAU),
        [source] * len(images),
    ]
    return dict(zip(STYLES, found, strict=True))


def page(setting: Setting) -> Page:
    """Return the figure, and how far each line strays from the source as a table."""
    sheet = sheet_of(setting.scale)
    values = sheet.shown(setting)
    if set(sheet.keys) - set(values):
        return Page(markdown="", lacking=[f"statistics: {sheet.why(setting)}"])
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
    return Page(
        markdown=f"![Statistics of single images and stabilised ones]({PICTURE})\n\n{table.markdown()}",
        pictures={PICTURE: picture(panels)},
    )


def _distance(values: Sequence[float], source: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(values, source, strict=True)) / len(values)


def picture(panels: dict[str, dict[str, list[float]]]) -> str:
    """Return the figure: the mean above, the variance below."""
    wide, high, top = 800, 190, 96
    parts = [
        text(
            12,
            24,
            "One channel on clean images: each image alone is far off, stabilised it is not",
            size=15,
            bold=True,
        ),
        *legend(12, 48, [(name, colour, dashes) for name, (colour, dashes) in STYLES.items()]),
    ]
    for row, (key, lines) in enumerate(panels.items()):
        count = len(lines["source"])
        x = Axis("image", 1, count, (1, *range(count // 10, count + 1, count // 10)))
        panel = Panel(
            76,
            top + row * (high + 86),
            wide,
            high,
            x,
            linear_axis(key, [v for each in lines.values() for v in each]),
        )
        parts += panel.frame(f"{key} of {LAYER}, channel {CHANNEL}")
        for name, values in lines.items():
            colour, dashes = STYLES[name]
            points = [panel.at(*point) for point in enumerate(values, 1)]
            parts.append(line(points, colour, 1 if name == "single image" else 2, dashes))
    return document(wide + 110, top + len(panels) * (high + 86) - 34, "statistics of single images", parts)


TARGET = Target(
    title="Single-image against stabilised statistics",
    jobs=jobs,
    page=page,
    summary="mean and variance of one channel by image: alone, as a running average, stabilised",
)
