"""Bars of a benchmark: the latency of each row, and beside it the ratio to another one.

Needs the extra `bench`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from leantta.measure.record import BenchRecord
from leantta.measure.results import figures_of
from leantta.plotting import BLUE, SKY, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALE, MIDDLE, DEEP = "#b3bcc5", SKY, BLUE
"""Colours that differ in lightness too, so that nobody needs to tell hues apart."""

BAR, GAP = 0.21, 0.5
"""Inches of a bar, and the gap between groups in bars."""

AROUND, TITLE, LEGEND = 1.35, 0.28, 0.24
"""Inches of all that is around the bars, and of the title and the legend in it."""


class Bar(NamedTuple):
    """One row of a benchmark."""

    name: str
    colour: str
    latency_ms: float
    ratio: float | None


def bar_picture(
    groups: Mapping[str, Sequence[Bar]],
    *,
    title: str,
    under: str,
    ratio_to: str,
    legend: Mapping[str, str] | None = None,
) -> Picture:
    """Return groups of bars by name; the legend has a text for each colour."""
    bars = [bar for group in groups.values() for bar in group]
    places: list[float] = []
    labels: dict[str, float] = {}  # a group's name -> where its middle is
    top = 0.0
    for name, group in groups.items():
        labels[name] = top + (len(group) - 1) / 2
        places += [top + i for i in range(len(group))]
        top += len(group) + GAP
    height = AROUND + BAR * top

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(1, 2, sharey=True, width_ratios=(5, 3))
        for axes, what, unit in zip(panels, ("latency", "ratio"), ("", "x"), strict=True):
            for place, bar in zip(places, bars, strict=True):
                value = bar.latency_ms if what == "latency" else bar.ratio
                if value is not None:
                    (patch,) = axes.barh(place, value, 0.82, color=bar.colour)
                    patch.set_gid(f"{what} {bar.name}")
                    axes.annotate(
                        f"{value:.2f}{unit}", (value, place), (3, 0), textcoords="offset points", va="center"
                    )
            axes.margins(x=0.17, y=0.02)
            axes.set_xlim(left=0)
            axes.grid(visible=False, axis="y")
            axes.tick_params(axis="y", length=0)
        panels[0].set_yticks(list(labels.values()), list(labels))
        panels[0].invert_yaxis()
        panels[0].set_xlabel("latency of a call in ms (median)")
        panels[1].set_xlabel(f"ratio to {ratio_to}")
        panels[1].axvline(1.0, color="#555555", linewidth=0.8, linestyle=":", zorder=0)
        above = TITLE + (LEGEND if legend else 0)
        figure.set_layout_engine("constrained", rect=(0, 0, 1, 1 - above / height))
        figure.text(0.01, 1 - 0.08 / height, title, va="top", weight="bold")
        if legend:
            keys = [panels[0].barh(0, 0, color=colour, label=text) for colour, text in legend.items()]
            corner = (0.003, 1 - TITLE / height)
            figure.legend(handles=keys, loc="upper left", bbox_to_anchor=corner, ncols=len(keys))
        figure.supxlabel(under, x=0.01, ha="left", size=8, color="#555555")

    shown = [[*bar[:2], round(bar.latency_ms, 4), bar.ratio and round(bar.ratio, 4)] for bar in bars]
    return Picture(size=(9.0, height), values=[title, under, list(groups), shown], draw=draw)


def latency_picture(record: BenchRecord) -> Picture:
    """Return a bar for each row that was measured."""
    colour = {True: DEEP, False: MIDDLE}
    return bar_picture(
        {
            row.name: [Bar(row.name, colour[row.name == record.base], row.median_ms, row.ratio.value)]
            for row in figures_of(record)
        },
        title="One prediction of each file",
        under=record.conditions,
        ratio_to="the dark one",
    )
