"""Drawing as SVG text that stands on its own: marks, text, and the document around them."""

import math
from collections.abc import Sequence
from html import escape
from typing import Literal

INK, SOFT, LINE = "#1c2733", "#5c6b7a", "#dfe5ea"

Anchor = Literal["start", "middle", "end"]


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: Anchor = "start",
    size: int = 12,
    bold: bool = False,
    colour: str | None = None,
    turn: int = 0,
) -> str:
    """Return words that begin, are centred or end at x, turned by so many degrees.

    >>> text(1, 2, "a < b")
    '<text x="1.0" y="2.0" font-size="12" fill="#5c6b7a">a &lt; b</text>'
    """
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    weight = ' font-weight="600"' if bold else ""
    fill = colour or (INK if bold else SOFT)
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    look = f'font-size="{size}" fill="{fill}"{place}{weight}{turned}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, fill: str, title: str = "") -> str:
    """Return a filled rectangle; the title shows when a pointer rests on it."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" fill="{fill}">'
        f"{inner}</rect>"
    )


def line(
    points: Sequence[tuple[float, float]], colour: str = LINE, width: float = 1, dashes: str = ""
) -> str:
    """Return a line through the points; `dashes` are lengths of ink and gaps, such as "6 4"."""
    along = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    broken = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{along}" fill="none" stroke="{colour}" stroke-width="{width:g}"{broken}/>'


def area(points: Sequence[tuple[float, float]], colour: str) -> str:
    """Return what the points surround, pale enough to see through."""
    around = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polygon points="{around}" fill="{colour}" fill-opacity="0.15"/>'


def dot(x: float, y: float, colour: str, title: str = "") -> str:
    """Return a point of a line."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">{inner}</circle>'


def bubble(x: float, y: float, radius: float, colour: str, title: str = "") -> str:
    """Return a circle whose size means something; others can be seen through it."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    look = f'fill="{colour}" fill-opacity="0.4" stroke="{colour}"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {look}>{inner}</circle>'


def document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Return the file: a white ground, and the parts on it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, sans-serif">'
        f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def nice_step(largest: float, steps: int = 4) -> float:
    """Return the round distance of ticks that needs at most so many up to the largest value.

    >>> nice_step(23.0), nice_step(0.9), nice_step(1700.0)
    (10.0, 0.25, 500.0)
    """
    if largest <= 0:
        return 1.0
    exponent = math.floor(math.log10(largest / steps))
    rounds = [factor * 10.0**power for power in (exponent, exponent + 1) for factor in (1.0, 2.0, 2.5, 5.0)]
    return next(step for step in rounds if step * steps >= largest * (1 - 1e-9))
