"""Charts as SVG text: lines and grouped bars, with axes and a legend, for a self-contained page."""

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#7a8794", "#0b7285", "#e8590c", "#5f3dc4", "#2b8a3e", "#c2255c")
WIDTH, HEIGHT = 900, 230
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 28, 24
SLANTED = 92
"""Room below the axis for labels that are too long to stand side by side."""


def line_chart(
    series: Mapping[str, Sequence[float]],
    labels: Sequence[str],
    *,
    top: float,
    colours: Sequence[str] = COLOURS,
) -> str:
    """Return lines over named positions, from 0 to `top`.

    >>> line_chart({"a": [0.0, 1.0]}, ["x", "y"], top=1.0).count("<polyline")
    1
    """
    step = (WIDTH - LEFT - RIGHT) / max(len(labels) - 1, 1)
    x = [LEFT + i * step for i in range(len(labels))]
    marks = [
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
        + " ".join(f"{x[i]:.1f},{_y(value, top):.1f}" for i, value in enumerate(values))
        + '"/>'
        for (_, values), colour in zip(series.items(), colours, strict=False)
    ]
    return _frame([*marks, *_legend(series, colours)], top, labels, x)


def bar_chart(series: Mapping[str, Sequence[float]], labels: Sequence[str], *, top: float) -> str:
    """Return groups of bars, one group per label and one bar per series, from 0 to `top`.

    >>> bar_chart({"none": [50.0], "leantta": [60.0]}, ["fog"], top=100).count("<rect")
    4
    """
    group = (WIDTH - LEFT - RIGHT) / max(len(labels), 1)
    width = group * 0.8 / max(len(series), 1)
    marks = []
    for k, ((name, values), colour) in enumerate(zip(series.items(), COLOURS, strict=False)):
        for i, value in enumerate(values):
            left, y = LEFT + group * (i + 0.1) + width * k, _y(value, top)
            height = HEIGHT - BOTTOM - y
            marks.append(
                f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">'
                f"<title>{escape(labels[i])}, {escape(name)}: {value:.1f}</title></rect>"
            )
    centres = [LEFT + group * (i + 0.5) for i in range(len(labels))]
    return _frame([*marks, *_legend(series, COLOURS)], top, labels, centres)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(max(value / top, 0.0), 1.0)


def _frame(marks: Sequence[str], top: float, labels: Sequence[str], x: Sequence[float]) -> str:
    ticks = [top * i / 4 for i in range(5)]
    lines = [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(t, top):.1f}" y2="{_y(t, top):.1f}" class="grid"/>'
        f'<text x="{LEFT - 6}" y="{_y(t, top) + 4:.1f}" text-anchor="end">{t:g}</text>'
        for t in ticks
    ]
    slant = len(x) > 1 and max(map(len, labels)) * 6.5 > x[1] - x[0]
    height = HEIGHT + (SLANTED if slant else 0)
    parts = "".join([*lines, *marks, *_names(labels, x, slant)])
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{parts}</svg>'


def nice_top(values: Sequence[float]) -> float:
    """Return a round number that is not below any of the values.

    >>> nice_top([0.03, 0.17])
    0.2
    """
    largest = max(values, default=0.0)
    steps = [scale * step for scale in (0.01, 0.1, 1.0, 10.0) for step in (1, 2, 4, 6, 8)]
    return next((step for step in steps if step >= largest), 100.0)


def _names(labels: Sequence[str], x: Sequence[float], slant: bool) -> list[str]:
    """Return the labels below the axis."""
    y = HEIGHT - BOTTOM + 16
    anchor = "end" if slant else "middle"
    turn = -35 if slant else 0
    return [
        f'<text x="{at:.1f}" y="{y}" text-anchor="{anchor}" transform="rotate({turn} {at:.1f} {y})">'
        f"{escape(name)}</text>"
        for name, at in zip(labels, x, strict=True)
    ]


def _legend(series: Mapping[str, Sequence[float]], colours: Sequence[str]) -> list[str]:
    parts, left = [], float(LEFT)
    for name, colour in zip(series, colours, strict=False):
        parts.append(
            f'<rect x="{left:.0f}" y="6" width="12" height="12" fill="{colour}"/>'
            f'<text x="{left + 17:.0f}" y="16">{escape(name)}</text>'
        )
        left += 34 + 7 * len(name)
    return parts
