"""Whether adapting helps a model on the user's own images: one table, and a verdict in words.

A part is a piece of what was run: clean images, corrupted ones, those of other domains. The first row is the
model as it is; all differences are to it, on the same inputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leantta.evaluate.intervals import Interval, mean_of
from leantta.evaluate.metrics import Keep, every, kept_inputs, paired_difference, paired_values, tally
from leantta.evaluate.record import Record
from leantta.tables import MISSING, Table

TOP = 5
COSTLY = 0.01
"""What adapting may lose on clean images before it is called costly, as a share of them."""
WIDE = 0.015
"""Half of an interval that is called wide."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Row:
    """One setting of the model, or a file, and what it said in each stream."""

    title: str
    records: Mapping[str, Record]  # by the name of the stream
    convert: str | None = None  # what `leantta convert` is told to make it; None if that is not known


@dataclass(frozen=True, kw_only=True)
class Part:
    """Inputs that have a column of their own."""

    title: str
    stream: str
    keep: Keep = every


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Settings side by side over the same inputs."""

    rows: tuple[Row, ...]
    parts: tuple[Part, ...]
    cost: Part | None  # where adapting should change nothing
    gain: Part  # where it should help
    classes: int | None = None  # how many scores there are; None: the outputs are something else
    agreement: bool = False  # labels are the decisions of the first row, as nobody has others

    def level(self, row: Row, part: Part, top: int = 1) -> Interval | None:
        """Return how good a row is in a part, with its 95 % interval; None if it was not measured."""
        record = row.records[part.stream]
        if record.values is not None:
            kept = kept_inputs(record, part.keep)
            return mean_of(record.values[kept].tolist()) if kept.any() and top == 1 else None
        counted = tally(record, part.keep, top)
        return counted.interval if counted else None

    def difference(self, row: Row, part: Part) -> Interval:
        """Return how much better a row is than the first, on the same inputs."""
        first, own = self.rows[0].records[part.stream], row.records[part.stream]
        compare = paired_difference if first.values is None else paired_values
        return compare(first, own, part.keep)

    def same(self, row: Row) -> bool:
        """Tell whether a row says of every input what the first one says."""
        pairs = [(self.rows[0].records[name], own) for name, own in row.records.items()]
        return all(
            np.array_equal(a.predictions, b.predictions)
            and (a.values is None or b.values is None or np.array_equal(a.values, b.values))
            for a, b in pairs
        )

    @property
    def of_values(self) -> bool:
        """Whether a metric of the user's own was measured, instead of accuracy."""
        return next(iter(self.rows[0].records.values())).values is not None

    def shown(self, level: Interval | None) -> str:
        """Return a figure as a cell of a table."""
        if level is None:
            return MISSING
        if self.of_values:
            return f"{level.value:.4g}±{level.half_width:.2g}"
        return f"{100 * level.value:.1f}±{100 * level.half_width:.1f}"

    def points(self, difference: Interval) -> str:
        """Return a difference with its interval."""
        if self.of_values:
            return "{:+.4f} [{:+.4f}, {:+.4f}]".format(*difference)
        return difference.points


def table(compared: Comparison) -> Table:
    """Return a row per setting, and per part a column of accuracy and one of the paired difference."""
    first, others = compared.rows[0], compared.rows[1:]
    header, columns = ["method"], [[row.title for row in compared.rows]]
    for part in compared.parts:
        header += [part.title, f"vs {first.title}"]
        columns.append([compared.shown(compared.level(row, part)) for row in compared.rows])
        columns.append([MISSING, *(compared.points(compared.difference(row, part)) for row in others)])
    for part in compared.parts:
        five = [compared.level(row, part, TOP) for row in compared.rows]
        if any(five) and not compared.agreement:
            header.append(f"top-{TOP} {part.title}")
            columns.append([compared.shown(level) for level in five])
    return Table(tuple(header), tuple(zip(*columns, strict=True)), _notes(compared))


def by_domain(compared: Comparison, stream: str) -> Table:
    """Return a row per domain of a stream, and per setting its accuracy and the paired difference."""
    first, others = compared.rows[0], compared.rows[1:]
    header = ["domain", "images", first.title]
    for row in others:
        header += [row.title, f"vs {first.title}"]
    rows = []
    for domain in sorted(first.records[stream].header.domains):
        part = Part(title=str(domain), stream=stream, keep=domain.__eq__)
        cells = [str(domain), str(int(kept_inputs(first.records[stream], part.keep).sum()))]
        cells.append(compared.shown(compared.level(first, part)))
        for row in others:
            cells += [
                compared.shown(compared.level(row, part)),
                compared.points(compared.difference(row, part)),
            ]
        rows.append(tuple(cells))
    return Table(tuple(header), tuple(rows))


