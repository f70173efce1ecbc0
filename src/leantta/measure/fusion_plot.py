"""The paper's plot of partial fusion, from a record: all, half and none of the layers fused, by engine."""

from leantta.errors import RecordError
from leantta.measure.figures import flat, median, ratio
from leantta.measure.record import BenchRecord
from leantta.measure.svg import SOFT, document, line, nice_step, rect, text
from leantta.report.charts import COLOURS

FUSED = {"none": "all fused: nothing adapts", "half": "half fused", "all": "none fused: every layer adapts"}
"""Which layers adapt -> what the bar is called; the paper speaks of what is fused."""

NAMES, LATENCY, RATIO = 190, 430, 250
"""Widths of the engines' names and of both panels."""

BAR, GAP, TOP, BOTTOM = 17, 16, 74, 44


def fusion_plot(record: BenchRecord) -> str:
    """Return the plot as an SVG file: latency on the left, its ratio to all layers fused on the right.

    Raises:
        RecordError: the record has no rows that the plot shows.
    """
    series: dict[str, dict[str, str]] = {}  # engine -> which layers adapt -> row
    for row in record.measured:
        if row.series is not None and row.adapts in FUSED:
            series.setdefault(row.series, {})[row.adapts] = row.name
    if not series:
        raise RecordError("the record has no rows of a model with layers fused and not, so no plot of them.")
    rows = {row.name: row for row in record.measured}
    latency = {
        name: median(flat(rows[name].latency_ms)) for each in series.values() for name in each.values()
    }
    ratios = {}
    for each in series.values():
        if "none" in each:
            base = rows[each["none"]]
            for row in (rows[name] for name in each.values()):
                ratios[row.name] = ratio(row.latency_ms, base.latency_ms, row.every, base.every).value
    height = TOP + sum(len(each) * BAR + GAP for each in series.values()) + BOTTOM
    panels = [
        (NAMES, LATENCY, max(latency.values()), "latency in ms", "{:.2f}"),
        (
            NAMES + LATENCY + 40,
            RATIO,
            max([1.0, *ratios.values()]),
            "ratio to all fused, same engine",
            "{:.2f}x",
        ),
    ]
    parts = [*_title(record), *_legend()]
    for left, width, largest, label, _ in panels:
        parts += _axis(left, width - 50, largest, label, height)
    y = float(TOP)
    for engine, each in series.items():
        parts.append(text(NAMES - 10, y + len(each) * BAR / 2 + 4, engine, anchor="end", bold=True))
        for adapts, colour in zip(FUSED, COLOURS, strict=False):
            if adapts not in each:
                continue
            name = each[adapts]
            for (left, width, largest, _, form), values in zip(panels, (latency, ratios), strict=True):
                if name in values:
                    length = (width - 50) * values[name] / largest
                    shown = form.format(values[name])
                    parts.append(rect(left, y, length, BAR - 3, colour, f"{name}: {shown}"))
                    parts.append(text(left + length + 5, y + BAR - 6, shown, size=11))
            y += BAR
        y += GAP
    return document(NAMES + LATENCY + RATIO + 60, height, f"{record.model}: cost of adapting", parts)


def _title(record: BenchRecord) -> list[str]:
    words = f"{record.model}, int8: one prediction with all, half and none of the BatchNorm layers fused"
    return [text(12, 22, words, size=15, bold=True), text(12, 40, f"median; {record.conditions}", size=11)]


def _legend() -> list[str]:
    parts, x = [], float(NAMES)
    for words, colour in zip(FUSED.values(), COLOURS, strict=False):
        parts += [rect(x, 50, 11, 11, colour), text(x + 16, 60, words)]
        x += 34 + 6.4 * len(words)
    return parts


def _axis(left: float, width: float, largest: float, label: str, height: float) -> list[str]:
    bottom = height - BOTTOM
    parts = []
    step = nice_step(largest)
    tick = 0.0
    while tick <= largest * 1.001:
        x = left + width * tick / largest
        parts += [
            line([(x, TOP - 4), (x, bottom)]),
            text(x, bottom + 14, f"{tick:g}", anchor="middle", size=11),
        ]
        tick += step
    parts.append(line([(left, TOP - 4), (left, bottom)], SOFT))
    parts.append(text(left, bottom + 32, label))
    return parts
