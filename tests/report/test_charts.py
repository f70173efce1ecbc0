import re
from xml.etree import ElementTree

import numpy as np
import pytest

from leantta.report.charts import bar_chart, line_chart, nice_top
from leantta.report.page import Example, Guess, Page, render_page
from leantta.tables import Table


def test_bars_are_as_high_as_their_values():
    svg = ElementTree.fromstring(bar_chart({"none": [50.0], "lean": [100.0]}, ["fog"], top=100.0))
    bars = [bar for bar in svg.iter("rect") if bar.find("title") is not None]
    heights = [float(bar.get("height", "0")) for bar in bars]
    assert heights[1] == pytest.approx(2 * heights[0])
    assert [bar.findtext("title") for bar in bars] == ["fog, none: 50.0", "fog, lean: 100.0"]


def test_lines_rise_with_their_values_and_labels_are_escaped():
    text = line_chart({"a<b": [0.0, 0.5, 1.0]}, ["<x>", "y", "z"], top=1.0)
    svg = ElementTree.fromstring(text)
    points = next(svg.iter("polyline")).get("points", "").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert heights == sorted(heights, reverse=True)
    assert "<x>" in [label.text for label in svg.iter("text")]


@pytest.mark.parametrize(
    ("values", "top"), [([0.0], 0.01), ([0.21], 0.4), ([7.0], 8.0), ([1e9], 100.0), ([], 0.01)]
)
def test_axes_end_at_round_numbers(values, top):
    assert nice_top(values) == pytest.approx(top)


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
    page = Page(
        title="A & B",
        lead="lead",
        figures={"accuracy": "50 %"},
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
    assert "http" not in html  # nothing is loaded from elsewhere