def _notes(compared: Comparison) -> tuple[str, ...]:
    if compared.of_values:
        return ("The mean of your metric, ± half its 95 % interval; differences image by image.",)
    counts = ", ".join(
        f"{int(kept_inputs(compared.rows[0].records[part.stream], part.keep).sum())} {part.title}"
        for part in compared.parts
    )
    if compared.agreement:
        return (
            f"Share of {counts} inputs that are decided as {compared.rows[0].title!r} decides the clean "
            "image, in %; ± is half the 95 % interval.",
            "The images have no labels, so this is no accuracy: it tells what changes, not what is right.",
        )
    return (
        f"Accuracy in % of {counts} inputs; ± is half the 95 % interval. Differences in points, with their "
        "95 % interval, on the same inputs.",
    )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Which setting to take, and why."""

    take: Row
    words: tuple[str, ...]


def verdict(compared: Comparison) -> Verdict:
    """Return which setting to take: the one that gains most, if the gain is no chance and costs little."""
    first, others = compared.rows[0], compared.rows[1:]
    if not others:
        return Verdict(take=first, words=("Nothing to compare: give another method or file.",))
    gains = {row.title: compared.difference(row, compared.gain) for row in others}
    if all(compared.same(row) for row in others):
        return Verdict(
            take=first,
            words=(f"Nothing here decides otherwise than {first.title}, on any input. Take {first.title}.",),
        )
    helping = [row for row in others if gains[row.title].low > 0]
    cheap = [row for row in helping if not _is_costly(compared, row)]
    best = max(cheap or helping or others, key=lambda row: gains[row.title].value)
    measured = _measured(compared, best)
    if cheap:
        return Verdict(take=best, words=(f"{best.title} helps: {measured}. Take it.",))
    if helping:
        return Verdict(
            take=first,
            words=(
                f"{best.title} helps, but costs much where nothing is wrong: {measured}.",
                f"Take {first.title}, unless most images on the device will be disturbed.",
            ),
        )
    if all(gain.high < 0 for gain in gains.values()):
        return Verdict(take=first, words=(f"Adapting hurts: at best {measured}. Take {first.title}.",))
    words = [f"No gain that could not be chance: at best {best.title}, {measured}. Take {first.title}."]
    if not compared.of_values and gains[best.title].half_width > WIDE and gains[best.title].high > COSTLY:
        words.append("The interval is wide: more images tell more (--per-cell 50, or more photographs).")
    words += [f"{row.title} decides as {first.title} on every input." for row in others if compared.same(row)]
    return Verdict(take=first, words=tuple(words))


def _is_costly(compared: Comparison, row: Row) -> bool:
    if compared.cost is None or compared.cost == compared.gain:
        return False
    cost = compared.difference(row, compared.cost)
    allowed = COSTLY
    if compared.of_values:
        level = compared.level(compared.rows[0], compared.cost)
        allowed = COSTLY * abs(level.value) if level else 0.0
    return cost.value < -allowed


def _measured(compared: Comparison, row: Row) -> str:
    unit = "" if compared.of_values else " points"
    said = f"{compared.points(compared.difference(row, compared.gain))}{unit} on {_phrase(compared.gain)}"
    if compared.cost is None or compared.cost == compared.gain:
        return said
    return f"{said}, {compared.points(compared.difference(row, compared.cost))} on {_phrase(compared.cost)}"


def _phrase(part: Part) -> str:
    return {"clean": "clean images", "corrupted": "corrupted images"}.get(part.title, f"images {part.title}")


LOOK_AT = (
    "Look at the normalisation (--mean, --std), the size (--resize, --crop) and the order of the classes "
    "(--classes)."
)


def warning(compared: Comparison) -> str | None:
    """Return what looks wrong with how the model is used.

    Its decisions are no better than guesses, or adapting helps where nothing should have to be repaired.
    """
    if compared.agreement or compared.of_values:
        return None
    first, clean = compared.rows[0], compared.cost
    level = compared.level(first, clean or compared.gain)
    if compared.classes is not None and level and level.low <= 1.5 / max(compared.classes, 2):
        return (
            f"{first.title} is right on {100 * level.value:.1f} % of the images, about as guessing would be. "
            f"{LOOK_AT}"
        )
    if clean is None or clean == compared.gain:
        return None
    repaired = max(compared.rows[1:], key=lambda row: compared.difference(row, clean).low, default=first)
    if repaired is first or compared.difference(repaired, clean).low <= 0:
        return None
    return (
        f"{repaired.title} gains {compared.points(compared.difference(repaired, clean))} points on "
        f"{_phrase(clean)}, where there should be nothing to repair: the model may not be given its images "
        f"as in training. {LOOK_AT}"
    )


def as_json(compared: Comparison, decided: Verdict) -> dict[str, Any]:
    """Return the figures of the table and the verdict as plain values."""
    rows: list[dict[str, Any]] = []
    for row in compared.rows:
        figures: dict[str, Any] = {"method": row.title}
        for part in compared.parts:
            level, five = compared.level(row, part), compared.level(row, part, TOP)
            figures[part.title] = {
                "level": level and level._asdict(),
                "difference": None if row is compared.rows[0] else compared.difference(row, part)._asdict(),
                **({f"top{TOP}": five._asdict()} if five and not compared.agreement else {}),
            }
        rows.append(figures)
    return {
        "measure": "metric" if compared.of_values else "agreement" if compared.agreement else "accuracy",
        "rows": rows,
        "take": decided.take.title,
        "verdict": " ".join(decided.words),
    }
