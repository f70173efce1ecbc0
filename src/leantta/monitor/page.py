"""One page of HTML from the log of a watch, with everything inside: nothing is loaded from anywhere.

Shift over time, labels over time, the alarms, which layers moved, and the worst inputs as pictures.
"""

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from leantta.errors import DataError
from leantta.monitor.log import read_lines
from leantta.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, drawn, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS, LABELS, WORST = 400, 6, 12
"""Points of a chart at most, labels that are told apart, and the worst inputs that are shown."""

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)


@dataclass(kw_only=True)
class Watched:
    """What the log of a watch holds."""

    header: Mapping[str, Any] = field(default_factory=dict)
    times: list[datetime] = field(default_factory=list)
    shifts: list[float] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    events: list[Mapping[str, Any]] = field(default_factory=list)
    errors: int = 0


def watched(lines: Iterable[Mapping[str, Any]]) -> Watched:
    """Return what the lines of a log tell."""
    found = Watched()
    for line in lines:
        if "watch" in line:
            found.header = found.header or line
        elif "event" in line:
            found.events.append(line)
        elif "error" in line:
            found.errors += 1
        elif isinstance(line.get("at"), str):
            found.times.append(datetime.fromisoformat(line["at"]))
            shift = line.get("shift")
            found.shifts.append(float(shift) if isinstance(shift, int | float) else float("inf"))
            found.labels.append(str(line.get("label", "")))
            found.paths.append(str(line.get("path", "")))
    return found


def page_of(log: Path, examples: Path | None = None) -> str:
    """Return the page of a log; `examples` is the folder of pictures that the watch kept.

    Raises:
        MissingFileError, DataError: the log is not there, or holds no inputs.
        ModuleNotFoundError: matplotlib is not installed (the command line says which extra brings it).
    """
    seen = watched(read_lines(log))
    if not seen.shifts:
        raise DataError(f"{log} holds no inputs yet, so there is nothing to show. Let the watch run a while.")
    above = sum(not shift <= 1 for shift in seen.shifts)
    alarms = [event for event in seen.events if event["event"] == "alarm"]
    facts = {
        "model": str(seen.header.get("model", "?")),
        "inputs": f"{len(seen.shifts):,}",
        "from": f"{seen.times[0]:%Y-%m-%d %H:%M:%S}",
        "to": f"{seen.times[-1]:%Y-%m-%d %H:%M:%S}",
        "shift above 1": f"{above:,} ({100 * above / len(seen.shifts):.1f} %; 1 % is usual)",
        "alarms": f"{len(alarms)}",
        "could not be read": f"{seen.errors}",
    }
    template = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f"What {facts['model']} saw"),
        facts="".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items()),
        shifts=_picture("image/svg+xml", _shift_chart(seen), "Shift over the inputs, with the alarms"),
        labels=_picture("image/svg+xml", _label_chart(seen), "Share of each label over the inputs"),
        alarms=_events(seen.events) or "<p>None.</p>",
        worst=_worst(seen, examples),
        log=escape(log.name),
    )


