"""The cost of adapting against what it depends on, from a record: five panels, ratio above, time below."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from leantta.measure.scaling_record import PointRecord, ScalingRecord
from leantta.measure.svg import SOFT, document, dot, line, nice_step, text
from leantta.report.charts import COLOURS

PANEL, HEIGHT = 180, 130
LEFT, TOP, SPACE, BETWEEN = 62, 88, 50, 80

LABELS = {
    "channels": "channels",
    "resolution": "resolution (pixels a side)",
    "batch": "batch",
    "threads": "threads",
    "share": "share of layers that adapt",
}


class Scale(NamedTuple):
    """Ticks from low to high."""

    low: float
    high: float
    step: float


def scale_of(values: Sequence[float], least: float) -> Scale:
    """Return a scale with round ticks that holds the values and `least`.

    >>> scale_of([1.02, 1.31], least=1.0)
    Scale(low=1.0, high=1.4, step=0.1)
    """
    lowest, highest = min([least, *values]), max([least, *values])
    step = nice_step(highest - lowest) if highest > lowest else 0.1
    low = math.floor(lowest / step + 1e-9) * step
    return Scale(low, round(low + step * math.ceil((highest - low) / step - 1e-9), 9), step)


def scaling_plot(record: ScalingRecord) -> str:
    """Return the plot as an SVG file."""
    axes = list(dict.fromkeys(found.axis for found in record.points))
    by_axis = {axis: [found for found in record.points if found.axis == axis] for axis in axes}
    settings = record.settings
    others = ", ".join(f"{name} {value:g}" for name, value in settings["usual"].items())
    under = (
        f"{settings['layers']} convolutions 3x3; one thing changes at a time, else {others}; engine "
        f"{settings['engine']}, kernel {record.kernel}, {record.machine['cpu']}"
    )
    parts = [
        text(12, 22, "What adapting adds to an int8 network", size=15, bold=True),
        text(12, 42, under, size=11),
    ]
    shared = scale_of([found.ratio.value for found in record.points], least=1.0)
    ratios: dict[str, Scale] = dict.fromkeys(axes, shared)
    added = {axis: scale_of([found.added_us for found in by_axis[axis]], least=0.0) for axis in axes}
    rows: list[tuple[str, Callable[[PointRecord], float], dict[str, Scale]]] = [
        ("ratio, adapting / not adapting", lambda found: found.ratio.value, ratios),
        (
            "added time of a call in microseconds (each panel has its own scale)",
            lambda found: found.added_us,
            added,
        ),
    ]
    for number, (label, figure, scales) in enumerate(rows):
        top = TOP + number * (HEIGHT + BETWEEN)
        parts.append(text(12, top - 18, label, bold=True))
        for column, axis in enumerate(axes):
            left = LEFT + column * (PANEL + SPACE)
            values = [(found.value, figure(found)) for found in by_axis[axis]]
            parts += _panel(left, top, values, scales[axis], COLOURS[1 + column % (len(COLOURS) - 1)])
            parts.append(text(left + PANEL / 2, top + HEIGHT + 32, LABELS.get(axis, axis), anchor="middle"))
    width = LEFT + len(axes) * (PANEL + SPACE)
    return document(width, TOP + 2 * HEIGHT + BETWEEN + 46, "cost of adapting", parts)


def _panel(
    left: float, top: float, values: Sequence[tuple[float, float]], scale: Scale, colour: str
) -> list[str]:
    """Return one panel; its points stand at equal distances, as sizes double from one to the next."""

    def y(value: float) -> float:
        return top + HEIGHT * (1 - (value - scale.low) / (scale.high - scale.low))

    parts = []
    for i in range(round((scale.high - scale.low) / scale.step) + 1):
        tick = scale.low + i * scale.step
        parts.append(line([(left, y(tick)), (left + PANEL, y(tick))]))
        parts.append(text(left - 6, y(tick) + 4, f"{tick:.6g}", anchor="end", size=11))
    apart = PANEL / max(len(values), 1)
    places = [left + apart * (i + 0.5) for i in range(len(values))]
    parts.append(line([(x, y(found)) for x, (_, found) in zip(places, values, strict=True)], colour, 2))
    for x, (value, found) in zip(places, values, strict=True):
        parts.append(dot(x, y(found), colour, f"{value:g}: {found:.4g}"))
        parts.append(text(x, y(found) - 8, _short(found), anchor="middle", size=10))
        parts.append(text(x, top + HEIGHT + 15, f"{value:g}", anchor="middle", size=11))
    parts.append(line([(left, top), (left, top + HEIGHT), (left + PANEL, top + HEIGHT)], SOFT))
    return parts


def _short(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
