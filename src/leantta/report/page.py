"""The page of the demo: one HTML file with everything inside."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from PIL import Image

from leantta.data.datasets import Pixels
from leantta.report.charts import bar_chart, line_chart, nice_top
from leantta.tables import Table

SEVERITY_COLOURS = ("#adb5bd", "#a5d8ff", "#4dabf7", "#228be6", "#1864ab", "#0b2f55")

STYLE = """
:root { --ink: #1c2733; --soft: #5c6b7a; --line: #dfe5ea; --paper: #ffffff; --good: #2b8a3e; --bad: #c92a2a; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 1060px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.lead { color: var(--soft); margin-top: 0; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.2rem 0; }
.figure { flex: 1 1 180px; border: 1px solid var(--line); border-radius: 8px; padding: .7rem 1rem; }
.figure b { display: block; font-size: 1.5rem; } .figure span { color: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .15rem .8rem; border-bottom: 1px solid var(--line); text-align: right; white-space: pre; }
td:first-child, th:first-child { text-align: left; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg .grid { stroke: var(--line); }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: 8px; padding: .8rem; }
.card img { width: 112px; height: 112px; image-rendering: pixelated; border-radius: 4px; }
.pair { display: flex; gap: .6rem; } .pair figure { margin: 0; }
.pair figcaption { font-size: 12px; color: var(--soft); }
.card p { margin: .35rem 0; } .right { color: var(--good); } .wrong { color: var(--bad); }
.bars { display: flex; align-items: flex-end; gap: 2px; height: 44px; border-bottom: 1px solid var(--line); }
.bars i { flex: 1; background: #0b7285; min-height: 1px; }
.hint { font-size: 12px; color: var(--soft); }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9aa7b4; --line: #2d3a46; --paper: #0f1720;
          --good: #69db7c; --bad: #ff8787; }
}
"""


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
    distances: Mapping[str, float]  # 0 to 1, by layer


@dataclass(frozen=True, kw_only=True)
class Page:
    """What the demo found."""

    title: str
    lead: str
    figures: Mapping[str, str]  # a few headline figures: what they are -> the figure
    summary: Table
    family_names: Sequence[str]
    family_accuracy: Mapping[str, Sequence[float]]  # per method, in percent
    layers: Sequence[str]
    distance_by_severity: Mapping[str, Sequence[float]]  # "clean", "severity 1", ... -> per layer
    examples: Sequence[Example]
    command: str


def render_page(page: Page) -> str:
    """Return the page as HTML."""
    figures = "".join(
        f'<div class="figure"><b>{escape(value)}</b><span>{escape(what)}</span></div>'
        for what, value in page.figures.items()
    )
    highest = nice_top([value for example in page.examples for value in example.distances.values()])
    cards = "".join(_card(example, highest) for example in page.examples)
    top = nice_top([value for values in page.distance_by_severity.values() for value in values])
    distance = line_chart(page.distance_by_severity, page.layers, top=top, colours=SEVERITY_COLOURS)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(page.title)}</title><style>{STYLE}</style></head><body>
<h1>{escape(page.title)}</h1><p class="lead">{escape(page.lead)}</p>
<div class="figures">{figures}</div>
<h2>Accuracy</h2>{_table(page.summary)}
<h2>Accuracy by family of corruptions, in %</h2>
{bar_chart(page.family_accuracy, page.family_names, top=100.0)}
<h2>How far each adapting layer is from the training data</h2>
<p class="hint">Mean distance d per layer in execution order: 0 is like the training data, 1 is far away.
Each input is measured alone; nothing is remembered.</p>
{distance}
<h2>Single images</h2>
<p class="hint">The first of each kind in the stream, failures included. The small bars are the distances d of
the adapting layers, first to last; full height is {highest:g}.</p>
<div class="gallery">{cards}</div>
<p class="hint">Made by <code>{escape(page.command)}</code></p>
</body></html>
"""


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    notes = "".join(f'<p class="hint">{escape(note)}</p>' for note in table.notes)
    return f"<table><tr>{head}</tr>{rows}</table>{notes}"


def _card(example: Example, highest: float) -> str:
    guesses = "".join(
        f'<p>{escape(guess.method)}: <b class="{"right" if guess.right else "wrong"}">'
        f"{escape(guess.name)}</b> {100 * guess.probability:.0f} %</p>"
        for guess in example.guesses
    )
    bars = "".join(
        f'<i style="height:{100 * value / highest:.0f}%" title="{escape(name)}: {value:.2f}"></i>'
        for name, value in example.distances.items()
    )
    return (
        f'<div class="card"><div class="pair">{_picture(example.clean, example.label)}'
        f'{_picture(example.corrupted, example.domain)}</div>{guesses}<div class="bars">{bars}</div></div>'
    )


def _picture(pixels: Pixels, caption: str) -> str:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