def _places(count: int) -> list[tuple[int, int]]:
    """Return the pieces, from and to, in which so many inputs are shown."""
    pieces = min(count, BINS)
    return [(count * i // pieces, count * (i + 1) // pieces) for i in range(pieces)]


def _shift_chart(seen: Watched) -> bytes:
    """Return the chart of shifts: the median and the largest of each piece, and the alarms."""
    places = _places(len(seen.shifts))
    middle = [sorted(seen.shifts[a:b])[(b - a) // 2] for a, b in places]
    worst = [max(seen.shifts[a:b]) for a, b in places]
    most = max([2.0, *(shift for shift in worst if shift != float("inf"))])
    with new_figure(9.0, 2.8) as figure:
        axes: Axes = figure.subplots()
        x = [b for _, b in places]
        axes.fill_between(
            x, [min(v, most) for v in worst], color=SKY, alpha=0.4, linewidth=0, label="largest"
        )
        axes.plot(x, [min(v, most) for v in middle], color=BLUE, linewidth=1, label="median")
        axes.axhline(1, color=GREY, linewidth=1, linestyle="--", label="1 % of source inputs lie above")
        for number, (begin, end) in enumerate(_alarmed(seen)):
            axes.axvspan(begin, end, color=RED, alpha=0.12, linewidth=0, label="" if number else "alarm")
        axes.set_xlim(1, max(2, len(seen.shifts)))
        axes.set_ylim(0, most)
        axes.set_xlabel("input")
        axes.set_ylabel("shift")
        figure.legend(loc="outside upper center", ncols=4)
        return drawn(figure, "svg", {"middle": len(middle), "inputs": len(seen.shifts)})


def _alarmed(seen: Watched) -> list[tuple[int, int]]:
    """Return from which input to which there was an alarm."""
    spans: list[tuple[int, int]] = []
    begin: int | None = None
    for event in seen.events:
        if event["event"] == "alarm" and begin is None:
            begin = int(event["input"])
        elif event["event"] == "recovery" and begin is not None:
            spans.append((begin, int(event["input"])))
            begin = None
    return spans if begin is None else [*spans, (begin, len(seen.shifts))]


def _label_chart(seen: Watched) -> bytes:
    """Return the chart of labels: the share of each, the commonest told apart."""
    usual = [label for label, _ in Counter(seen.labels).most_common(LABELS)]
    places = _places(len(seen.labels))
    width = max(1, len(places) // 40)  # shares of a few inputs alone would jump
    rows: list[list[float]] = []
    x = []
    for start in range(0, len(places), width):
        a, b = places[start][0], places[min(start + width, len(places)) - 1][1]
        counts = Counter(seen.labels[a:b])
        rows.append([counts[label] / (b - a) for label in usual])
        x.append(b)
    others = [1 - sum(row) for row in rows]
    with new_figure(9.0, 2.6) as figure:
        axes = figure.subplots()
        shares = [list(column) for column in zip(*rows, strict=True)]
        names = [_short(label) for label in usual]
        more = len(set(seen.labels)) > len(usual)
        stacked, names = ([*shares, others], [*names, "others"]) if more else (shares, names)
        axes.stackplot(x, stacked, labels=names, colors=[*COLOURS[: len(usual)], GREY])
        axes.set_xlim(x[0], max(x[0] + 1, x[-1]))
        axes.set_ylim(0, 1)
        axes.set_xlabel("input")
        axes.set_ylabel("share")
        figure.legend(loc="outside upper center", ncols=4)
        return drawn(figure, "svg", {"labels": usual, "inputs": len(seen.labels)})


def _short(text: str) -> str:
    """Return a label as a legend takes it: matplotlib hides those that begin with an underscore."""
    return text.replace("$", "\\$").lstrip("_")[:24] or "(no name)"


def _events(events: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for event in events:
        moved = ", ".join(
            f"{name} {float(times):.1f} x" for name, times in list(event.get("moved", {}).items())[:4]
        )
        cells = (
            *(str(event["at"])[:19].replace("T", " "), event["event"], event["input"]),
            f"{event['shifted']} of {event['inputs']}",
            *(f"{float(event['chance']):.1e}", moved),
        )
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    head = "".join(
        f"<th>{name}</th>" for name in ("when", "what", "input", "shifted", "by chance", "layers that moved")
    )
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>" if rows else ""


def _worst(seen: Watched, folder: Path | None) -> str:
    """Return the most shifted inputs: as pictures where they were kept, else by name."""
    kept = sorted(folder.glob("shift*.png"), reverse=True)[:WORST] if folder is not None else []
    if kept:
        return "".join(
            f"<figure>{_picture('image/png', path.read_bytes(), path.stem)}"
            f"<figcaption>shift {float(path.name[5:13]):.1f}</figcaption></figure>"
            for path in kept
        )
    order = sorted(range(len(seen.shifts)), key=lambda i: -seen.shifts[i])[:WORST]
    rows = (
        f"<li>{escape(seen.paths[i])}: shift {seen.shifts[i]:.2f}, {escape(seen.labels[i])}</li>"
        for i in order
    )
    return f"<ol>{''.join(rows)}</ol>"


def _picture(kind: str, content: bytes, told: str) -> str:
    return f'<img alt="{escape(told)}" src="data:{kind};base64,{base64.b64encode(content).decode()}">'
