"""Axes, panels, labels and colours of figures."""

import pytest

from leantta.reproduce.plot import Axis, Box, Panel, label_places, linear_axis, log_axis, shade
from reproduce.figure_setting import words


def test_a_panel_puts_the_ends_of_its_axes_into_its_corners() -> None:
    panel = Panel(10, 20, 100, 50, Axis("x", 0, 4, (0, 4)), Axis("y", 1, 100, (1, 10, 100), log=True))
    assert panel.at(0, 1) == (10, 70)
    assert panel.at(4, 100) == (110, 20)
    assert panel.at(2, 10) == pytest.approx((60, 45))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="200">{"".join(panel.frame("t"))}</svg>'
    )
    assert words(svg.replace('x="-', 'x="0')) == ["t", "1", "10", "100", "0", "4", "x", "y"]


@pytest.mark.parametrize("values", [[3.0, 40.0], [0.5, 0.5], [1.0, 1000.0]])
def test_a_logarithmic_axis_holds_its_values(values: list[float]) -> None:
    axis = log_axis("ms", values)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert axis.low < axis.high
    assert (axis.ticks[0], axis.ticks[-1]) == (axis.low, axis.high)


def test_a_linear_axis_begins_with_the_least_value() -> None:
    assert linear_axis("d", [0.3, 0.9], least=0.0).low == 0
    assert linear_axis("%", [75.0, 75.0]).high > linear_axis("%", [75.0, 75.0]).low


def boxes(places: list[tuple[float, float]], labels: list[str]) -> list[Box]:
    return [Box(x, y - 10, x + 5.9 * len(label), y + 3) for (x, y), label in zip(places, labels, strict=True)]


def test_labels_of_near_circles_do_not_cover_each_other() -> None:
    circles = [((100.0, 100.0), 5.0), ((108.0, 102.0), 6.0), ((104.0, 110.0), 20.0), ((390.0, 100.0), 5.0)]
    labels = ["LeanTTA 1, 45 MB", "None 1, 45 MB", "EATA 64, 99 MB", "Tent 64, 100 MB"]
    found = boxes(label_places(circles, labels, Box(0, 0, 400, 200)), labels)
    for i, one in enumerate(found):
        assert 0 <= one.left <= one.right <= 400
        assert sum(one.overlap(other) for other in found[:i]) == 0


def test_colours_become_lighter() -> None:
    brightness = [sum(int(shade(i / 10)[at : at + 2], 16) for at in (1, 3, 5)) for i in range(11)]
    assert brightness == sorted(brightness)
    assert shade(-1) == shade(0)
    assert shade(2) == shade(1)
