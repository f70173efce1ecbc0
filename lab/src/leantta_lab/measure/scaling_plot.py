"""The cost of adapting against what it depends on: a panel for each, ratio above, added time below."""

from typing import TYPE_CHECKING

from leantta.measure.plot import DEEP
from leantta.plotting import RED, Picture
from leantta_lab.measure.scaling import ScalingRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "channels": "channels",
    "resolution": "resolution (pixels a side)",
    "batch": "batch",
    "threads": "threads",
    "share": "share of layers that adapt",
}


def scaling_picture(record: ScalingRecord) -> Picture:
    """Return the panels; points stand at equal distances, as sizes double from one to the next."""
    axes = list(dict.fromkeys(each.axis for each in record.points))
    values = {
        axis: [
            (each.value, [round(part, 4) for part in each.ratio], round(each.added_us, 2))
            for each in record.points
            if each.axis == axis
        ]
        for axis in axes
    }

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(2, len(axes), squeeze=False, sharey="row", sharex="col")
        for column, axis in enumerate(axes):
            places = range(len(values[axis]))
            ratios = [ratio for _, ratio, _ in values[axis]]
            above, below = panels[:, column]
            above.errorbar(
                places,
                [value for value, _, _ in ratios],
                yerr=[[value - low for value, low, _ in ratios], [high - value for value, _, high in ratios]],
                **{"color": DEEP, "marker": "o", "markersize": 4, "capsize": 2.5, "elinewidth": 1},
            )
            below.plot(places, [added for _, _, added in values[axis]], "s-", color=RED, markersize=4)
            for place, (_, (value, _, high), added) in zip(places, values[axis], strict=True):
                above.annotate(f"{value:.2f}", (place, high), (2, 4), textcoords="offset points", ha="center")
                text = f"{added:.1f}" if abs(added) < 10 else f"{added:.0f}"
                below.annotate(text, (place, added), (-4, 5), textcoords="offset points", ha="center")
            above.axhline(1.0, color="#555555", linewidth=0.8, linestyle=":")
            below.set_xticks(places, [f"{value:g}" for value, _, _ in values[axis]])
            below.set_xlabel(LABELS.get(axis, axis))
            for panel in (above, below):
                panel.margins(x=0.12, y=0.18)
                panel.grid(visible=False, axis="x")
        panels[0, 0].set_ylabel("adapting / not adapting")
        panels[1, 0].set_ylabel("added to a call in µs")
        figure.suptitle("What adapting adds to an int8 network", x=0.01, ha="left", weight="bold")
        figure.supxlabel(record.conditions, x=0.01, ha="left", size=8, color="#555555")

    return Picture(size=(2.4 * len(axes), 4.8), values=[record.conditions, values], draw=draw)
