"""Panels of a figure: a frame with axes, and places in it; the marks are those of `leantta.measure.svg`."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from leantta.measure.svg import SOFT, line, nice_step, rect, text

BLUE, ORANGE, RED, GREY, GREEN, PURPLE = "#1c7ed6", "#e8590c", "#c2255c", "#7a8794", "#2b8a3e", "#5f3dc4"

STEPS = 6
"""Between ticks of an axis, at most, give or take one at the ends."""

Point = tuple[float, float]


class Axis(NamedTuple):
    """From where to where, and which values are written."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, 0 to 1.

        >>> Axis("ms", 1, 100, (), log=True).share(10)
        0.5
        """
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear_axis(label: str, values: Sequence[float], *, least: float | None = None) -> Axis:
    """Return an axis with round ticks that holds the values, and `least` if given.

    >>> linear_axis("%", [71.0, 78.5]).ticks
    (70.0, 72.0, 74.0, 76.0, 78.0, 80.0)
    """
    lowest, highest = min(values) if least is None else min(least, *values), max(values)
    step = nice_step(highest - lowest, STEPS) if highest > lowest else 1.0
    first = math.floor(lowest / step + 1e-9)
    last = max(first + 1, math.ceil(highest / step - 1e-9))
    ticks = tuple(round(i * step, 9) for i in range(first, last + 1))
    return Axis(label, ticks[0], ticks[-1], ticks)


def log_axis(label: str, values: Sequence[float]) -> Axis:
    """Return an axis of powers of ten that holds the values, ticks at 1, 2 and 5.

    >>> log_axis("ms", [3.0, 40.0]).ticks
    (2.0, 5.0, 10.0, 20.0, 50.0)
    """
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    rounds = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    low = max(tick for tick in rounds if tick <= min(values))
    high = min(tick for tick in rounds if tick >= max(values) and tick > low)
    return Axis(label, low, high, tuple(tick for tick in rounds if low <= tick <= high), log=True)


class Panel(NamedTuple):
    """A frame on the page; its axes' labels stand outside of it."""

    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis

    def at(self, x: float, y: float) -> Point:
        """Return where a point lies on the page."""
        return self.left + self.width * self.x.share(x), self.top + self.height * (1 - self.y.share(y))

    def frame(self, title: str) -> list[str]:
        """Return the title, both axes with their ticks and labels, and the lines of the grid."""
        right, bottom = self.left + self.width, self.top + self.height
        parts = [text(self.left, self.top - 10, title, bold=True)]
        for tick in self.y.ticks:
            y = self.at(self.x.low, tick)[1]
            parts.append(line([(self.left, y), (right, y)]))
            parts.append(text(self.left - 6, y + 4, f"{tick:g}", anchor="end", size=11))
        for tick in self.x.ticks:
            x = self.at(tick, self.y.low)[0]
            parts.append(line([(x, bottom), (x, bottom + 4)], SOFT))
            parts.append(text(x, bottom + 17, f"{tick:g}", anchor="middle", size=11))
        parts.append(line([(self.left, self.top), (self.left, bottom), (right, bottom)], SOFT))
        parts.append(text(self.left + self.width / 2, bottom + 36, self.x.label, anchor="middle"))
        middle = self.top + self.height / 2
        parts.append(text(self.left - 42, middle, self.y.label, anchor="middle", turn=-90))
        return parts


def legend(left: float, top: float, entries: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return a row of words with a piece of their line each; an entry is words, colour and dashes."""
    parts, x = [], left
    for words, colour, dashes in entries:
        parts.append(line([(x, top), (x + 24, top)], colour, 2.5, dashes))
        parts.append(text(x + 30, top + 4, words))
        x += 54 + 6.8 * len(words)
    return parts


class Box(NamedTuple):
    """A rectangle on the page."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Return the area that both cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across * down if across > 0 and down > 0 else 0.0


def label_places(
    circles: Sequence[tuple[Point, float]], words: Sequence[str], inside: Box, taken: Sequence[Box] = ()
) -> list[Point]:
    """Return where the words of each circle begin (the left end of the base line), so that none is hidden.

    A label goes beside, above or below its circle, where it covers least of the other labels and circles, and
    of what is `taken` already.
    """
    bounds = [Box(x - r, y - r, x + r, y + r) for (x, y), r in circles]
    taken = list(taken)
    places = []
    for ((x, y), r), label, own in zip(circles, words, bounds, strict=True):
        wide = 5.9 * len(label)
        choices = [
            (x + across * (r + 4) + shift * wide, y + down * (r + 8) + 4)
            for across, down, shift in (
                (1, 0, 0),
                (-1, 0, -1),
                (0, -1, -0.5),
                (0, 1, -0.5),
                (0.8, -0.8, 0),
                (0.8, 0.8, 0),
                (-0.8, -0.8, -1),
                (-0.8, 0.8, -1),
                (0, -2.2, -0.5),
                (0, 2.2, -0.5),
            )
        ]
        boxes = [Box(left, base - 10, left + wide, base + 3) for left, base in choices]

        def cost(box: Box, own: Box = own) -> float:
            beyond = (box.right - box.left) * (box.bottom - box.top) - box.overlap(inside)
            return (
                4 * beyond
                + 3 * sum(box.overlap(each) for each in taken)
                + sum(box.overlap(each) for each in bounds if each is not own)
            )

        best = min(range(len(boxes)), key=lambda i: cost(boxes[i]))
        taken.append(boxes[best])
        places.append(choices[best])
    return places


SHADES = ("#0b1f4b", "#1f4e8c", "#2f86a6", "#65b58c", "#c3d96f", "#fdf3b4")
"""From the lowest to the highest value, dark to light."""


def shade(share: float) -> str:
    """Return the colour of a value between the lowest, 0, and the highest, 1.

    >>> shade(0.0), shade(1.0)
    ('#0b1f4b', '#fdf3b4')
    """
    place = min(max(share, 0.0), 1.0) * (len(SHADES) - 1)
    first = min(int(place), len(SHADES) - 2)
    rest = place - first
    mixed = [
        round((1 - rest) * int(SHADES[first][i : i + 2], 16) + rest * int(SHADES[first + 1][i : i + 2], 16))
        for i in (1, 3, 5)
    ]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def colour_bar(left: float, top: float, height: float, low: float, high: float) -> list[str]:
    """Return a bar that says which colour is which value."""
    steps = 24
    parts = [
        rect(left, top + height * (1 - (i + 1) / steps), 12, height / steps + 0.6, shade(i / (steps - 1)))
        for i in range(steps)
    ]
    ends = [
        text(left + 17, top + 10, f"{high:.1f}", size=11),
        text(left + 17, top + height, f"{low:.1f}", size=11),
    ]
    return [*parts, *ends]
