"""The page of the demo: its charts show their values, and nothing is loaded from elsewhere."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from leantta.plotting import digest_in, digest_of
from leantta.tables import Table
from leantta_lab.report import page as pages
from leantta_lab.report.page import DemoPage, Example, Guess, distance_chart, family_chart, render_page

TEXT = "{http://www.w3.org/2000/svg}text"


def test_bars_are_as_high_as_their_values(monkeypatch):
    heights: list[float] = []
    drawn = pages.drawn

    def watched(figure, kind, values):
        heights.extend(bar.get_height() for bar in figure.axes[0].patches)
        return drawn(figure, kind, values)

    monkeypatch.setattr(pages, "drawn", watched)
    svg = family_chart(["fog"], {"none": [50.0], "lean": [100.0]}).decode()
    assert heights == [50.0, 100.0]
    assert digest_in(svg) == digest_of({"families": ["fog"], "accuracy": {"none": [50.0], "lean": [100.0]}})
    shown = ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(TEXT)]
    assert {"fog", "none", "lean", "50", "100", "accuracy in %"} <= set(shown)


def test_lines_rise_with_their_values_and_labels_are_escaped():
    svg = ElementTree.fromstring(distance_chart(["<x>", "y", "z"], {"a<b": [0.0, 0.5, 1.0]}))
    shown = ["".join(text.itertext()) for text in svg.iter(TEXT)]
    assert {"<x>", "y", "z", "a<b", "mean distance d"} <= set(shown)


class Tags(HTMLParser):
    """Holds the tags that are open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        assert not [value for name, value in attributes if name in ("src", "href") and "//" in value[:8]]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_shows_images_guesses_and_distances():
    picture = np.zeros((4, 4, 3), np.uint8)
    guess = Guess(method="none", name="<cat>", probability=0.4, right=False)
    example = Example(
        clean=picture,
        corrupted=picture,
        domain="fog/3",
        label="dog",
        guesses=(guess,),
        distances={"bn1": 0.2},
    )
    page = DemoPage(
        title="A & B",
        lead="lead",
        headlines={"accuracy": "50 %"},
        summary=Table(("method", "all"), (("none", "50.0"),), ("a note",)),
        family_names=["weather"],
        family_accuracy={"none": [50.0]},
        layers=["bn1"],
        distance_by_severity={"clean": [0.1]},
        examples=[example],
        command="leantta demo",
    )
    html = render_page(page)
    assert "A &amp; B" in html
    assert "&lt;cat&gt;" in html
    assert len(re.findall(r'src="data:image/png;base64,', html)) == 2
    assert 'title="bn1: 0.20"' in html
    assert len(re.findall(r'src="data:image/svg\+xml;base64,', html)) == 2
    assert "http" not in html  # nothing is loaded from elsewhere
    tags = Tags()
    tags.feed(html)
    assert tags.open == []


@pytest.mark.parametrize("layers", [[], ["bn1"]])
def test_a_model_that_does_not_adapt_has_no_chart_of_distances(layers):
    page = DemoPage(
        title="",
        lead="",
        headlines={},
        summary=Table((), ()),
        family_names=["weather"],
        family_accuracy={"none": [50.0]},
        layers=layers,
        distance_by_severity={"clean": [0.1]} if layers else {},
        examples=[],
        command="",
    )
    assert ("How far each adapting layer is" in render_page(page)) == bool(layers)
