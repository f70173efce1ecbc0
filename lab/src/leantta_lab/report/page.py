"""The page of the demo: one HTML file with everything inside, charts and images too."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from PIL import Image

from leantta.data.datasets import Pixels
from leantta.plotting import BLUE, GREY, ORANGE, drawn, new_figure
from leantta.tables import Table

METHOD_COLOURS = (GREY, BLUE, ORANGE)
SEVERITY_COLOURS = ("#969696", "#9ecae1", "#6baed6", "#3182bd", "#08519c", "#042250")


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a method said of an image."""

    method: str
    name: str  # of the class
    probability: float
    right: bool


@dataclass(frozen=True, kw_only=True)
class Example:
    """One corrupted image, what was said of it, and how far each adapting layer was from the source."""

    clean: Pixels  # (h, w, 3)
    corrupted: Pixels
    domain: str
    label: str
    guesses: tuple[Guess, ...]
    distances: Mapping[str, float]  # by layer, 0 is like the source


@dataclass(frozen=True, kw_only=True)
class DemoPage:
    """What the demo shows."""

    title: str
    lead: str
    headlines: Mapping[str, str]  # a few figures: what they are -> the figure
    summary: Table
    family_names: Sequence[str]
    family_accuracy: Mapping[str, Sequence[float]]  # per method, in percent
    layers: Sequence[str]
    distance_by_severity: Mapping[str, Sequence[float]]  # "clean", "severity 1", ... -> per layer
    examples: Sequence[Example]
    command: str


def render_page(page: DemoPage) -> str:
    """Return the page as HTML."""
    templates = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    templates.filters["picture"] = _picture
    return templates.get_template("page.html.j2").render(
        page=page,
        families=_inline("image/svg+xml", family_chart(page.family_names, page.family_accuracy)),
        distances=page.layers
        and _inline("image/svg+xml", distance_chart(page.layers, page.distance_by_severity)),
        highest=max([0.01, *(d for example in page.examples for d in example.distances.values())]),
    )


def family_chart(families: Sequence[str], accuracy: Mapping[str, Sequence[float]]) -> bytes:
    """Return groups of bars as SVG: a group for each family of corruptions, a bar for each method."""
    with new_figure(9.0, 2.8) as figure:
        axes = figure.subplots()
        width = 0.8 / len(accuracy)
        for number, (method, values) in enumerate(accuracy.items()):
            middles = [place + width * (number + 0.5) - 0.4 for place in range(len(families))]
            bars = axes.bar(middles, values, width, color=METHOD_COLOURS[number % 3], label=method)
            axes.bar_label(bars, fmt="%.0f", fontsize=7)
        axes.set_xticks(range(len(families)), families)
        axes.set_ylim(0, 100)
        axes.set_ylabel("accuracy in %")
        axes.grid(visible=False, axis="x")
        figure.legend(loc="outside upper center", ncols=len(accuracy))
        return drawn(figure, "svg", {"families": families, "accuracy": accuracy})


def distance_chart(layers: Sequence[str], by_severity: Mapping[str, Sequence[float]]) -> bytes:
    """Return lines over the layers as SVG: one for clean images, and one for each severity."""
    with new_figure(9.0, 3.2) as figure:
        axes = figure.subplots()
        for (name, values), colour in zip(by_severity.items(), SEVERITY_COLOURS, strict=False):
            axes.plot(range(len(layers)), values, color=colour, marker=".", label=name)
        axes.set_xticks(range(len(layers)), layers, rotation=35, ha="right")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("mean distance d")
        figure.legend(loc="outside upper center", ncols=len(by_severity))
        return drawn(figure, "svg", {"layers": layers, "distances": by_severity})


def _picture(pixels: Pixels) -> str:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return _inline("image/png", buffer.getvalue())


def _inline(kind: str, content: bytes) -> str:
    """Return the address of an image that stands in the page itself."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
